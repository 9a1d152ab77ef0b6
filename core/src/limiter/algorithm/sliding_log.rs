//! `sliding-log`: at most `limit` in any period, exactly: in `(now - period, now]`, by a log of all admissions.
//!
//! Words: the number of the first entry that still counts for this rule, how much counts, and that entry's time and sum.
//! Of a rule of another policy, which is charged with the rules of this one: in place of the time its last own charge, and the sum
//! is [`WRAP`] larger. Twin of `sliding_log.lua`.

use super::log::{Edge, Entries, LOG_MOST, Log, WRAP};
use super::worst::{Proof, WorstCases, all_of_it, touched};
use super::{Definition, Logged, Moment, RefundedCharge, Words, carry_nothing};
use crate::limiter::policy::Rule;

pub(super) const DEFINITION: Definition = Definition {
    id: 5,
    name: "sliding-log",
    lua: include_str!("sliding_log.lua"),
    words: &["first", "used", "time", "total"],
    fresh: &[1],
    bucket: None,
    log: Some(Logged {
        fits,
        oldest,
        used,
        beginning,
        aside,
        restore,
        first,
        most,
        trim,
        count,
        gather,
        bound,
        renumber,
    }),
    ends: None,
    carry: carry_nothing,
    settle,
    wait,
    charge,
    refund,
    prefetch_life: None,
    fades_over: super::at_once,
    remaining,
    reset_after,
    worst: WorstCases {
        words: "Admits {limit} in any {period}, wherever it begins: it remembers each admission.",
        most_within: |rule, stretch| u128::from(rule.limit()) * touched(rule, stretch),
        around_an_edge: None,
        long_run: all_of_it,
        longest_wait: Rule::period,
        burst: |rule| rule.limit().into(),
        proof: Proof::Periods(1),
    },
};

fn fits(words: &Words, log: &Log) -> bool {
    let [first, used, _, total] = *words;
    first <= log.next && log.next - first <= log.room && used <= LOG_MOST && total < WRAP
}

fn oldest(words: &Words) -> u64 {
    words[0]
}

fn used(words: &Words) -> u64 {
    words[1]
}

fn beginning(entry: u64) -> Words {
    [entry, 0, 0, 0]
}

fn gather(words: &mut Words, from: u64, log: &Log) {
    if words[0] >= from {
        *words = log.beginning_at_last(words[1]);
    }
}

fn bound(words: &Words) -> u64 {
    LOG_MOST - words[1].min(LOG_MOST)
}

fn renumber(words: &mut Words, oldest: u64) {
    words[0] -= oldest;
}

/// Nothing counts: the next entry will be the first.
fn empty(log: &Log) -> Words {
    beginning(log.next)
}

fn aside(words: &Words, last: u64) -> Words {
    [words[0], words[1], last, words[3] + WRAP]
}

fn restore(words: &mut Words) -> Option<u64> {
    words[3] = words[3].checked_sub(WRAP)?;
    Some(words[2])
}

fn first(words: &mut Words, entries: &Entries) {
    if words[1] > 0 {
        words[2] = entries.entry(words[0]).0;
    }
}

fn most(words: &mut Words, limit: u64, entries: &Entries) {
    if entries.log.since(words[3]) >= limit {
        let found = entries.beyond(words[0], words[3], Edge::Left(limit - 1));
        *words = [found.number, words[1].min(entries.log.since(found.gone)), found.time, found.total];
    }
}

fn settle(rule: &Rule, words: &mut Words, at: &Moment) -> bool {
    trim(words, rule.period(), at)
}

fn trim(words: &mut Words, period: u64, at: &Moment) -> bool {
    let (entries, log) = (&at.entries, at.entries.log);
    let [first, used, time, total] = *words;
    if first == log.next || log.last + period <= at.now {
        words[1] = 0;
    } else if time + period <= at.now {
        let found = entries.beyond(first, total, Edge::Time(at.now - period));
        let used = if found.number == log.next { 0 } else { used.min(log.since(found.gone)) };
        *words = [found.number, used, found.time, found.total];
    }
    if words[1] == 0 {
        *words = empty(log);
        return false;
    }
    // An entry that says that it is younger than the last one was damaged: it ends with that.
    let damaged = words[2] > log.last;
    words[2] = words[2].min(log.last);
    damaged
}

fn wait(rule: &Rule, words: &Words, at: &Moment, cost: u64) -> Option<u64> {
    let ([first, used, mut time, total], log) = (*words, at.entries.log);
    if cost > rule.limit() {
        return None;
    }
    if used + cost <= rule.limit() {
        return Some(0);
    }
    // The first entry after whose end the rest leaves room.
    let left = rule.limit() - cost;
    if log.since(total) > left {
        time = at.entries.beyond(first, total, Edge::Left(left)).time;
    }
    // What cannot be was damaged: there is room when the last one ends.
    if time + rule.period() <= at.now || time > log.last {
        time = log.last;
    }
    Some(time + rule.period() - at.now)
}

fn charge(_rule: &Rule, words: &mut Words, at: &Moment, _cost: u64) {
    count(words, at.entries.log);
}

fn count(words: &mut Words, log: &Log) {
    let used = (words[1] + log.added).min(LOG_MOST);
    *words = if words[0] + 1 >= log.next { log.beginning_at_last(used) } else { [words[0], used, words[2], words[3]] };
}

fn refund(rule: &Rule, words: &mut Words, at: &Moment, amount: u64, charged: &RefundedCharge) {
    let since = charged.since;
    // The oldest first: what is left stands in the log for at least as long as what was charged.
    if since + rule.period() > at.now {
        words[1] = words[1].saturating_sub(amount);
    }
    let [first, used, _, total] = *words;
    if used == 0 {
        *words = empty(at.entries.log);
    } else if at.entries.log.since(total) >= used {
        // Entries that were given back as a whole count no more.
        let found = at.entries.beyond(first, total, Edge::Left(used - 1));
        *words = [found.number, used, found.time, found.total];
    }
}

fn remaining(rule: &Rule, words: &Words, _at: &Moment) -> u64 {
    rule.limit().saturating_sub(words[1])
}

fn reset_after(rule: &Rule, words: &Words, at: &Moment) -> u64 {
    if words[1] == 0 { 0 } else { (at.entries.log.last + rule.period()).saturating_sub(at.now) }
}
