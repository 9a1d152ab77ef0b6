//! `fixed-window`: the window opens at the first admitted call and is `[open, end)`.
//!
//! Words: count, window end, the last charge; 0 for that if nothing was charged yet, but the count taken over from a window of
//! another period: it ends with that window, and the first charge opens a whole one. Of a count that was given back as a whole: 0,
//! 0, and when that was. Twin of `fixed_window.lua`.

use super::worst::{Proof, WorstCases, all_of_it, touched, two_windows};
use super::{Definition, End, Moment, RefundedCharge, StoredRule, Words, to_the_end};
use crate::limiter::policy::{MAX_LIMIT, Rate, Rule};
use wire::base::clock::clamp;

pub(super) const DEFINITION: Definition = Definition {
    id: 1,
    name: "fixed-window",
    lua: include_str!("fixed_window.lua"),
    words: &["count", "stop", "last"],
    fresh: &[0],
    bucket: None,
    log: None,
    ends: Some(ends),
    carry,
    settle,
    wait,
    charge,
    refund,
    prefetch_life: Some(to_the_end),
    fades_over: super::at_once,
    remaining,
    reset_after,
    worst: WorstCases {
        words: "Admits {limit} in a window of {period}, which the first admitted call opens.",
        // The window that is open at its beginning was opened by a call before.
        most_within: |rule, stretch| u128::from(rule.limit()) * (touched(rule, stretch) + 1) - 1,
        around_an_edge: Some(|rule| 2 * rule.limit() - 1),
        long_run: all_of_it,
        longest_wait: Rule::period,
        burst: two_windows,
        proof: Proof::Periods(1),
    },
};

fn ends(kept: &StoredRule, words: &mut Words, now: u64) -> End {
    let [count, end, last, _] = words;
    let (mut back, copied) = (clamp(last, now), *last == 0);
    let longest = if copied { now } else { *last } + kept.rate.period;
    back |= copied && *end > longest;
    *end = (*end).min(longest);
    End { at: if *count > 0 { *end } else { *last }, back, copied }
}

fn carry(rule: &Rule, words: &mut Words, _kept: Rate, _now: u64) {
    words[1] = words[1].min(words[2] + rule.period());
    words[2] = 0;
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [count, end, last, _] = words;
    let mut back = clamp(last, now);
    // No window is open for longer than a period after its last charge: the clock went back.
    let longest = if *last == 0 { now } else { *last } + rule.period();
    back |= *last == 0 && *end > longest;
    *end = (*end).min(longest);
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
    if *count == 0 || *last == 0 {
        *end = now + rule.period();
    }
    *last = now;
    *count = (*count + cost).min(MAX_LIMIT);
}

fn refund(_rule: &Rule, words: &mut Words, at: &Moment, amount: u64, _charged: &RefundedCharge) {
    words[0] = words[0].saturating_sub(amount);
    if words[0] == 0 {
        *words = [0, 0, at.now, 0];
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[0])
}

fn reset_after(_rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    words[1].saturating_sub(now)
}
