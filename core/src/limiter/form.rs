//! The form of a stored state: its records, and which rule each belongs to. Twin of `scripts/limit/place.lua`.

use super::holds::Holds;
use crate::algorithm::log::{ENTRY, LOG_MOST, Log, WRAP};
use crate::algorithm::{Algorithm, Words};
use crate::policy::{Policy, Rule};

pub(super) const MAGIC: &[u8] = b"QL\x01";
pub(super) const BLOCK: u8 = 0;
pub(super) const LOG: u8 = 250;
pub(super) const HOLDS: u8 = 251;
/// The size of a log's record: id, next, sum, last, room, where the value ends.
pub(super) const LOG_SIZE: u64 = 41;

const EXACT: u64 = 1 << 53;
/// What a script reads of a state that may have a log.
const PREFIX: usize = 1024;
/// How many records of other policies are kept.
const MOST_OTHERS: usize = 10;

/// What is kept for one rule.
pub(super) struct Record {
    id: u8,
    period: u64,
    words: Words,
}

impl Record {
    /// When it has nothing to say any more; a log's cannot be kept without its rule.
    fn stop(&self) -> u64 {
        match self.id {
            1 => self.words[1],
            2 => self.words[1] + self.period,
            3 => self.words[0] + 2 * self.period,
            4 => self.words[0],
            _ => 0,
        }
    }

    fn has_log(&self) -> bool {
        Algorithm::by_id(self.id).is_some_and(|algorithm| algorithm.definition().has_log)
    }

    fn fits(&self, rule: &Rule, same_period: bool) -> bool {
        let own = rule.algorithm().definition().id == self.id;
        own && (rule.reduced().1 == self.period || !same_period)
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

pub(super) fn put(value: &mut Vec<u8>, id: u8, numbers: &[u64]) {
    value.push(id);
    put_numbers(value, numbers);
}

pub(super) fn put_numbers(value: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
}

pub(super) fn put_log(value: &mut Vec<u8>, log: &Log, behind: usize) {
    put(value, LOG, &[log.next, log.sum, log.last, log.room, log.base + ENTRY * log.room + behind as u64]);
}

/// What a rule begins with.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub words: Words,
    /// The period with which they were kept.
    pub kept: u64,
    /// Which record they are from.
    pub source: Option<usize>,
}

/// Gives each record to its rule: by place, else to the first rule of the same algorithm and period, else of the same
/// algorithm. Records of no rule (the policy lost it) are dropped. A rule with a log takes none of another period: it
/// begins with what the one with the longest memory counts, else at the log's end.
pub(super) fn place(policy: &Policy, records: &[Record], log_end: u64) -> Vec<Placed> {
    let rules = policy.rules();
    let of = |i: usize| Placed { words: records[i].words, kept: records[i].period, source: Some(i) };
    let mut placed: Vec<Option<Placed>> = vec![None; rules.len()];
    let longest = (0..records.len()).filter(|i| records[*i].has_log()).min_by_key(|i| records[*i].words[0]);
    let mut spare = Vec::new();
    for (i, record) in records.iter().enumerate() {
        match rules.get(i) {
            Some(rule) if record.fits(rule, true) => placed[i] = Some(of(i)),
            _ => spare.push(i),
        }
    }
    for same_period in [true, false] {
        for (rule, place) in rules.iter().zip(&mut placed).filter(|(_, place)| place.is_none()) {
            let has_log = rule.algorithm().definition().has_log;
            let found = spare.iter().position(|i| records[*i].fits(rule, same_period || has_log));
            *place = match (found, longest) {
                (Some(at), _) => Some(of(spare.remove(at))),
                (None, Some(longest)) if has_log && !same_period => Some(Placed { kept: rule.period(), ..of(longest) }),
                (None, None) if has_log && !same_period => {
                    Some(Placed { words: [log_end, 0, 0, 0], kept: rule.period(), source: None })
                }
                _ => None,
            };
        }
    }
    let fresh = |rule: &Rule| Placed { words: Words::default(), kept: rule.reduced().1, source: None };
    rules.iter().zip(placed).map(|(rule, place)| place.unwrap_or_else(|| fresh(rule))).collect()
}

/// The records of rules that another policy of this name has, as there are while a new one is deployed: kept for it until
/// they end. Returns them as stored, and when the last one ends.
pub(super) fn others(policy: &Policy, placed: &[Placed], records: &[Record], now: u64) -> (Vec<u8>, u64) {
    let own = |i: usize| {
        let mut rules = policy.rules().iter().zip(placed);
        rules.any(|(rule, place)| place.source == Some(i) && records[i].fits(rule, true))
    };
    let kept = (0..records.len()).filter(|i| !own(*i)).map(|i| &records[i]).filter(|record| record.stop() > now);
    let (mut bytes, mut until) = (Vec::new(), 0);
    for record in kept.take(MOST_OTHERS) {
        let count = Algorithm::by_id(record.id).map_or(0, |algorithm| algorithm.definition().words.len());
        put(&mut bytes, record.id, &[record.period]);
        put_numbers(&mut bytes, &record.words[..count]);
        until = until.max(record.stop());
    }
    (bytes, until)
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

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            let (bytes, _) = self.text.get(self.position..)?.split_first_chunk::<8>()?;
            *number = Some(u64::from_le_bytes(*bytes)).filter(|n| *n < EXACT)?;
            self.position += 8;
        }
        Some(numbers)
    }

    /// Goes on behind the log.
    fn log(&mut self) -> Option<Log> {
        let [next, sum, last, room, stop] = self.numbers()?;
        let base = self.position as u64;
        let after = base + ENTRY * room;
        if sum >= WRAP || after > stop || self.text.len() != PREFIX && stop > self.text.len() as u64 {
            return None;
        }
        self.text = if stop > after { self.whole.get(after as usize..stop as usize)? } else { &[] };
        self.position = 0;
        Some(Log { next, sum, last, room, base, ..Log::default() })
    }
}

/// The parts of a value, or none if the value is not ours.
pub(super) fn parse(value: &[u8], with_log: bool) -> Option<Parsed> {
    value.strip_prefix(MAGIC)?;
    let text = if with_log { &value[..value.len().min(PREFIX)] } else { value };
    let mut reader = Reader { whole: value, text, position: MAGIC.len() };
    let (mut parsed, mut blocked) = (Parsed::default(), false);
    while let Some(id) = reader.byte() {
        match id {
            LOG if parsed.log.is_none() && !blocked => parsed.log = Some(reader.log()?),
            BLOCK if !blocked => {
                [parsed.block_length, parsed.block_until] = reader.numbers()?;
                blocked = true;
            }
            HOLDS => {
                if with_log && parsed.log.is_none() {
                    reader.text = value;
                }
                let numbers = reader.numbers()?;
                parsed.holds = Holds::read(numbers, &reader.text[reader.position..])?;
                reader.position = reader.text.len();
            }
            _ if parsed.log.is_none() && !blocked => {
                let (definition, [period]) = (Algorithm::by_id(id)?.definition(), reader.numbers()?);
                let mut words = Words::default();
                for word in &mut words[..definition.words.len()] {
                    [*word] = reader.numbers()?;
                }
                parsed.records.push(Record { id, period, words });
            }
            _ => return None,
        }
    }
    let in_log = |record: &Record| {
        let [first, used, _, total] = record.words;
        let inside = |log: Log| first <= log.next && log.next - first <= log.room;
        parsed.log.is_some_and(inside) && used <= LOG_MOST && total < WRAP
    };
    let sound = !with_log || parsed.records.iter().filter(|record| record.has_log()).all(in_log);
    sound.then_some(parsed)
}
