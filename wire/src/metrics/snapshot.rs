//! What was counted, at one moment.

use std::collections::BTreeMap;

use super::breakers::{OPENED, Trouble, is_open};
use super::counted::{self, AcquisitionResult, Feature, LoadKind, LoadResult, OF_CALLS, OF_LOCKS, TAKE_RESULTS};
use super::stripes::{self, Bounds, sums};
use super::table::{self, CounterTable, FIXED, LIMITER, LIMITERS, Region, SERVERS, SMALL, STOCKS};
use crate::base::outcome::Outcome;
use crate::base::source::Source;

/// What was counted by this process and those that count with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// One for each thing that is counted, in a fixed order; none where counting is off.
    pub metrics: Vec<Metric>,
}

/// One thing that is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// As Prometheus is to call it: `quotalock_decisions_total`.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub help: &'static str,
    /// How its numbers behave.
    pub kind: MetricKind,
    /// By their labels. Of names with which nothing happened yet there are none.
    pub samples: Vec<Sample>,
}

/// How numbers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// They only grow.
    Counter,
    /// They come and go.
    Gauge,
    /// How often something took how long.
    Histogram,
}

impl MetricKind {
    /// As Prometheus calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// A number, or a histogram, with the labels that say of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values, in a fixed order.
    pub labels: Vec<(&'static str, String)>,
    /// What was counted.
    pub value: SampleValue,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleValue {
    /// Of a counter or a gauge.
    Number(u64),
    /// How often something took how long.
    Histogram(Histogram),
}

/// How often something took how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// A bound in seconds, and how many took no longer; the last bound is infinite, so it has them all.
    pub buckets: Vec<(f64, u64)>,
    /// How long all of them took together, in seconds.
    pub sum: f64,
}

impl Histogram {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.last().map_or(0, |(_, count)| *count)
    }
}

impl Snapshot {
    /// The number of this name with exactly these labels; 0 if there is none.
    pub fn number(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let has = |sample: &&Sample| {
            sample.labels.len() == labels.len()
                && labels.iter().all(|(name, value)| sample.labels.iter().any(|(n, v)| n == name && v == value))
        };
        let mut samples = self.metrics.iter().filter(|metric| metric.name == name).flat_map(|metric| &metric.samples);
        match samples.find(has).map(|sample| &sample.value) {
            Some(SampleValue::Number(number)) => *number,
            _ => 0,
        }
    }
}

/// What was counted until now, by this process and those that [count with it](super::prepare).
pub fn snapshot() -> Snapshot {
    table::table().map(of).unwrap_or_default()
}

/// What was counted in a table.
pub(super) fn of(table: CounterTable) -> Snapshot {
    let fixed = sums(table.fixed());
    let counter = |name, help, samples| Metric { name, help, kind: MetricKind::Counter, samples };
    let histogram = |name, help, samples| Metric { name, help, kind: MetricKind::Histogram, samples };
    let [open, opened] = breakers(table);
    Snapshot {
        metrics: vec![
            counter("quotalock_decisions_total", "Decisions of limiters.", decisions(table)),
            histogram(
                "quotalock_call_duration_seconds",
                "How long calls to Redis took, retries included.",
                calls(&fixed),
            ),
            Metric {
                name: "quotalock_breaker_open",
                help: "Whether calls to a server are answered without it, since it did not work a moment ago.",
                kind: MetricKind::Gauge,
                samples: open,
            },
            counter("quotalock_breaker_opened_total", "How often that began.", opened),
            counter("quotalock_lock_acquisitions_total", "Acquisitions of locks that ended.", acquisitions(&fixed)),
            histogram(
                "quotalock_lock_wait_seconds",
                "How long it took until a lock was acquired or refused.",
                vec![of_locks(&fixed, counted::WAITS)],
            ),
            histogram(
                "quotalock_lock_hold_seconds",
                "How long locks were held that were released or lost.",
                vec![of_locks(&fixed, counted::HOLDS)],
            ),
            counter("quotalock_locks_lost_total", "Locks that were lost.", vec![plain(fixed[counted::LOST])]),
            counter(
                "quotalock_lock_releases_total",
                "Locks that were released.",
                vec![plain(fixed[counted::RELEASED])],
            ),
            counter("quotalock_stock_takes_total", "Takes from stocks.", takes(table)),
            counter("quotalock_cache_gets_total", "Values that were asked of caches.", loads(table, LoadKind::Cache)),
            counter("quotalock_once_total", "Claims and runs of what is done once.", loads(table, LoadKind::Once)),
            counter(
                "quotalock_healed_total",
                "Stored values that were not ours and were replaced.",
                healed(table, &fixed),
            ),
        ],
    }
}

fn sample(labels: &[(&'static str, &str)], number: u64) -> Sample {
    let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Sample { labels, value: SampleValue::Number(number) }
}

fn plain(number: u64) -> Sample {
    sample(&[], number)
}

/// The sums of each name. Names that look alike are one: none may be there twice.
fn named<const W: usize>(table: CounterTable, region: &Region) -> BTreeMap<String, [u64; W]> {
    let mut all: BTreeMap<String, [u64; W]> = BTreeMap::new();
    for (name, stripes) in table.all::<W>(region) {
        let sum = all.entry(name).or_insert([0; W]);
        sum.iter_mut().zip(sums(stripes)).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
    all
}

fn decisions(table: CounterTable) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (name, sums) in named::<LIMITER>(table, &LIMITERS) {
        for (outcome, source) in
            Outcome::ALL.into_iter().flat_map(|outcome| Source::ALL.map(|source| (outcome, source)))
        {
            let labels = [("limiter", &*name), ("result", outcome.as_str()), ("source", source.as_str())];
            samples.push(sample(&labels, sums[counted::counter_index(outcome, source)]));
        }
    }
    without_zeros(samples)
}

fn takes(table: CounterTable) -> Vec<Sample> {
    let of = |(name, sums): (String, [u64; SMALL])| {
        TAKE_RESULTS
            .into_iter()
            .zip(sums)
            .map(move |(outcome, count)| sample(&[("stock", &name), ("outcome", outcome)], count))
    };
    without_zeros(named(table, &STOCKS).into_iter().flat_map(of).collect())
}

fn loads(table: CounterTable, kind: LoadKind) -> Vec<Sample> {
    let of = |(name, sums): (String, [u64; SMALL])| {
        LoadResult::ALL
            .map(|result| sample(&[(kind.as_str(), &name), ("result", kind.label(result))], sums[result as usize]))
    };
    without_zeros(named(table, kind.region()).into_iter().flat_map(of).collect())
}

/// Each name has many combinations, most of which never happen.
fn without_zeros(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.retain(|sample| sample.value != SampleValue::Number(0));
    samples
}

fn breakers(table: CounterTable) -> [Vec<Sample>; 2] {
    let mut servers: BTreeMap<(String, &'static str), (u64, u64)> = BTreeMap::new();
    for (server, stripes) in table.all::<SMALL>(&SERVERS) {
        let counted = sums(stripes);
        for trouble in Trouble::ALL {
            let (open, opened) = servers.entry((server.clone(), trouble.as_str())).or_default();
            *open |= u64::from(is_open(stripes, trouble));
            *opened += counted[OPENED + trouble as usize];
        }
    }
    // Nobody is called so if all have places of their own.
    servers.retain(|(server, _), (open, opened)| server != table::OTHER || *open + *opened > 0);
    let of = |pick: fn(&(u64, u64)) -> u64| {
        let sample = |((server, trouble), counts): (&(String, &'static str), &(u64, u64))| {
            sample(&[("server", server), ("trouble", trouble)], pick(counts))
        };
        servers.iter().map(sample).collect()
    };
    [of(|(open, _)| *open), of(|(_, opened)| *opened)]
}

fn acquisitions(fixed: &[u64; FIXED]) -> Vec<Sample> {
    let of = |result: AcquisitionResult| {
        sample(&[("result", result.as_str())], fixed[counted::ACQUISITIONS + result as usize])
    };
    AcquisitionResult::ALL.map(of).into()
}

fn healed(table: CounterTable, fixed: &[u64; FIXED]) -> Vec<Sample> {
    let limiters = named::<LIMITER>(table, &LIMITERS).values().map(|sums| sums[counted::HEALED_DECISIONS]).sum();
    vec![sample(&[("kind", "limiter")], limiters), sample(&[("kind", "lock")], fixed[counted::HEALED_LOCKS])]
}

fn calls(fixed: &[u64; FIXED]) -> Vec<Sample> {
    let of = |feature: Feature| Sample {
        labels: vec![("kind", feature.as_str().to_owned())],
        value: SampleValue::Histogram(seconds(fixed, feature.start(), &OF_CALLS)),
    };
    Feature::ALL.map(of).into()
}

fn of_locks(fixed: &[u64; FIXED], start: usize) -> Sample {
    Sample { labels: Vec::new(), value: SampleValue::Histogram(seconds(fixed, start, &OF_LOCKS)) }
}

/// A histogram as Prometheus has it: each bucket counts what the ones before it count too.
fn seconds(fixed: &[u64; FIXED], start: usize, bounds: &Bounds) -> Histogram {
    let (counts, sum) = stripes::read(&fixed[start..], bounds);
    let ends = bounds.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
    let mut so_far = 0;
    let cumulative = |(end, count): (f64, u64)| {
        so_far += count;
        (end, so_far)
    };
    Histogram { buckets: ends.zip(counts).map(cumulative).collect(), sum: sum as f64 / 1e6 }
}
