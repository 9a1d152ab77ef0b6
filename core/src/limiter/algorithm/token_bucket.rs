//! `token-bucket`: `capacity` tokens at most, filled at `limit` per `period`, as GCRA.
//!
//! The state is the theoretical arrival time (TAT): the moment at which the bucket is full again. With `T = period/limit`,
//! a call is admitted when `now >= max(now, TAT) + cost*T - capacity*T`. `T` is kept exactly, in fractions of the reduced
//! limit, so nothing drifts. Words: TAT in microseconds, its fraction, the last charge. Twin of
//! `token_bucket.lua`.

use super::worst::{Proof, WorstCases, all_of_it};
use super::{Bucket, Definition, End, Filled, Moment, RefundedCharge, StoredRule, Words};
use crate::limiter::policy::{MAX_PERIOD, Rate, Rule};
use wire::base::clock::clamp;
use wire::call::lua::EXACT;

pub(super) const DEFINITION: Definition = Definition {
    id: 4,
    name: "token-bucket",
    lua: include_str!("token_bucket.lua"),
    words: &["tat", "part", "last"],
    fresh: &[0],
    bucket: Some(Bucket { filled, refilled, follow }),
    log: None,
    ends: Some(ends),
    carry,
    settle,
    wait,
    charge,
    refund,
    prefetch_life: Some(prefetch_life),
    fades_over,
    remaining,
    reset_after,
    worst: WorstCases {
        words: "A bucket of {tokens} that fills with {limit} in {period}, one in {step}.",
        most_within: |rule, stretch| {
            let filled = u128::from(rule.limit()) * u128::from(stretch - 1) / u128::from(rule.period());
            u128::from(rule.capacity()) + filled
        },
        around_an_edge: None,
        long_run: all_of_it,
        longest_wait: |rule| rule.period().div_ceil(rule.limit()),
        burst: |rule| rule.capacity().into(),
        proof: Proof::Bucket,
    },
};

/// Time in units of one `denominator`th of a microsecond.
fn tokens(rule: &Rule, count: u64) -> u128 {
    u128::from(count) * u128::from(rule.rate().period)
}

fn denominator(rule: &Rule) -> u128 {
    u128::from(rule.rate().limit)
}

/// `ceil(a / b)`, in 64 bits where they are enough: 128 take several times as long.
fn ceiling(a: u128, b: u128) -> u64 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => a.div_ceil(b),
        _ => a.div_ceil(b) as u64,
    }
}

/// How far a TAT lies ahead of now, in these units.
fn ahead(rule: &Rule, words: &Words, now: u64) -> u128 {
    let [tat, part, ..] = *words;
    u128::from(tat.saturating_sub(now)) * denominator(rule) + u128::from(part)
}

fn store(rule: &Rule, words: &mut Words, now: u64, ahead: u128) {
    let whole = rule.rate().limit;
    let (distance, part) = match u64::try_from(ahead) {
        Ok(ahead) => (ahead / whole, ahead % whole),
        Err(_) => ((ahead / u128::from(whole)) as u64, (ahead % u128::from(whole)) as u64),
    };
    *words = if ahead == 0 { Words::default() } else { [now + distance, part, words[2], 0] };
}

/// When what another rate fills at this time is filled, if it began at `last`: exact, unless the numbers are too large for
/// the script, which then counts in floating point. The same operations in the same order.
fn refilled_since(rule: &Rule, kept: Rate, last: u64, filled: Filled) -> Filled {
    if kept == rule.rate() {
        return filled;
    }
    if filled.at < last {
        return Filled { part: 0, ..filled };
    }
    let Rate { limit, period } = rule.rate();
    let taken = u128::from(filled.at - last) * u128::from(kept.limit) + u128::from(filled.part);
    let wanted = taken.saturating_mul(u128::from(period));
    if taken.max(wanted) < u128::from(EXACT) {
        let wanted = wanted.div_ceil(u128::from(kept.period)) as u64;
        return Filled { at: last + wanted / limit, part: wanted % limit };
    }
    let distance = (filled.at - last) as f64 + filled.part as f64 / kept.limit as f64;
    let distance = distance * kept.limit as f64 / kept.period as f64 * period as f64 / limit as f64;
    let most = (tokens(rule, rule.capacity()) / denominator(rule)) as u64 + 1;
    Filled { at: last + (distance.ceil().min(most as f64) as u64), part: 0 }
}

fn carry(rule: &Rule, words: &mut Words, kept: Rate, _now: u64) {
    // The tokens taken stay taken, and fill again as fast as they now do.
    let [tat, part, last, _] = words;
    let Filled { at, part: rest } = refilled_since(rule, kept, *last, Filled { at: *tat, part: *part });
    (*tat, *part) = (at, rest);
}

fn ends(kept: &StoredRule, words: &mut Words, now: u64) -> End {
    let [tat, part, last, _] = words;
    let back = clamp(last, now);
    // In floating point, as the script does it: exact enough for an end that cannot be.
    let full = kept.capacity as f64 * kept.rate.period as f64 / kept.rate.limit as f64;
    let full = *last + full.ceil().min(MAX_PERIOD as f64) as u64 + 1;
    if *tat > full {
        (*tat, *part) = (full, 0);
    }
    End { at: if *tat > 0 { *tat + u64::from(*part > 0) } else { *last }, back, copied: false }
}

fn filled(words: &Words) -> Filled {
    Filled { at: words[0], part: words[1] }
}

/// What was filled before the last charge stays as it was.
fn refilled(rule: &Rule, kept: Rate, words: &Words, filled: Filled) -> Filled {
    if filled.at >= words[2] { refilled_since(rule, kept, words[2], filled) } else { filled }
}

fn follow(rule: &Rule, words: &mut Words, now: u64, used: u64, left: u64) {
    // Each is rounded up.
    let other = (u128::from(left) * denominator(rule)).min(tokens(rule, used));
    if other > ahead(rule, words, now) {
        store(rule, words, now, other);
    }
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [tat, part, last, _] = words;
    let back = clamp(last, now);
    if *part >= rule.rate().limit {
        *part = 0;
    }
    // It was never emptier than empty at its last charge: the capacity was larger, or the clock went back.
    let (full, charged) = (tokens(rule, rule.capacity()), *last);
    if *tat >= charged && ahead(rule, words, charged) > full {
        store(rule, words, charged, full);
    }
    if words[0] < now || words[0] == now && words[1] == 0 {
        *words = Words::default();
        return false;
    }
    back
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let now = at.now;
    if cost > rule.capacity() {
        return None;
    }
    let wanted = ahead(rule, words, now) + tokens(rule, cost);
    let missing = wanted.saturating_sub(tokens(rule, rule.capacity()));
    if missing == 0 {
        return Some(0);
    }
    Some(ceiling(missing, denominator(rule)))
}

fn charge(rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    let now = at.now;
    // More than what is left is only ever charged by a settlement; it empties the bucket.
    let full = tokens(rule, rule.capacity());
    let distance = ahead(rule, words, now) + tokens(rule, cost.min(rule.capacity()));
    words[2] = now;
    store(rule, words, now, distance.min(full));
}

fn refund(rule: &Rule, words: &mut Words, at: &Moment, amount: u64, charged: &RefundedCharge) {
    let now = at.now;
    let mut given = tokens(rule, amount.min(rule.capacity()));
    if let Some(Filled { at, part }) = charged.filled {
        // Of a hold no more comes back than was not filled again since.
        let part = if at < now || part >= rule.rate().limit { 0 } else { part };
        given = given.min(u128::from(at.saturating_sub(now)) * denominator(rule) + u128::from(part));
    }
    let distance = ahead(rule, words, now).saturating_sub(given);
    store(rule, words, now, distance);
    if distance == 0 {
        words[2] = now;
    }
}

/// The bound grows by what the bucket fills in this time.
const LONGEST_PREFETCH: u64 = 1_000_000;

fn prefetch_life(rule: &Rule, _reset_after: u64, most: u64) -> u64 {
    let filled = tokens(rule, most) / denominator(rule);
    filled.min(u128::from(LONGEST_PREFETCH)) as u64
}

fn fades_over(_rule: &Rule, reset_after: u64) -> u64 {
    reset_after
}

fn remaining(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    let taken = ceiling(ahead(rule, words, now), tokens(rule, 1));
    rule.capacity().saturating_sub(taken)
}

fn reset_after(_rule: &Rule, words: &Words, at: &Moment) -> u64 {
    // A fraction is less than one.
    let [tat, part, ..] = *words;
    tat.saturating_sub(at.now) + u64::from(part > 0)
}
