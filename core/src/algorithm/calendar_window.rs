//! `calendar-window`: windows start at multiples of the period since the epoch, `floor(now / period)`.
//!
//! Words: count, start of the window they were counted in (not its index: a start keeps its meaning when the period of
//! the policy changes). Twin of `scripts/limit/calendar_window.lua`.

use super::{Charged, Definition, Moment, Words};
use crate::policy::{MAX_LIMIT, Rule};

pub(super) const DEFINITION: Definition = Definition {
    id: 2,
    name: "calendar-window",
    lua: include_str!("../../scripts/limit/calendar_window.lua"),
    words: &["count", "start"],
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

fn start(rule: &Rule, now: u64) -> u64 {
    now - now % rule.period()
}

fn settle(rule: &Rule, words: &mut Words, kept: u64, at: &Moment) -> bool {
    let now = at.now;
    let [count, counted, ..] = words;
    let current = start(rule, now);
    if *count == 0 || *counted + kept <= current {
        (*count, *counted) = (0, 0);
        return false;
    }
    // A start in the future means that the clock went back: its count stands for the current window. So does that of a
    // window of another period that reaches into it.
    let changed = *counted > now || kept != rule.period();
    *counted = current;
    changed
}

fn left(rule: &Rule, now: u64) -> u64 {
    rule.period() - now % rule.period()
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let now = at.now;
    if cost > rule.limit() {
        None
    } else if words[0] + cost <= rule.limit() {
        Some(0)
    } else {
        Some(left(rule, now))
    }
}

fn charge(rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    let now = at.now;
    words[0] = (words[0] + cost).min(MAX_LIMIT);
    words[1] = start(rule, now);
}

fn refund(_rule: &Rule, words: &mut Words, _at: &Moment, amount: u64, _charged: &Charged) {
    words[0] = words[0].saturating_sub(amount);
    if words[0] == 0 {
        words[1] = 0;
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[0])
}

fn reset_after(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    if words[0] == 0 { 0 } else { left(rule, now) }
}
