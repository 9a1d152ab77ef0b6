//! `sliding-window`: the previous window's count, weighted by how much of it lies in the last period, and the current one's.
//!
//! Admitted when `previous * (period - e) + (current + cost) * period <= limit * period`, `e` the time into the window, in
//! exact integers. Words: start of the current window, current, previous. Twin of `sliding_window.lua`.

use super::worst::{Proof, WorstCases, touched, two_windows};
use super::{Definition, End, Moment, RefundedCharge, StoredRule, Words};
use crate::limiter::policy::{MAX_LIMIT, Rate, Rule};
use wire::base::clock::clamp;

pub(super) const DEFINITION: Definition = Definition {
    id: 3,
    name: "sliding-window",
    lua: include_str!("sliding_window.lua"),
    words: &["last", "current", "previous"],
    fresh: &[1, 2],
    bucket: None,
    log: None,
    ends: Some(ends),
    carry,
    settle,
    wait,
    charge,
    refund,
    prefetch_life: None,
    fades_over,
    remaining,
    reset_after,
    worst: WorstCases {
        words: "Admits {limit} in {period}, by an estimate: what the current window of the clock has, and of the one before the \
                share that still lies in the last {period}.",
        most_within,
        around_an_edge: None,
        // While the window before counts, the last unit is not free; of one unit it is free in every second period.
        long_run: |rule| if rule.limit() == 1 { (1, 2) } else { (u128::from(rule.limit()) - 1, 1) },
        longest_wait: |rule| rule.period() + rule.period().div_ceil(rule.limit()),
        burst: two_windows,
        proof: Proof::Periods(2),
    },
};

fn most_within(rule: &Rule, stretch: u64) -> u128 {
    let (limit, period) = (u128::from(rule.limit()), u128::from(rule.period()));
    match stretch <= rule.period() {
        true => (limit + limit * (u128::from(stretch) - 1) / period).min(2 * limit - 1),
        // Edges of the calendar: one more window than a stretch is long.
        false => limit * (touched(rule, stretch) + 1),
    }
}

fn start(rule: &Rule, now: u64) -> u64 {
    now - now % rule.period()
}

/// The time until the current window ends.
fn left(rule: &Rule, now: u64) -> u64 {
    rule.period() - now % rule.period()
}

/// What counts of the current and the previous window: more than the limit would deny for longer than the policy says. More
/// may be stored, if the limit was lowered or a policy that admits more counts here too.
fn judged(rule: &Rule, words: &Words) -> (u64, u64) {
    (words[1].min(rule.limit()), words[2].min(rule.limit()))
}

/// `floor(a * b / c)`, in 128 bits.
fn share(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(c)) as u64
}

fn carry(rule: &Rule, words: &mut Words, kept: Rate, now: u64) {
    let [last, current, previous, _] = words;
    // Each old window counts where its last charge was, or may have been.
    let (mut here, mut before, window) = (0, 0, start(rule, now));
    for (charged, amount) in [(Some(*last), *current), ((*last - *last % kept.period).checked_sub(1), *previous)] {
        match charged.map(|charged| start(rule, charged)) {
            Some(place) if place == window => here += amount,
            Some(place) if place + rule.period() == window => before += amount,
            _ => {}
        }
    }
    (*current, *previous) = (here, before);
    *last = (*last).max(window);
}

fn ends(kept: &StoredRule, words: &mut Words, now: u64) -> End {
    let (back, period) = (clamp(&mut words[0], now), kept.rate.period);
    let [last, current, previous, _] = *words;
    let window = last - last % period;
    let at = match (current, previous) {
        (0, 0) => last,
        (0, _) => window + period,
        _ => window + 2 * period,
    };
    End { at, back, copied: false }
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    let now = at.now;
    let [last, current, previous, _] = words;
    let back = clamp(last, now);
    let (window, counted) = (start(rule, now), start(rule, *last));
    if counted < window {
        *previous = if counted + rule.period() >= window { *current } else { 0 };
        (*current, *last) = (0, window);
    }
    if *current == 0 && *previous == 0 {
        *last = 0;
        return false;
    }
    back
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let now = at.now;
    let (current, previous) = judged(rule, words);
    let (limit, period, left) = (rule.limit(), rule.period(), left(rule, now));
    if cost > limit {
        return None;
    }
    if let Some(room) = limit.checked_sub(current + cost) {
        let admitted = u128::from(previous) * u128::from(left) <= u128::from(room) * u128::from(period);
        return Some(if admitted { 0 } else { left - share(room, period, previous) });
    }
    // Not before the next window, where the current count is the previous one.
    Some(left + period - share((limit - cost).min(current), period, current))
}

fn charge(_rule: &Rule, words: &mut Words, at: &Moment, cost: u64) {
    words[0] = at.now;
    words[1] = (words[1] + cost).min(MAX_LIMIT);
}

fn refund(rule: &Rule, words: &mut Words, at: &Moment, amount: u64, charged: &RefundedCharge) {
    let since = charged.since;
    let now = at.now;
    let [last, current, previous, _] = words;
    let (window, mut given) = (start(rule, now), amount);
    if since >= window {
        given = amount.saturating_sub(*current);
        *current = current.saturating_sub(amount);
    }
    if since + rule.period() >= window {
        *previous = previous.saturating_sub(given);
    }
    if *current == 0 && *previous == 0 {
        *last = now;
    }
}

fn fades_over(rule: &Rule, reset_after: u64) -> u64 {
    // The current window's share falls over all of the next one; the previous one's is gone when that begins.
    reset_after.min(rule.period())
}

fn remaining(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    let (current, previous) = judged(rule, words);
    let weight = u128::from(previous) * u128::from(left(rule, now));
    let weight = weight.div_ceil(u128::from(rule.period())) as u64;
    rule.limit().saturating_sub(current + weight)
}

fn reset_after(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    let now = at.now;
    match *words {
        [_, 0, 0, _] => 0,
        [_, 0, ..] => left(rule, now),
        _ => left(rule, now) + rule.period(),
    }
}
