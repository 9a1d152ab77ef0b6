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

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [tat, part, of, _] = *words;
    let whole = rule.reduced().0;
    if part > 0 && (of != whole || part >= whole) {
        // The policy changed: the fraction in the new denominator, rounded up.
        let scaled = if of == 0 { f64::INFINITY } else { (part as f64 / of as f64 * whole as f64).ceil() };
        words[1] = if scaled >= (whole - 1) as f64 { whole - 1 } else { scaled as u64 };
    }
    if tat < now {
        *words = Words::default();
        return false;
    }
    let (distance, most) = (ahead(rule, words, now), tokens(rule, rule.capacity()));
    put(rule, words, now, distance.min(most));
    distance > most
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
    // More than the capacity is only ever charged by a settlement; it empties the bucket.
    let distance = ahead(rule, words, now) + tokens(rule, cost.min(rule.capacity()));
    put(rule, words, now, distance);
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
