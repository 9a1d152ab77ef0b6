//! `token-bucket`: `capacity` tokens at most, filled at `limit` per `period`, as GCRA.
//!
//! The state is the theoretical arrival time (TAT): the moment at which the bucket is full again. With `T = period/limit`,
//! a call is admitted when `now >= max(now, TAT) + cost*T - capacity*T`. `T` is kept exactly, in fractions of the reduced
//! limit, so nothing drifts. Words: TAT in microseconds, its fraction, the fraction's denominator. Twin of
//! `scripts/limit/token_bucket.lua`.

use super::{Definition, Moment, Words};
use crate::policy::Rule;

pub(super) const DEFINITION: Definition = Definition {
    id: 4,
    name: "token-bucket",
    lua: include_str!("../../scripts/limit/token_bucket.lua"),
    words: &["tat", "part", "whole"],
    fresh: 0,
    has_capacity: true,
    has_log: false,
    settle,
    wait,
    charge,
    refund,
    remaining,
    reset_after,
};

/// Time in units of one `denominator`th of a microsecond.
fn tokens(rule: &Rule, count: u64) -> u128 {
    let (_, period) = rule.reduced();
    u128::from(count) * u128::from(period)
}

fn denominator(rule: &Rule) -> u128 {
    u128::from(rule.reduced().0)
}

/// How far the TAT lies ahead of now, in these units.
fn ahead(rule: &Rule, words: &Words, now: u64) -> u128 {
    let [tat, part, ..] = *words;
    u128::from(tat.saturating_sub(now)) * denominator(rule) + u128::from(part)
}

fn put(rule: &Rule, words: &mut Words, now: u64, ahead: u128) {
    let whole = denominator(rule);
    *words = match ahead {
        0 => Words::default(),
        _ => [now + (ahead / whole) as u64, (ahead % whole) as u64, whole as u64, 0],
    };
}

fn settle(rule: &Rule, words: &mut Words, kept: u64, at: &Moment) -> bool {
    let now = at.now;
    let [tat, part, of, _] = *words;
    let (whole, period) = rule.reduced();
    if tat < now || tat == now && part == 0 {
        *words = Words::default();
        return false;
    }
    let full = tokens(rule, rule.capacity());
    if of != whole || part >= whole || kept != period {
        // The rate changed: the tokens taken stay taken. In floating point, as the script does it: the same operations
        // in the same order.
        let mut distance = (tat - now) as f64;
        if of > 0 && kept > 0 {
            distance += part as f64 / of as f64;
            distance = distance * of as f64 / kept as f64 * period as f64 / whole as f64;
        }
        let most = (full / denominator(rule)) as u64 + 1;
        *words = [now + (distance.ceil().min(most as f64) as u64), 0, whole, 0];
        put(rule, words, now, ahead(rule, words, now).min(full));
        return true;
    }
    let distance = ahead(rule, words, now);
    put(rule, words, now, distance.min(full));
    distance > full
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let now = at.now;
    if cost > rule.capacity() {
        return None;
    }
    let wanted = ahead(rule, words, now) + tokens(rule, cost);
    let missing = wanted.saturating_sub(tokens(rule, rule.capacity()));
    Some(missing.div_ceil(denominator(rule)) as u64)
}

fn charge(rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    let now = at.now;
    // More than what is left is only ever charged by a settlement; it empties the bucket.
    let full = tokens(rule, rule.capacity());
    let distance = ahead(rule, words, now) + tokens(rule, cost.min(rule.capacity()));
    put(rule, words, now, distance.min(full));
}

fn refund(rule: &Rule, words: &mut Words, at: &Moment, amount: u64, _since: u64) {
    let now = at.now;
    let distance = ahead(rule, words, now).saturating_sub(tokens(rule, amount));
    put(rule, words, now, distance);
}

fn remaining(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    let taken = ahead(rule, words, now).div_ceil(tokens(rule, 1)) as u64;
    rule.capacity().saturating_sub(taken)
}

fn reset_after(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    ahead(rule, words, now).div_ceil(denominator(rule)) as u64
}
