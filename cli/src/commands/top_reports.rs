//! What `top` sees in reports: how often each limiter decides what, and who is denied most.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use quotalock::reports::{DeniedKey, Outcome, Report};
use serde_json::{Value, json};

use crate::numbers;
use crate::output::table;
use crate::printable::shown;
use crate::reported::Reader;
use crate::server::{Refusal, Servers};
use crate::words::{count, millis, span, text};

const SECOND: u64 = 1_000_000;
/// What all limiters are called that had no room in a report.
const OTHERS: &str = "(others)";

/// What processes reported in a last stretch of time.
pub struct Live {
    reader: Option<Reader>,
    prefix: String,
    /// The one limiter that is looked at.
    only: Option<String>,
    /// For how long reports count, in microseconds.
    window: u64,
    /// Those that count, the oldest first.
    reports: VecDeque<Report>,
    /// The server's clock.
    now: u64,
}

/// A limiter, a scope and a key.
type NamedKey<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

/// What is known of a denied key: how often for certain, how much more often perhaps, and the last report of it.
struct DenialCount<'a> {
    count: u64,
    over: u64,
    last: &'a DeniedKey,
}

/// What all those reports say.
struct Summary<'a> {
    hosts: usize,
    processes: usize,
    /// How long they cover, in microseconds.
    covers: u64,
    lost: u64,
    /// By name: how often, in the order of [`Outcome::ALL`].
    limiters: Vec<(&'a [u8], [u64; 4])>,
    denied: Vec<(NamedKey<'a>, DenialCount<'a>)>,
}

impl Live {
    /// Of a prefix, and of one limiter or all.
    pub fn new(prefix: &str, only: Option<String>, window: u64) -> Live {
        Live { reader: None, prefix: prefix.to_owned(), only, window, reports: VecDeque::new(), now: 0 }
    }

    /// Reads what has come. False if nobody has reported anything in that time.
    ///
    /// # Errors
    /// If the server that has the reports does not answer, or does not let us read them.
    pub fn look(&mut self, servers: &mut Servers) -> Result<bool, Refusal> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                // By the server's clock, which may be far from ours.
                let Some((_, now)) = Reader::new(&self.prefix, u64::MAX / 2).look(servers)? else { return Ok(false) };
                self.reader.insert(Reader::new(&self.prefix, now.saturating_sub(self.window) / 1_000))
            }
        };
        if let Some((reports, now)) = reader.look(servers)? {
            self.reports.extend(reports);
            self.now = now;
        }
        let from = self.now.saturating_sub(self.window);
        self.reports.retain(|report| report.at >= from);
        Ok(!self.reports.is_empty())
    }

    fn summary(&self) -> Summary<'_> {
        let (mut limiters, mut denied) = (BTreeMap::<&[u8], [u64; 4]>::new(), HashMap::<NamedKey, DenialCount>::new());
        let wanted = |name: &[u8]| self.only.as_ref().is_none_or(|only| only.as_bytes() == name);
        let all = self.reports.iter().flat_map(|report| &report.limiters);
        for limiter in all.filter(|limiter| wanted(&limiter.name)) {
            let counts = limiters.entry(&limiter.name).or_default();
            for (sum, outcome) in counts.iter_mut().zip(Outcome::ALL) {
                *sum = sum.saturating_add(limiter.count(outcome));
            }
            for last in &limiter.denied {
                let known = denied.entry((&limiter.name, last.scope.as_deref(), &last.key));
                let known = known.or_insert(DenialCount { count: 0, over: 0, last });
                known.count = known.count.saturating_add(last.count);
                known.over = known.over.saturating_add(last.over);
                known.last = last;
            }
        }
        let mut denied: Vec<_> = denied.into_iter().collect();
        denied.sort_by(|(name, a), (other, b)| (b.count, b.over, name).cmp(&(a.count, a.over, other)));
        let mut limiters: Vec<_> = limiters.into_iter().collect();
        limiters.sort_by_key(|(_, counts)| std::cmp::Reverse((counts[1], sum(counts))));
        let earliest = self.reports.iter().map(|report| report.at.saturating_sub(report.covers)).min();
        let hosts: BTreeSet<&str> = self.reports.iter().map(|report| &*report.host).collect();
        let processes: BTreeSet<_> = self.reports.iter().map(|report| (&report.host, report.process)).collect();
        Summary {
            hosts: hosts.len(),
            processes: processes.len(),
            covers: self.now.saturating_sub(earliest.unwrap_or(self.now)).clamp(SECOND, self.window.max(SECOND)),
            lost: self.reports.iter().map(|report| report.lost).fold(0, u64::saturating_add),
            limiters,
            denied,
        }
    }

    /// In words; so many keys.
    pub fn text(&self, most: usize) -> String {
        let summary = self.summary();
        let total =
            |place: usize| summary.limiters.iter().map(|(_, counts)| counts[place]).fold(0, u64::saturating_add);
        let rate = |count: u64| summary.rate(count);
        let all = (0..4).map(total).fold(0, u64::saturating_add);
        let processes =
            if summary.processes == 1 { "1 process".into() } else { format!("{} processes", summary.processes) };
        let mut said = format!(
            "{processes} on {} reported in the last {}: {} decisions a second, {} denied\n",
            count(summary.hosts as u64, "host"),
            span(summary.covers),
            rate(all),
            rate(total(1)),
        );
        if summary.lost > 0 {
            said += &format!("! {} could not be sent, and what they say is missing\n", count(summary.lost, "report"));
        }
        let mut rows =
            vec![["LIMITER", "A SECOND", "ALLOWED", "DENIED", "WOULD DENY", "FAILED"].map(String::from).to_vec()];
        for (name, counts) in summary.limiters.iter().take(most) {
            let mut row = vec![named(name), rate(sum(counts))];
            row.extend(counts.iter().map(|count| rate(*count)));
            rows.push(row);
        }
        said += &table(&rows);
        if summary.denied.is_empty() {
            return said;
        }
        let mut rows = vec![["LIMITER", "KEY", "DENIED", "NEXT IN", "WHY"].map(String::from).to_vec()];
        for ((limiter, _, key), denials) in summary.denied.iter().take(most) {
            // Some of what may be too much is certain.
            let times = if denials.over > 0 { "at least " } else { "" };
            rows.push(vec![
                named(limiter),
                shown(key),
                format!("{times}{}", numbers::count(denials.count)),
                denials.last.until.map_or("never".into(), |until| match until.saturating_sub(self.now) {
                    0 => "now".into(),
                    left => span(left),
                }),
                shown(denials.last.why.as_str().as_bytes()),
            ]);
        }
        said += &format!("\n{}", table(&rows));
        match summary.denied.len().saturating_sub(most) {
            0 => said,
            more => said + &format!("and {more} more\n"),
        }
    }

    /// For scripts.
    pub fn json(&self, most: usize) -> Value {
        let summary = self.summary();
        let limiter = |(name, counts): &(&[u8], [u64; 4])| {
            let each = Outcome::ALL.iter().zip(counts);
            let counts: serde_json::Map<String, Value> =
                each.map(|(outcome, count)| (outcome.as_str().to_owned(), (*count).into())).collect();
            json!({ "name": text(name), "decisions": counts })
        };
        let key = |((limiter, scope, key), denials): &(NamedKey, DenialCount)| {
            json!({
                "limiter": text(limiter), "scope": scope.map(text), "key": text(key),
                "denied": denials.count, "denied_more": denials.over, "why": denials.last.why.as_str(),
                "next_in_ms": denials.last.until.map(|until| millis(until.saturating_sub(self.now))),
            })
        };
        let limiters: Vec<Value> = summary.limiters.iter().map(limiter).collect();
        let keys: Vec<Value> = summary.denied.iter().take(most).map(key).collect();
        json!({
            "from": "reports", "hosts": summary.hosts, "processes": summary.processes,
            "covers_ms": millis(summary.covers), "lost": summary.lost, "limiters": limiters,
            "denied_keys": summary.denied.len(), "keys": keys,
        })
    }
}

/// How often anything was decided.
fn sum(counts: &[u64; 4]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}

impl Summary<'_> {
    /// So many, a second.
    fn rate(&self, count: u64) -> String {
        let tenths = (10.0 * count as f64 * SECOND as f64 / self.covers as f64).round() as u64;
        match tenths {
            0..100 if !tenths.is_multiple_of(10) => format!("{}.{}", tenths / 10, tenths % 10),
            _ => numbers::count(tenths / 10),
        }
    }
}

/// A limiter's name for a terminal.
fn named(name: &[u8]) -> String {
    if name.is_empty() { OTHERS.into() } else { shown(name) }
}
