//! Calls as JavaScript writes them down: six numbers each, and the bytes of the keys one after another.
//!
//! | number | meaning |
//! |---|---|
//! | 0 | the verb, an index of [`VERBS`]; -1 for a call that was taken back |
//! | 1 | the handle of the limiter |
//! | 2 | the number under which the answer comes back |
//! | 3 | the cost or amount, or the milliseconds of a block |
//! | 4 | the milliseconds of a wait |
//! | 5 | the length of the key in bytes |

use quotalock::{Answer, Code, Error, Limiter, Op, Result, convert};

/// How many numbers a call has.
pub const WIDTH: usize = 6;

/// The verbs, in the order of their numbers.
pub const VERBS: [&str; 7] = ["consume", "peek", "require", "wait", "refund", "block", "reset"];

/// Turns a written batch into operations, each with its number.
pub fn read<'a>(
    numbers: &'a [f64],
    mut keys: &'a [u8],
    limiters: &'a [Option<Limiter>],
) -> impl Iterator<Item = (u64, Result<Op<Answer>>)> + 'a {
    numbers.chunks_exact(WIDTH).filter_map(move |call| {
        let (key, rest) = keys.split_at_checked(call[5] as usize).unwrap_or((keys, &[]));
        keys = rest;
        let verb = VERBS.get((call[0] >= 0.0).then_some(call[0] as usize)?);
        Some((call[2] as u64, describe(verb.copied(), limiters.get(call[1] as usize), key, call[3], call[4])))
    })
}

fn describe(
    verb: Option<&str>,
    limiter: Option<&Option<Limiter>>,
    key: &[u8],
    amount: f64,
    timeout_ms: f64,
) -> Result<Op<Answer>> {
    let Some(Some(limiter)) = limiter else {
        return Err(Error::new(Code::Internal, "a call of a limiter that is gone"));
    };
    let unsigned = |what: &str| convert::unsigned(what, convert::whole(what, amount)?);
    Ok(match verb {
        Some("consume") => limiter.consume(key, unsigned("cost")?)?.erased(),
        Some("peek") => limiter.peek(key, unsigned("cost")?)?.erased(),
        Some("require") => limiter.require(key, unsigned("cost")?)?.erased(),
        Some("wait") => {
            let timeout = convert::micros_from_ms("timeout", convert::whole("timeout", timeout_ms)?)?;
            limiter.wait(key, unsigned("cost")?, convert::duration(timeout))?.erased()
        }
        Some("refund") => limiter.refund(key, unsigned("amount")?)?.erased(),
        Some("block") => {
            let duration = convert::micros_from_ms("duration", convert::whole("duration", amount)?)?;
            limiter.block(key, duration)?.erased()
        }
        Some("reset") => limiter.reset(key)?.erased(),
        _ => return Err(Error::new(Code::Internal, "a call of an unknown verb")),
    })
}
