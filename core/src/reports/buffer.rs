//! What a process has decided since its last report, in bounded memory.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::MAX_DENIED;
use super::entry::{Decided, DeniedKey, Report, ReportedLimiter, Why};
use super::sketch::{Frequent, Sketch};
use crate::limiter::algorithm::Algorithm;
use crate::limiter::decision::{Decision, RuleDecision};
use crate::limiter::policy::Rule;
use wire::base::error::Error;
use wire::base::outcome::Outcome;
use wire::base::source::Source;

/// Of as many limiters decisions are counted by name; those of all others are added up.
const MOST_LIMITERS: usize = 64;
/// As many bytes names of limiters take in a report, and as many its denied keys, but for the first of each: so a full stream
/// takes 100 MB at worst. What has no room is added up, or left out.
const MOST_BYTES: usize = 4_096;
/// About what stands in a report beside a name.
const BESIDE: usize = 64;

/// Whose decision it is.
pub(crate) struct Whose<'a> {
    pub name: &'a Arc<str>,
    pub scope: Option<&'a [u8]>,
    /// The store that was asked, if it did not answer.
    pub asks: Source,
}

/// How often what was decided, and by whom.
type Counts = [[u64; Source::ALL.len()]; Outcome::ALL.len()];

/// What is known of a key that is denied.
struct Denied {
    name: Arc<str>,
    scope: Option<Box<[u8]>>,
    key: Box<[u8]>,
    reason: Reason,
    /// None if such a call is never admitted.
    until: Option<Instant>,
}

/// What denied it the last time.
enum Reason {
    Rule(RuleDecision),
    Blocked,
    Closed,
}

/// What was decided since a time.
pub(super) struct Buffer {
    since: Instant,
    limiters: Vec<(Arc<str>, Counts)>,
    others: Counts,
    denied: Sketch<Denied>,
    hasher: RandomState,
}

impl Buffer {
    /// Of what is decided from now on.
    pub fn new(now: Instant) -> Buffer {
        let (others, denied) = (Counts::default(), Sketch::default());
        Buffer { since: now, limiters: Vec::new(), others, denied, hasher: RandomState::new() }
    }

    /// Adds a decision.
    pub fn add<'k>(
        &mut self,
        whose: &Whose<'_>,
        key: impl FnOnce() -> Cow<'k, [u8]>,
        decided: Result<&Decision, &Error>,
        now: Instant,
    ) {
        let (outcome, source) = match decided {
            Ok(decision) => (decision.outcome(), decision.source),
            Err(_) => (Outcome::Error, whose.asks),
        };
        self.counts_of(whose.name)[outcome as usize][source as usize] += 1;
        if let Some(decision) = decided.ok().filter(|_| outcome == Outcome::Denied) {
            self.deny(whose, &key(), decision, now);
        }
    }

    fn counts_of(&mut self, name: &Arc<str>) -> &mut Counts {
        let place = self.limiters.iter().position(|(known, _)| Arc::ptr_eq(known, name) || known == name);
        if place.is_none() && self.limiters.len() >= MOST_LIMITERS {
            return &mut self.others;
        }
        let at = place.unwrap_or_else(|| {
            self.limiters.push((name.clone(), Counts::default()));
            self.limiters.len() - 1
        });
        &mut self.limiters[at].1
    }

    fn deny(&mut self, whose: &Whose<'_>, key: &[u8], decision: &Decision, now: Instant) {
        let Whose { name, scope, .. } = whose;
        let hash = self.hasher.hash_one((&***name, scope, key));
        let is_it = |denied: &Denied| *denied.key == *key && denied.name == **name && denied.scope.as_deref() == *scope;
        let make = || Denied {
            name: (*name).clone(),
            scope: scope.map(Box::from),
            key: key.into(),
            reason: Reason::Closed,
            until: None,
        };
        let denied = self.denied.count(hash, is_it, make);
        denied.reason = Reason::of(decision);
        denied.until = decision.retry_after.and_then(|micros| now.checked_add(Duration::from_micros(micros)));
    }

    /// What is to be told of it: by whom, and how many reports before it were lost. Its own time is 0, so that what is left
    /// until a time is that time.
    pub fn into_report(self, by: (String, u64, String), lost: u64, now: Instant) -> Report {
        let (host, process, by) = by;
        let covers = now.saturating_duration_since(self.since).as_micros() as u64;
        let mut report = Report { at: 0, host, process, by, covers, lost, limiters: Vec::new() };
        let mut others = self.others;
        let mut room = MOST_BYTES;
        let mut named = self.limiters;
        named.sort_by_key(|(_, counts)| std::cmp::Reverse((total(counts, Outcome::Denied), sum(counts))));
        for (name, counts) in named {
            let size = name.len() + BESIDE;
            if size > room && !report.limiters.is_empty() {
                others.iter_mut().flatten().zip(counts.iter().flatten()).for_each(|(all, one)| *all += one);
                continue;
            }
            room = room.saturating_sub(size);
            report.limiters.push(limiter(name.as_bytes(), &counts));
        }
        put_denied(&mut report.limiters, self.denied.into_frequent(MAX_DENIED), now);
        if sum(&others) > 0 {
            report.limiters.push(limiter(b"", &others));
        }
        report
    }
}

/// Adds the denied keys to their limiters, as many as have room.
fn put_denied(limiters: &mut Vec<ReportedLimiter>, denied: Vec<Frequent<Denied>>, now: Instant) {
    let (mut room, mut is_first) = (MOST_BYTES, true);
    for Frequent { value, count, over } in denied {
        let named = limiters.iter().position(|limiter| limiter.name == value.name.as_bytes());
        let whose = value.scope.as_ref().map_or(0, |scope| scope.len()) + named.map_or(value.name.len(), |_| 0);
        let size = value.key.len() + whose + BESIDE;
        if size > room && !is_first {
            continue;
        }
        (room, is_first) = (room.saturating_sub(size), false);
        let at = named.unwrap_or_else(|| {
            // Its decisions are among those of the others.
            limiters.push(limiter(value.name.as_bytes(), &Counts::default()));
            limiters.len() - 1
        });
        let left = |until: Instant| until.saturating_duration_since(now).as_micros() as u64;
        limiters[at].denied.push(DeniedKey {
            key: value.key.into(),
            scope: value.scope.map(Vec::from),
            count,
            over,
            why: value.reason.why(),
            until: value.until.map(left),
        });
    }
}

fn limiter(name: &[u8], counts: &Counts) -> ReportedLimiter {
    let each = Outcome::ALL.into_iter().flat_map(|result| Source::ALL.map(|source| (result, source)));
    let decided =
        each.map(|(result, source)| Decided { result, source, count: counts[result as usize][source as usize] });
    let decisions = decided.filter(|decided| decided.count > 0).collect();
    ReportedLimiter { name: name.to_vec(), decisions, denied: Vec::new() }
}

fn total(counts: &Counts, outcome: Outcome) -> u64 {
    counts[outcome as usize].iter().sum()
}

fn sum(counts: &Counts) -> u64 {
    counts.iter().flatten().sum()
}

impl Reason {
    fn of(decision: &Decision) -> Reason {
        if decision.source == Source::Closed {
            return Reason::Closed;
        }
        // `None` is never, which is longer than any time.
        let wait = |rule: &&RuleDecision| rule.retry_after.unwrap_or(u64::MAX);
        let longest = decision.rules.iter().filter(|rule| !rule.allowed).max_by_key(wait);
        // A block that lasts longer is what keeps it out.
        match longest.filter(|rule| rule.retry_after == decision.retry_after) {
            Some(rule) => Reason::Rule(*rule),
            None => Reason::Blocked,
        }
    }

    fn why(&self) -> Why {
        match self {
            Reason::Blocked => Why::Blocked,
            Reason::Closed => Why::Closed,
            Reason::Rule(said) => {
                let rule = Algorithm::by_name(said.algorithm).and_then(|algorithm| {
                    let capacity = algorithm.definition().has_capacity().then_some(said.capacity);
                    Rule::of(algorithm, said.quota, said.period, capacity).ok()
                });
                Why::Rule(rule.map_or_else(|| said.algorithm.to_owned(), |rule| rule.to_string()))
            }
        }
    }
}
