//! `fixed-window`: the window opens at the first admitted call and is `[open, end)`.
//!
//! Words: count, window end, the last charge. Twin of `scripts/limit/fixed_window.lua`.

use super::{Charged, Definition, End, Kept, Moment, Words, carry_nothing, clamp, to_the_end};
use crate::rules::policy::{MAX_LIMIT, Rule};

pub(super) const DEFINITION: Definition = Definition {
    id: 1,
    name: "fixed-window",
    lua: include_str!("../../../scripts/limit/fixed_window.lua"),
    words: &["count", "stop", "last"],
    fresh: &[0],
    bucket: None,
    log: None,
    ends: Some(ends),
    carry: carry_nothing,
    settle,
    wait,
    charge,
    refund,
    lease_life: Some(to_the_end),
    fades_over: super::at_once,
    remaining,
    reset_after,
};

fn ends(kept: &Kept, words: &mut Words, now: u64) -> End {
    let [count, end, last, _] = words;
    let back = clamp(last, now);
    *end = (*end).min(*last + kept.rate.period);
    End { at: if *count > 0 { *end } else { 0 }, back }
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [count, end, last, _] = words;
    let back = clamp(last, now);
    // No window is open for longer than a period after its last charge: the clock went back, or the period was longer.
    *end = (*end).min(*last + rule.period());
    if *count == 0 || *end <= now {
        *words = Words::default();
        return false;
    }
    back
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
    let [count, end, last, _] = words;
    if *count == 0 {
        *end = now + rule.period();
    }
    *last = now;
    *count = (*count + cost).min(MAX_LIMIT);
}

fn refund(_rule: &Rule, words: &mut Words, _at: &Moment, amount: u64, _charged: &Charged) {
    words[0] = words[0].saturating_sub(amount);
    if words[0] == 0 {
        *words = Words::default();
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[0])
}

fn reset_after(_rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    words[1].saturating_sub(now)
}
