//! Calls as JavaScript writes them down: six numbers each, and the bytes of the keys one after another.
//!
//! | number | meaning |
//! |---|---|
//! | 0 | the verb, an index of [`VERBS`]; -1 for a call that was taken back, -2 for one that was described (src/described.rs) |
//! | 1 | the handle of the limiter; of a described call its place among them |
//! | 2 | the number under which the answer comes back |
//! | 3 | the cost or amount, or the milliseconds of a block |
//! | 4 | the milliseconds of a wait |
//! | 5 | the length of the key in bytes |

use napi_derive::napi;
use quotalock::{Answer, Code, Error, Limiter, Op, Result, convert};

use crate::look::Shared;

/// How many numbers a call has.
pub const WIDTH: usize = 6;

/// The verbs, in the order of their numbers.
const VERBS: [&str; 8] = ["consume", "peek", "require", "wait", "consumeUpTo", "refund", "block", "reset"];

/// The verbs, in the order of their numbers.
#[napi(catch_unwind)]
pub fn verbs() -> Vec<&'static str> {
    VERBS.to_vec()
}

/// The verb of a call that was described.
const DESCRIBED: f64 = -2.0;

/// What a written call asks for.
pub enum Asked {
    /// An answer.
    Call(Op<Answer>),
    /// A look, whose answer is for this load.
    Look(Op<Answer>, Shared),
}

/// Turns a written batch into what is asked for, each with its number; takes those that were described.
pub fn read<'a>(
    numbers: &'a [f64],
    mut keys: &'a [u8],
    limiters: &'a [Option<Limiter>],
    described: &'a mut [Option<Asked>],
) -> impl Iterator<Item = (u64, Result<Asked>)> + 'a {
    numbers.chunks_exact(WIDTH).filter_map(move |call| {
        let (key, rest) = keys.split_at_checked(call[5] as usize).unwrap_or((keys, &[]));
        keys = rest;
        let (id, place) = (call[2] as u64, call[1] as usize);
        if call[0] == DESCRIBED {
            let asked = described.get_mut(place).and_then(Option::take);
            return Some((id, asked.ok_or_else(|| Error::new(Code::Internal, "a call that nobody described"))));
        }
        let verb = VERBS.get((call[0] >= 0.0).then_some(call[0] as usize)?);
        Some((id, describe(verb.copied(), limiters.get(place), key, call[3], call[4]).map(Asked::Call)))
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
    let unsigned = |what: &str| convert::unsigned_float(what, amount);
    Ok(match verb {
        Some("consume") => limiter.consume(key, unsigned("cost")?)?.erased(),
        Some("peek") => limiter.peek(key, unsigned("cost")?)?.erased(),
        Some("require") => limiter.require(key, unsigned("cost")?)?.erased(),
        Some("wait") => limiter
            .wait(key, unsigned("cost")?, convert::duration(convert::micros_from_float_ms("timeout", timeout_ms)?))?
            .erased(),
        Some("consumeUpTo") => limiter.consume_up_to(key, unsigned("most")?)?.erased(),
        Some("refund") => limiter.refund(key, unsigned("amount")?)?.erased(),
        Some("block") => limiter.block(key, convert::micros_from_float_ms("duration", amount)?)?.erased(),
        Some("reset") => limiter.reset(key)?.erased(),
        _ => return Err(Error::new(Code::Internal, "a call of an unknown verb")),
    })
}
