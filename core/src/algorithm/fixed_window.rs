//! `fixed-window`: the window opens at the first admitted call and is `[open, end)`.
//!
//! Words: count, window end. Twin of `scripts/limit/fixed_window.lua`.

use super::{Charged, Definition, Moment, Words};
use crate::policy::{MAX_LIMIT, Rule};

pub(super) const DEFINITION: Definition = Definition {
    id: 1,
    name: "fixed-window",
    lua: include_str!("../../scripts/limit/fixed_window.lua"),
    words: &["count", "stop"],
    fresh: 0,
    has_capacity: false,
    has_log: false,
    settle,
    wait,
    charge,
    refund,
    remaining,
    reset_after,
};

fn settle(rule: &Rule, words: &mut Words, _kept: u64, at: &Moment) -> bool {
    let now = at.now;
    let [count, end, ..] = words;
    if *count == 0 || *end <= now {
        (*count, *end) = (0, 0);
        return false;
    }
    let latest = now + rule.period();
    let clamped = *end > latest;
    if clamped {
        *end = latest;
    }
    clamped
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let now = at.now;
    let [count, end, ..] = *words;
    if cost > rule.limit() {
        None
    } else if count + cost <= rule.limit() {
        Some(0)
    } else {
        Some(end - now)
    }
}

fn charge(rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    let now = at.now;
    let [count, end, ..] = words;
    if *count == 0 {
        *end = now + rule.period();
    }
    *count = (*count + cost).min(MAX_LIMIT);
}

fn refund(_rule: &Rule, words: &mut Words, _at: &Moment, amount: u64, _charged: &Charged) {
    let [count, end, ..] = words;
    *count = count.saturating_sub(amount);
    if *count == 0 {
        *end = 0;
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[0])
}

fn reset_after(_rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    words[1].saturating_sub(now)
}
