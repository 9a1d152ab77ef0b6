//! `calendar-window`: windows start at multiples of the period since the epoch, `floor(now / period)`.
//!
//! Words: count, the last charge (not the index of its window: a time keeps its meaning when the period of the policy
//! changes). Twin of `calendar_window.lua`.

use super::worst::{Proof, WorstCases, all_of_it, touched, two_windows};
use super::{Definition, End, Moment, RefundedCharge, StoredRule, Words, carry_nothing, to_the_end};
use crate::limiter::policy::{MAX_LIMIT, Rule};
use wire::base::clock::clamp;

pub(super) const DEFINITION: Definition = Definition {
    id: 2,
    name: "calendar-window",
    lua: include_str!("calendar_window.lua"),
    words: &["count", "last"],
    fresh: &[0],
    bucket: None,
    log: None,
    ends: Some(ends),
    carry: carry_nothing,
    settle,
    wait,
    charge,
    refund,
    prefetch_life: Some(to_the_end),
    fades_over: super::at_once,
    remaining,
    reset_after,
    worst: WorstCases {
        words: "Admits {limit} in each {period} of the clock, in UTC.",
        // One more window than a stretch is long.
        most_within: |rule, stretch| u128::from(rule.limit()) * (touched(rule, stretch) + 1),
        around_an_edge: Some(|rule| 2 * rule.limit()),
        long_run: all_of_it,
        longest_wait: Rule::period,
        burst: two_windows,
        proof: Proof::Periods(1),
    },
};

fn start(rule: &Rule, now: u64) -> u64 {
    now - now % rule.period()
}

fn ends(kept: &StoredRule, words: &mut Words, now: u64) -> End {
    let [count, last, ..] = words;
    let back = clamp(last, now);
    End {
        at: if *count > 0 { *last - *last % kept.rate.period + kept.rate.period } else { *last },
        back,
        copied: false,
    }
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [count, last, ..] = words;
    let back = clamp(last, now);
    if *count == 0 || *last < start(rule, now) {
        *words = Words::default();
        return false;
    }
    back
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

fn charge(_rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    words[0] = (words[0] + cost).min(MAX_LIMIT);
    words[1] = at.now;
}

fn refund(_rule: &Rule, words: &mut Words, at: &Moment, amount: u64, _charged: &RefundedCharge) {
    words[0] = words[0].saturating_sub(amount);
    if words[0] == 0 {
        words[1] = at.now;
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[0])
}

fn reset_after(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    if words[0] == 0 { 0 } else { left(rule, now) }
}
