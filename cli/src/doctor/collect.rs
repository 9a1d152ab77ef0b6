//! The keys that were found, in groups.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::families::{self, ARTICLE, Doubt, Family, Life, NEGATIVE, QUOTALOCK, Recognised, companion, unpaired};
use super::finding::{Finding, FindingState, Fix, Keys};
use super::own;
use super::pattern::{is_separator, pattern};
use super::proof::{Proof, Track, ValueView};
use super::{DoctorSettings, glob};
use crate::printable::shown;

/// How many examples a group has.
const EXAMPLES: usize = 3;
/// How many patterns of a family are told apart.
const PATTERNS: usize = 12;
/// How many numbers are remembered, since a timer denies calls only next to its counter.
const MOST_NUMBERS: usize = 200_000;
/// How many keys are watched; the others are only reported.
const MOST_WATCHED: usize = 200_000;
/// Why the others are left alone.
const TOO_MANY: Proof = Proof::Never("there are too many to watch them all: run it again after these");
/// The most bytes of an example's value.
const SHOWN_VALUE: usize = 40;

/// A key that may be proven to be stuck.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: Vec<u8>,
    /// Whose form it has.
    pub known: Recognised,
    /// The TTL that it should have, in milliseconds, and what states that.
    pub ttl: (u64, &'static str),
    /// The server that has it.
    pub shard: usize,
    /// What was seen of it.
    pub track: Track,
}

/// A group of keys.
struct KeyGroup {
    family: &'static Family,
    kind: &'static str,
    state: FindingState,
    why: &'static str,
    count: u64,
    examples: Vec<String>,
    shortest: u64,
    longest: u64,
    by: &'static str,
}

/// Groups of keys by family, kind, how they stand and why, and pattern.
type KeyGroups = BTreeMap<(&'static str, &'static str, FindingState, &'static str, String), KeyGroup>;

/// What a scan has found.
pub struct Collector<'a> {
    settings: &'a DoctorSettings,
    /// The time of the servers, in milliseconds since the epoch.
    now_ms: u64,
    groups: KeyGroups,
    /// Names of numbers without a TTL.
    numbers: HashSet<Vec<u8>>,
    /// Keys that may be proven to be stuck.
    candidates: Vec<Candidate>,
}

impl<'a> Collector<'a> {
    /// Begins.
    pub fn new(settings: &'a DoctorSettings, now_ms: u64) -> Collector<'a> {
        let (groups, numbers, candidates) = (BTreeMap::new(), HashSet::new(), Vec::new());
        Collector { settings, now_ms, groups, numbers, candidates }
    }

    /// Takes in a key without a TTL.
    pub fn immortal(&mut self, shard: usize, name: Vec<u8>, seen: ValueView) {
        if let Some(own) = own::of(&self.settings.prefix, &name) {
            if let Some(family) = own::wrong_type(&own, &seen) {
                self.group("wrong_type", &name, &seen, family, (FindingState::Stuck, own::WHY_WRONG), None);
                return;
            }
            // What its value does not state is left alone: a sale must not end because a guess was too short.
            let told = own::life(&own, &seen, self.now_ms);
            let life = told.map_or(Life::Asked, |ms| Life::Told(ms, "its own policy"));
            let proof = told.map_or(Proof::Never("its value does not state how long it lives"), |_| Proof::Own);
            self.add(shard, name, seen, Recognised { family: &QUOTALOCK, doubt: Doubt::Looks, proof, life });
            return;
        }
        if self.numbers.len() < MOST_NUMBERS && seen.number().is_some() && !name.ends_with(b":timer") {
            self.numbers.insert(name.clone());
        }
        let named = self.settings.also.iter().any(|pattern| glob::fits(pattern.as_bytes(), &name));
        let recognise = if named { families::recognise_named } else { families::recognise };
        if let Some(known) = recognise(&name, &seen, self.now_ms) {
            self.add(shard, name, seen, known);
        }
    }

    /// Takes in one of our keys that has a TTL.
    pub fn own(&mut self, name: &[u8], seen: &ValueView) {
        let Some(own) = own::of(&self.settings.prefix, name) else { return };
        if let Some(family) = own::wrong_type(&own, seen) {
            self.group("wrong_type", name, seen, family, (FindingState::Stuck, own::WHY_WRONG), None);
        } else if matches!(seen, ValueView::Text(value) if own::is_damaged(&own, value, self.now_ms)) {
            self.group("damaged", name, seen, &QUOTALOCK, (FindingState::Looks, ""), None);
        }
    }

    fn add(&mut self, shard: usize, name: Vec<u8>, seen: ValueView, known: Recognised) {
        let ttl = match known.life {
            Life::Told(ms, by) if ms >= self.settings.ttl_floor_ms => (ms.max(1), by),
            Life::Told(..) if self.settings.ttl_floor_ms > 1 => {
                (self.settings.ttl_floor_ms, "the least without --allow-short-ttl")
            }
            Life::Told(..) => (1, "its own time"),
            Life::Asked => (self.settings.ttl_ms, "--ttl"),
        };
        let is_damaged = *known.family == QUOTALOCK
            && own::of(&self.settings.prefix, &name).is_some_and(|own| match &seen {
                ValueView::Text(value) => own::is_damaged(&own, value, self.now_ms),
                _ => false,
            });
        if is_damaged {
            self.group("damaged", &name, &seen, known.family, (FindingState::Looks, ""), None);
            return;
        }
        let is_full = self.candidates.len() >= MOST_WATCHED;
        let proof = if is_full && !matches!(known.proof, Proof::Never(_)) { TOO_MANY } else { known.proof };
        let candidate = Candidate { name, ttl, shard, track: Track::new(proof, seen), known };
        match proof {
            Proof::Never(_) if !self.waits_for_pair(&candidate) => self.judge(&candidate),
            _ => self.candidates.push(candidate),
        }
    }

    /// A timer is judged when all counters were seen.
    fn waits_for_pair(&self, candidate: &Candidate) -> bool {
        companion(&candidate.known, &candidate.name).is_some() && self.candidates.len() < MOST_WATCHED
    }

    /// What is to be watched, when all keys were looked at once.
    pub fn candidates(&mut self) -> Vec<Candidate> {
        let all = std::mem::take(&mut self.candidates);
        let mut watched = Vec::with_capacity(all.len());
        for mut candidate in all {
            match companion(&candidate.known, &candidate.name) {
                Some(counter) if !self.numbers.contains(&counter) => {
                    candidate.known = unpaired(candidate.known);
                    candidate.track.proof = candidate.known.proof;
                    self.judge(&candidate);
                }
                _ => watched.push(candidate),
            }
        }
        watched
    }

    /// Puts a key into its group, by what was seen of it.
    pub fn judge(&mut self, candidate: &Candidate) {
        let Candidate { name, known, track, ttl, .. } = candidate;
        let (state, why) = (FindingState::of(known, track), track.why());
        let ttl = (state == FindingState::Stuck).then_some(*ttl);
        self.group(stuck_kind(known), name, &track.last, known.family, (state, why), ttl);
    }

    fn group(
        &mut self,
        kind: &'static str,
        name: &[u8],
        seen: &ValueView,
        family: &'static Family,
        (state, why): (FindingState, &'static str),
        ttl: Option<(u64, &'static str)>,
    ) {
        let (ms, by) = ttl.unwrap_or((0, ""));
        let empty =
            KeyGroup { family, kind, state, why, count: 0, examples: Vec::new(), shortest: u64::MAX, longest: 0, by };
        let group = self.groups.entry((family.id, kind, state, why, pattern(name))).or_insert(empty);
        group.count += 1;
        (group.shortest, group.longest) = (group.shortest.min(ms), group.longest.max(ms));
        if group.examples.len() < EXAMPLES {
            let value = match seen {
                _ if kind == "wrong_type" => format!(" is a Redis {}", shown(seen.redis_type())),
                ValueView::Text(value) => {
                    let text = shown(&value[..value.len().min(SHOWN_VALUE)]);
                    let more = if value.len() > SHOWN_VALUE { "…" } else { "" };
                    format!(" = {text}{more}")
                }
                _ => String::new(),
            };
            group.examples.push(format!("{}{value}", shown(name)));
        }
    }

    /// What was found.
    pub fn finish(self) -> Vec<Finding> {
        merged(self.groups).into_iter().map(|(pattern, group)| group.finding(pattern)).collect()
    }
}

/// The word for what is wrong with keys that have no TTL.
pub fn stuck_kind(known: &Recognised) -> &'static str {
    if *known.family == ARTICLE || *known.family == NEGATIVE {
        "negative_counter"
    } else if known.doubt == Doubt::May {
        "maybe_stuck"
    } else {
        "no_ttl"
    }
}

/// The groups; those of a family with many patterns by what their names begin with.
fn merged(groups: KeyGroups) -> Vec<(String, KeyGroup)> {
    let mut patterns: HashMap<(&str, &str, FindingState, &str), usize> = HashMap::new();
    groups
        .keys()
        .for_each(|(family, kind, state, why, _)| *patterns.entry((family, kind, *state, why)).or_default() += 1);
    let mut merged: Vec<(String, KeyGroup)> = Vec::new();
    for ((family, kind, state, why, pattern), group) in groups {
        let pattern = match patterns.get(&(family, kind, state, why)) {
            Some(count) if *count > PATTERNS => {
                let end = pattern.find(is_separator).map_or(0, |at| at + 1);
                format!("{}*", &pattern[..end])
            }
            _ => pattern,
        };
        let same = |(other, known): &&mut (String, KeyGroup)| {
            *other == pattern && (known.family, known.kind, known.state, known.why) == (group.family, kind, state, why)
        };
        match merged.iter_mut().find(same) {
            Some((_, known)) => known.take(group),
            None => merged.push((pattern, group)),
        }
    }
    merged.sort_by_key(|(_, group)| (group.state, Reverse(group.count)));
    merged
}

impl KeyGroup {
    fn take(&mut self, other: KeyGroup) {
        self.count += other.count;
        (self.shortest, self.longest) = (self.shortest.min(other.shortest), self.longest.max(other.longest));
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
    }

    fn finding(self, pattern: String) -> Finding {
        let KeyGroup { family, kind, count, examples, shortest, longest, by, state, why } = self;
        let keys = if count == 1 { "1 key".to_owned() } else { format!("{count} keys") };
        let what = match (kind, count) {
            ("damaged", _) => format!("{keys} of ours with a value that is not: {pattern}"),
            ("wrong_type", _) => format!("{keys} of ours of another Redis type: {pattern}"),
            ("negative_counter", _) => {
                format!("{keys} {}, below zero without a TTL: {pattern} ({})", state.words(count), family.title)
            }
            _ => format!("{keys} {}, without a TTL: {pattern} ({})", state.words(count), family.title),
        };
        let (means, cure) = match kind {
            "damaged" => (
                "another client wrote there, or a part is lost: it counts as nothing",
                "nothing: the next call that writes replaces it. See which other application uses these names",
            ),
            _ => (family.means, family.cure),
        };
        let fix = (longest > 0).then_some(Fix { shortest_ms: shortest, longest_ms: longest, by });
        let is_note = state == FindingState::May;
        let keys = Some(Keys { family: family.id, pattern, count, examples, state, why, fix });
        Finding { kind, is_note, node: None, what, means: means.to_owned(), cure: cure.to_owned(), keys }
    }
}
