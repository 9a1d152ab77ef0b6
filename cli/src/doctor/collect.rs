//! The keys that were found, in groups.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::families::{
    ARTICLE, COUNTER, Family, LARAVEL_LIMITER, Life, NAMED, NEGATIVE, QUOTALOCK, Recognised, Seen, until,
};
use super::finding::{Finding, Fix, Keys};
use super::own;
use super::pattern::{is_separator, pattern};
use super::words::integer;
use super::{Settings, families, glob};
use crate::output::shown;

/// How many examples a group has.
const EXAMPLES: usize = 3;
/// How many patterns of a family are told apart.
const PATTERNS: usize = 12;
/// How many keys without a family are remembered, since a companion may tell whose they are.
const MOST_NUMBERS: usize = 200_000;
/// The most bytes of an example's value.
const SHOWN_VALUE: usize = 40;

/// A key that is to get a TTL.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Its name.
    pub name: Vec<u8>,
    /// What was seen of it.
    pub seen: Seen,
    /// Whose it is.
    pub family: &'static Family,
    /// The TTL that it should have, in milliseconds.
    pub ttl_ms: u64,
    /// The server that has it.
    pub shard: usize,
}

/// A group of keys.
struct Group {
    family: &'static Family,
    kind: &'static str,
    is_sure: bool,
    count: u64,
    examples: Vec<String>,
    shortest: u64,
    longest: u64,
    by: &'static str,
}

/// What a scan has found.
pub struct Collector<'a> {
    settings: &'a Settings,
    /// The time of the servers, in milliseconds since the epoch.
    now_ms: u64,
    groups: BTreeMap<(&'static str, &'static str, String), Group>,
    /// Numbers that nobody recognised, and whether a timer of Laravel's makes them its.
    numbers: Vec<(usize, Vec<u8>, Vec<u8>)>,
    timers: HashMap<Vec<u8>, i64>,
    /// What `--fix` changes.
    pub stuck: Vec<Stuck>,
}

impl<'a> Collector<'a> {
    /// Begins.
    pub fn new(settings: &'a Settings, now_ms: u64) -> Collector<'a> {
        let (groups, numbers) = (BTreeMap::new(), Vec::new());
        Collector { settings, now_ms, groups, numbers, timers: HashMap::new(), stuck: Vec::new() }
    }

    /// Takes in a key without a TTL.
    pub fn immortal(&mut self, shard: usize, name: Vec<u8>, seen: Seen) {
        if let Some(own) = own::of(&self.settings.prefix, &name) {
            // What its value does not tell is left alone: a sale must not end because a guess was too short.
            let told = own::life(&own, &seen, self.now_ms);
            let life = told.map_or(Life::Asked, |ms| Life::Told(ms, "its own policy"));
            self.add(shard, name, seen, "no_ttl", Recognised { family: &QUOTALOCK, is_sure: told.is_some(), life });
            return;
        }
        if let (Seen::Text(value), Some(name)) = (&seen, name.strip_suffix(b":timer"))
            && let Some(ends) = integer(value)
        {
            self.timers.insert(name.to_vec(), ends);
        }
        let named = self.settings.also.iter().any(|pattern| glob::fits(pattern.as_bytes(), &name));
        match families::recognise(&name, &seen, self.now_ms) {
            Some(known) if known.is_sure || !named => self.add(shard, name, seen, stuck_kind(known.family), known),
            Some(known) => self.add(shard, name, seen, stuck_kind(known.family), Recognised { is_sure: true, ..known }),
            None if named => {
                let known = Recognised { family: &NAMED, is_sure: true, life: Life::Asked };
                self.add(shard, name, seen, "no_ttl", known);
            }
            None => {
                if let Seen::Text(value) = seen
                    && self.numbers.len() < MOST_NUMBERS
                    && integer(&value).is_some()
                {
                    self.numbers.push((shard, name, value));
                }
            }
        }
    }

    /// Takes in one of our keys that has a TTL.
    pub fn own(&mut self, name: &[u8], value: &[u8]) {
        let Some(own) = own::of(&self.settings.prefix, name) else { return };
        if own::is_damaged(&own, value, self.now_ms) {
            self.group("damaged", name, &Seen::Text(value.to_vec()), &QUOTALOCK, None);
        }
    }

    fn add(&mut self, shard: usize, name: Vec<u8>, seen: Seen, kind: &'static str, known: Recognised) {
        let ttl = match known.life {
            Life::Told(ms, by) => (ms.max(1), by),
            Life::Asked if known.family.is_lock() => (self.settings.lock_ttl_ms, "--lock-ttl"),
            Life::Asked => (self.settings.ttl_ms, "--ttl"),
        };
        let damaged = known.family == &QUOTALOCK
            && own::of(&self.settings.prefix, &name).is_some_and(|own| match &seen {
                Seen::Text(value) => own::is_damaged(&own, value, self.now_ms),
                _ => false,
            });
        let kind = if damaged { "damaged" } else { kind };
        self.group(kind, &name, &seen, known.family, known.is_sure.then_some(ttl));
        if self.settings.fix && known.is_sure {
            self.stuck.push(Stuck { name, seen, family: known.family, ttl_ms: ttl.0, shard });
        }
    }

    fn group(
        &mut self,
        kind: &'static str,
        name: &[u8],
        seen: &Seen,
        family: &'static Family,
        ttl: Option<(u64, &'static str)>,
    ) {
        let (ms, by) = ttl.unwrap_or((0, ""));
        let empty = Group {
            family,
            kind,
            is_sure: ttl.is_some(),
            count: 0,
            examples: Vec::new(),
            shortest: u64::MAX,
            longest: 0,
            by,
        };
        let group = self.groups.entry((family.id, kind, pattern(name))).or_insert(empty);
        group.count += 1;
        (group.shortest, group.longest) = (group.shortest.min(ms), group.longest.max(ms));
        if group.examples.len() < EXAMPLES {
            let value = match seen {
                Seen::Text(value) => {
                    let text = shown(&value[..value.len().min(SHOWN_VALUE)]);
                    let more = if value.len() > SHOWN_VALUE { "…" } else { "" };
                    format!(" = {text}{more}")
                }
                _ => String::new(),
            };
            group.examples.push(format!("{}{value}", shown(name)));
        }
    }

    /// What was found, and what is to be changed.
    pub fn finish(mut self) -> (Vec<Finding>, Vec<Stuck>) {
        for (shard, name, value) in std::mem::take(&mut self.numbers) {
            if let Some(ends) = self.timers.get(&name) {
                let life = Life::Told(until(*ends, self.now_ms), "when its timer ends");
                let known = Recognised { family: &LARAVEL_LIMITER, is_sure: true, life };
                self.add(shard, name, Seen::Text(value), "no_ttl", known);
            }
        }
        let groups = merged(std::mem::take(&mut self.groups));
        (groups.into_iter().map(|(pattern, group)| group.finding(pattern)).collect(), self.stuck)
    }
}

/// The word for what is wrong with keys of a family that have no TTL.
pub fn stuck_kind(family: &Family) -> &'static str {
    if *family == ARTICLE || *family == NEGATIVE {
        "negative_counter"
    } else if *family == COUNTER {
        "maybe_stuck"
    } else {
        "no_ttl"
    }
}

/// The groups; those of a family with many patterns by what their names begin with.
fn merged(groups: BTreeMap<(&'static str, &'static str, String), Group>) -> Vec<(String, Group)> {
    let mut patterns: HashMap<(&str, &str), usize> = HashMap::new();
    groups.keys().for_each(|(family, kind, _)| *patterns.entry((family, kind)).or_default() += 1);
    let mut merged: Vec<(String, Group)> = Vec::new();
    for ((family, kind, pattern), group) in groups {
        let pattern = match patterns.get(&(family, kind)) {
            Some(count) if *count > PATTERNS => {
                let end = pattern.find(is_separator).map_or(0, |at| at + 1);
                format!("{}*", &pattern[..end])
            }
            _ => pattern,
        };
        let same = |(other, known): &&mut (String, Group)| {
            *other == pattern && known.family == group.family && known.kind == group.kind
        };
        match merged.iter_mut().find(same) {
            Some((_, known)) => known.take(group),
            None => merged.push((pattern, group)),
        }
    }
    merged.sort_by_key(|(_, group)| Reverse(group.count));
    merged
}

impl Group {
    fn take(&mut self, other: Group) {
        self.count += other.count;
        self.is_sure |= other.is_sure;
        (self.shortest, self.longest) = (self.shortest.min(other.shortest), self.longest.max(other.longest));
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
    }

    fn finding(self, pattern: String) -> Finding {
        let Group { family, kind, count, examples, shortest, longest, by, is_sure } = self;
        let keys = if count == 1 { "1 key".to_owned() } else { format!("{count} keys") };
        let (what, means, cure) = match kind {
            "damaged" => (
                format!("{keys} of ours with a value that is not: {pattern}"),
                "somebody else wrote there, or a part is lost: it counts as nothing".to_owned(),
                "nothing: the next call that writes replaces it. See who else uses these names".to_owned(),
            ),
            "negative_counter" => (
                format!("{keys} below zero without a TTL: {pattern} ({})", family.title),
                family.means.to_owned(),
                family.cure.to_owned(),
            ),
            _ => (
                format!("{keys} without a TTL: {pattern} ({})", family.title),
                family.means.to_owned(),
                family.cure.to_owned(),
            ),
        };
        let fix = (is_sure && longest > 0).then_some(Fix { shortest_ms: shortest, longest_ms: longest, by });
        let keys = Some(Keys { family: family.id, pattern, count, examples, fix });
        Finding { kind, is_note: false, node: None, what, means, cure, keys }
    }
}
