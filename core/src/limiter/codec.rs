//! The stored form of a state: the names of its rules, what each of them counted, and which rule of now takes what over.
//! Twin of `script/{migrate,decode,match,rearrange}.lua`.

use std::cmp::Reverse;

use super::holds::{HoldLayout, Holds};
use crate::limiter::algorithm::log::{ENTRY, Entries, Log, WRAP};
use crate::limiter::algorithm::{Algorithm, Definition, End, Logged, StoredRule, Words};
use crate::limiter::policy::{MAX_LIMIT, MAX_PERIOD, Policy, Rate, Rule};
use wire::call::lua::EXACT;

pub(super) const MAGIC: &[u8] = b"QL\x02";
pub(super) const BLOCK: u8 = 0;
pub(super) const LOG: u8 = 250;
pub(super) const HOLDS: u8 = 251;
/// The size of a log's record: id, next, sum, last, room, where the value ends.
pub(super) const LOG_SIZE: u64 = 41;

/// What a script reads of a state that may have a log.
pub(super) const PREFIX: usize = 1024;
/// How many rules of other policies are kept.
pub(super) const MOST_OTHERS: usize = 10;
/// How many rules a state has: those of a policy, and of others.
pub(super) const MOST: u8 = 20;
/// What the id of a rule is larger by if a rule of another policy began with its count.
pub(super) const GIVEN: u8 = 128;
/// How many bytes a number of a name takes.
const NAME_NUMBER: usize = 7;

/// How many bytes the name of a rule takes: its algorithm, limit, period, and capacity if it may have one.
pub(super) fn name_size(definition: &Definition) -> usize {
    1 + NAME_NUMBER * definition.arguments().len()
}

/// What every state of a policy begins with: the magic, how many rules, and the name of each. A rule is itself, with all
/// that its text says: no other is taken for it, whatever they have in common.
pub(super) fn heading(policy: &Policy) -> Vec<u8> {
    let mut heading = MAGIC.to_vec();
    heading.push(policy.rules().len() as u8);
    policy.rules().iter().for_each(|rule| heading.extend_from_slice(&StoredName::of(rule).bytes(false)));
    heading
}

/// What a rule says.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StoredName {
    algorithm: Algorithm,
    limit: u64,
    period: u64,
    /// The limit, for those that may not say one.
    capacity: u64,
}

impl StoredName {
    fn of(rule: &Rule) -> StoredName {
        StoredName {
            algorithm: rule.algorithm(),
            limit: rule.limit(),
            period: rule.period(),
            capacity: rule.capacity(),
        }
    }

    fn definition(&self) -> &'static Definition {
        self.algorithm.definition()
    }

    fn bytes(&self, given: bool) -> Vec<u8> {
        let mut bytes = vec![self.definition().id + if given { GIVEN } else { 0 }];
        let numbers = [self.limit, self.period, self.capacity];
        for number in &numbers[..self.definition().arguments().len()] {
            bytes.extend_from_slice(&number.to_le_bytes()[..NAME_NUMBER]);
        }
        bytes
    }

    /// The rule that says this; none if no policy can have it.
    fn rule(&self) -> Option<Rule> {
        let capacity = self.definition().has_capacity().then_some(self.capacity);
        Rule::of(self.algorithm, self.limit, self.period, capacity).ok()
    }

    fn rate(&self) -> Rate {
        match self.definition().has_capacity() {
            true => Rate::reduced(self.limit, self.period),
            false => Rate { limit: self.limit, period: self.period },
        }
    }

    /// Whether they count the same, however much they admit: by one period, or of two buckets one rate and capacity. Rules with a
    /// log do not: each keeps as much of it as its own limit needs.
    fn counts_as(&self, rule: &Rule) -> bool {
        let (own, other) = (self.rate(), rule.rate());
        let alike = !self.definition().has_capacity() || own.limit == other.limit && self.capacity == rule.capacity();
        let windows = self.algorithm == rule.algorithm() && !self.definition().has_log();
        *self == StoredName::of(rule) || windows && own.period == other.period && alike
    }
}

/// What was counted for one rule.
#[derive(Clone, Copy)]
pub(super) struct Record {
    name: StoredName,
    words: Words,
    /// When it has nothing to say any more, which a TTL may have told already.
    stop: u64,
    /// Whether it is kept for its policy: for a period longer, or if it has a log, for a period after its last own charge.
    kept: bool,
    /// Whether it charged nothing itself yet.
    copied: bool,
    /// Whether a rule of another policy began with it. No other one does then.
    given: bool,
    /// With a log, when it was last charged by its own policy.
    own_last: u64,
    /// Whether that was stored in place of the time of its first entry.
    aside: bool,
}

impl Record {
    /// Finds out when it ends. True if the clock went back.
    pub fn settle(&mut self, now: u64, log: Option<&Log>) -> bool {
        let End { at, back, copied } = match self.name.definition().ends {
            Some(ends) => {
                let kept = StoredRule { rate: self.name.rate(), capacity: self.name.capacity };
                ends(&kept, &mut self.words, now)
            }
            None => {
                let back = self.own_last > now;
                self.own_last = self.own_last.min(now);
                let log = log.filter(|_| !self.name.definition().is_fresh(&self.words));
                let at = log.map_or(0, |log| log.last.min(now) + self.name.period);
                End { at, back, copied: false }
            }
        };
        (self.stop, self.copied) = (at, copied);
        self.kept = match self.logged() {
            Some(_) => at > now && self.own_last + self.name.period > now,
            None => at > 0 && at + self.name.period > now,
        };
        back && self.stop > now
    }

    fn logged(&self) -> Option<&'static Logged> {
        self.name.definition().log.as_ref()
    }

    /// Whether it counts what a rule of this policy does.
    fn is_own(&self, policy: &Policy) -> bool {
        policy.rules().iter().any(|rule| self.name.counts_as(rule))
    }

    /// Completes what is stored of a rule with a log for another policy.
    pub fn restore(&mut self, entries: &Entries) {
        if let Some(logged) = self.logged().filter(|_| self.aside) {
            (logged.first)(&mut self.words, entries);
        }
    }

    /// The rule that it was counted for; none if no policy can have it.
    pub fn rule(&self) -> Option<Rule> {
        self.name.rule()
    }

    /// How much of the log counts for it, if it has one.
    fn counted(&self) -> Option<u64> {
        self.logged().map(|logged| (logged.used)(&self.words))
    }
}

/// What a value of ours says.
#[derive(Default)]
pub(super) struct Parsed {
    pub records: Vec<Record>,
    pub log: Option<Log>,
    pub block_length: u64,
    pub block_until: u64,
    pub holds: Holds,
}

pub(super) fn push_record(value: &mut Vec<u8>, id: u8, numbers: &[u64]) {
    value.push(id);
    put_numbers(value, numbers);
}

pub(super) fn put_numbers(value: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
}

pub(super) fn put_log(value: &mut Vec<u8>, log: &Log, behind: usize) {
    push_record(value, LOG, &[log.next, log.sum, log.last, log.room, log.base + ENTRY * log.room + behind as u64]);
}

/// What a rule begins with.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub words: Words,
    /// Which record they are from.
    pub source: Option<usize>,
    /// Whether a rule of another policy began with that one, which is this rule's own.
    pub given: bool,
    /// The rate with which they were kept, if it was another, and until when.
    pub kept: Option<(Rate, u64)>,
}

/// What is to be kept of rules that another policy of this name has, as there are while a new one is deployed.
#[derive(Default)]
pub(super) struct Others {
    records: Vec<Record>,
    sources: Vec<usize>,
    /// When the last of them ends.
    pub until: u64,
}

impl Others {
    pub fn count(&self) -> usize {
        self.records.len()
    }

    fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.records.iter().map(|record| record.name.bytes(record.given))
    }

    pub fn words(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            let words = record.logged().map_or(record.words, |logged| (logged.aside)(&record.words, record.own_last));
            put_numbers(&mut bytes, &words[..record.name.definition().words.len()]);
        }
        bytes
    }

    /// Counts what was added to the log.
    pub fn charge(&mut self, log: &Log) {
        let mut until = self.until;
        for (logged, words, _, period) in self.logged() {
            (logged.count)(words, log);
            until = until.max(log.last + period);
        }
        self.until = until;
    }

    /// Those with a log: what is done with their words, which are charged with those of this policy, and limit and period.
    pub fn logged(&mut self) -> impl Iterator<Item = (&'static Logged, &mut Words, u64, u64)> {
        self.records.iter_mut().filter_map(|record| {
            let (logged, StoredName { limit, period, .. }) = (record.logged()?, record.name);
            Some((logged, &mut record.words, limit, period))
        })
    }

    /// Whether any has a log.
    pub fn have_log(&self) -> bool {
        self.records.iter().any(|record| record.logged().is_some())
    }
}

/// Gives each rule what it begins with: the record that names it; else the first one that counts as it does. Else it begins with
/// what the first other one of the same algorithm counts, and no other rule does so after it; with a log, with what the one with
/// the longest memory counts, else at the log's end.
pub(super) fn assign_records(policy: &Policy, records: &mut [Record], log_end: u64, now: u64) -> Vec<Placed> {
    let rules = policy.rules();
    let mut placed: Vec<Option<Placed>> = vec![None; rules.len()];
    let own: Vec<bool> = records.iter().map(|record| record.is_own(policy)).collect();
    let mut named = vec![false; records.len()];
    for pass in 1..=3 {
        for (rule, place) in rules.iter().zip(&mut placed).filter(|(_, place)| place.is_none()) {
            let definition = rule.algorithm().definition();
            let fits = |(s, record): &(usize, &Record)| match pass {
                1 => record.name == StoredName::of(rule) && !named[*s],
                2 => record.name.counts_as(rule),
                _ => {
                    let alike = record.name.algorithm == rule.algorithm() && !definition.has_log();
                    alike && record.stop > now && !own[*s] && !record.given && !record.copied
                }
            };
            if let Some((s, record)) = records.iter().enumerate().find(fits) {
                let kept = (pass == 3).then(|| (record.name.rate(), record.stop));
                *place = Some(Placed { words: record.words, source: Some(s), given: pass < 3 && record.given, kept });
                if pass == 3 { records[s].given = true } else { named[s] = true }
            } else if let Some(logged) = definition.log.as_ref().filter(|_| pass == 3) {
                let counted = |s: usize| records[s].counted().filter(|counted| *counted > 0);
                let longest = (0..records.len()).filter_map(|s| Some((counted(s)?, Reverse(s)))).max();
                let words = longest.map_or_else(|| (logged.beginning)(log_end), |(_, Reverse(s))| records[s].words);
                *place = Some(Placed { words, source: longest.map(|(_, Reverse(s))| s), given: false, kept: None });
            }
        }
    }
    let fresh = Placed { words: Words::default(), source: None, given: false, kept: None };
    placed.into_iter().map(|place| place.unwrap_or(fresh)).collect()
}

/// What a state begins with: the names of its rules, then of those that are kept for other policies.
pub(super) fn names(policy: &Policy, placed: &[Placed], others: &Others) -> Vec<u8> {
    let own = policy.rules().iter().zip(placed).map(|(rule, place)| StoredName::of(rule).bytes(place.given));
    own.chain(others.names()).flatten().collect()
}

/// What no rule took over as its own, and counts as none, is kept for its policy; of too many those that end last.
pub(super) fn others(policy: &Policy, records: &[Record]) -> Others {
    let mut sources: Vec<usize> =
        (0..records.len()).filter(|s| records[*s].kept && !records[*s].is_own(policy)).collect();
    while sources.len() > MOST_OTHERS {
        let first = sources.iter().enumerate().min_by_key(|(_, s)| records[**s].stop).map_or(0, |(at, _)| at);
        sources.remove(first);
    }
    let kept: Vec<Record> = sources.iter().map(|s| records[*s]).collect();
    let until = kept.iter().map(|record| record.stop).max().unwrap_or(0);
    Others { records: kept, sources, until }
}

/// Where the rules' shares of a hold are, before and now.
pub(super) fn layout(policy: &Policy, placed: &[Placed], records: &[Record], others: &Others) -> HoldLayout {
    let is_bucket = Definition::has_capacity;
    let own = policy.rules().iter().zip(placed);
    let own = own.map(|(rule, place)| (place.source, is_bucket(rule.algorithm().definition())));
    let carried = others.sources.iter().map(|s| (Some(*s), is_bucket(records[*s].name.definition())));
    HoldLayout {
        before: records.iter().map(|record| is_bucket(record.name.definition())).collect(),
        now: own.chain(carried).collect(),
    }
}

/// A place in a value that is read from front to back.
struct Reader<'a> {
    whole: &'a [u8],
    text: &'a [u8],
    position: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// What a rule says, and whether a rule of another policy began with its count.
    fn name(&mut self) -> Option<(StoredName, bool)> {
        let id = self.byte()?;
        let (algorithm, given) = (Algorithm::by_id(id % GIVEN)?, id >= GIVEN);
        if given && algorithm.definition().has_log() {
            return None;
        }
        let mut numbers = [0; 3];
        for number in &mut numbers[..algorithm.definition().arguments().len()] {
            let mut bytes = [0; 8];
            bytes[..NAME_NUMBER].copy_from_slice(self.text.get(self.position..self.position + NAME_NUMBER)?);
            *number = u64::from_le_bytes(bytes);
            self.position += NAME_NUMBER;
        }
        let [limit, period, capacity] = numbers;
        let capacity = if algorithm.definition().has_capacity() { capacity } else { limit };
        let sound = [limit, capacity].iter().all(|n| (1..=MAX_LIMIT).contains(n)) && (1..=MAX_PERIOD).contains(&period);
        sound.then_some((StoredName { algorithm, limit, period, capacity }, given))
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            let (bytes, _) = self.text.get(self.position..)?.split_first_chunk::<8>()?;
            *number = Some(u64::from_le_bytes(*bytes)).filter(|n| *n < EXACT)?;
            self.position += 8;
        }
        Some(numbers)
    }

    /// Goes on behind the log. What is usual is read without a look at its end: entries that are cut off count as over. A
    /// policy without a log carries all of it, so all of it has to be there.
    fn log(&mut self, usual: bool, with_log: bool) -> Option<Log> {
        let [next, sum, last, room, stop] = self.numbers()?;
        let base = self.position as u64;
        let after = base + ENTRY * room;
        let cut = if with_log {
            self.text.len() != PREFIX && stop > self.text.len() as u64 && !(usual && after == stop)
        } else {
            stop > self.whole.len() as u64
        };
        if sum >= WRAP || after > stop || cut {
            return None;
        }
        self.text = if stop > after { self.whole.get(after as usize..stop as usize)? } else { &[] };
        self.position = 0;
        Some(Log { next, sum, last, room, base, ..Log::default() })
    }
}

/// The parts of a value, or none if the value is not ours; `heading` is that of the policy.
pub(super) fn parse(value: &[u8], heading: &[u8], with_log: bool) -> Option<Parsed> {
    value.strip_prefix(MAGIC)?;
    let text = &value[..value.len().min(PREFIX)];
    let mut reader = Reader { whole: value, text, position: MAGIC.len() };
    let count = reader.byte().filter(|count| (1..=MOST).contains(count))?;
    let names = (0..count).map(|_| reader.name()).collect::<Option<Vec<(StoredName, bool)>>>()?;
    let (mut parsed, mut blocked) = (Parsed::default(), false);
    for (name, given) in names {
        let mut words = Words::default();
        for word in &mut words[..name.definition().words.len()] {
            [*word] = reader.numbers()?;
        }
        parsed.records.push(Record {
            name,
            words,
            stop: 0,
            kept: false,
            copied: false,
            given,
            own_last: 0,
            aside: false,
        });
    }
    while let Some(id) = reader.byte() {
        match id {
            LOG if parsed.log.is_none() && !blocked => {
                let exact = |record: &Record| record.words.iter().sum::<u64>() < EXACT;
                parsed.log =
                    Some(reader.log(value.starts_with(heading) && parsed.records.iter().all(exact), with_log)?);
            }
            BLOCK if !blocked => {
                [parsed.block_length, parsed.block_until] = reader.numbers()?;
                blocked = parsed.block_length <= MAX_PERIOD;
                blocked.then_some(())?;
            }
            HOLDS => {
                if parsed.log.is_none() {
                    reader.text = value;
                }
                let numbers = reader.numbers()?;
                let buckets = parsed.records.iter().filter(|record| record.name.definition().has_capacity()).count();
                parsed.holds = Holds::read(numbers, &reader.text[reader.position..], buckets)?;
                reader.position = reader.text.len();
            }
            _ => return None,
        }
    }
    let last = parsed.log.map_or(0, |log| log.last);
    for record in &mut parsed.records {
        let Some(logged) = record.logged() else { continue };
        let own_last = (logged.restore)(&mut record.words);
        (record.own_last, record.aside) = (own_last.unwrap_or(last), own_last.is_some());
    }
    let in_log = |record: &Record| {
        let Some(logged) = record.logged() else { return true };
        parsed.log.is_some_and(|log| (logged.fits)(&record.words, &log))
    };
    let sound = !with_log || parsed.records.iter().all(in_log);
    sound.then_some(parsed)
}
