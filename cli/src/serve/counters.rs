//! What processes of this host count in the metrics file that they and we name.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use quotalock::metrics::{self, SampleValue, Snapshot};

use super::api::CacheRow;
use super::seen::named;
use crate::exit::Failure;

/// A rate is that of so long.
const RATE: Duration = Duration::from_secs(5);
/// What counts the gets of caches.
const GETS: &str = "quotalock_cache_gets_total";

/// Gets by cache and result.
type Gets = BTreeMap<(String, String), u64>;

/// What was counted in the last seconds.
#[derive(Default)]
pub struct Counters {
    is_on: bool,
    looks: VecDeque<(Instant, Gets)>,
}

/// Counts in this file from now on, with all who name it. Before the first client, which would make a table of its own.
///
/// # Errors
/// For a file that cannot be used.
pub fn join(file: &Path) -> Result<(), Failure> {
    Ok(metrics::prepare(Some(file))?)
}

impl Counters {
    /// Of a file, if there is one.
    pub fn new(is_on: bool) -> Counters {
        Counters { is_on, looks: VecDeque::new() }
    }

    /// Tells caches what is asked of them, those without an entry on a server too; and all that is counted, as Prometheus
    /// reads it.
    pub fn look(&mut self, caches: &mut BTreeMap<String, CacheRow>) -> String {
        if !self.is_on {
            return String::new();
        }
        self.take(gets(&metrics::snapshot()), Instant::now());
        self.tell(caches);
        metrics::prometheus()
    }

    fn take(&mut self, gets: Gets, now: Instant) {
        self.looks.push_back((now, gets));
        while self.looks.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= RATE) {
            self.looks.pop_front();
        }
    }

    fn tell(&self, caches: &mut BTreeMap<String, CacheRow>) {
        let (Some((first, before)), Some((last, now))) = (self.looks.front(), self.looks.back()) else { return };
        let seconds = last.duration_since(*first).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        for ((cache, result), count) in now {
            let key = (cache.clone(), result.clone());
            let rate = count.saturating_sub(before.get(&key).copied().unwrap_or(0)) as f64 / seconds;
            let rate = (rate * 100.0).round() / 100.0;
            let name = named(caches, cache.clone());
            let row = caches.entry(name.clone()).or_insert_with(|| CacheRow { name, ..CacheRow::default() });
            let known = match result.as_str() {
                "hit" => &mut row.hits_per_s,
                "stale" => &mut row.stale_per_s,
                "loaded" => &mut row.loads_per_s,
                _ => continue,
            };
            *known = Some(known.unwrap_or(0.0) + rate);
        }
    }
}

fn gets(snapshot: &Snapshot) -> Gets {
    let metric = snapshot.metrics.iter().find(|metric| metric.name == GETS);
    let samples = metric.map(|metric| metric.samples.as_slice()).unwrap_or_default();
    let label = |labels: &[(&'static str, String)], name: &str| {
        labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    samples
        .iter()
        .filter_map(|sample| match sample.value {
            SampleValue::Number(count) => {
                Some(((label(&sample.labels, "cache"), label(&sample.labels, "result")), count))
            }
            SampleValue::Histogram(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::Counters;

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let (mut counters, began) = (Counters::new(true), Instant::now());
        let gets = |hits| [(("home".to_owned(), "hit".to_owned()), hits)].into();
        for second in 0..=20_u64 {
            counters.take(gets(second * second), began + Duration::from_secs(second));
        }
        let mut caches = BTreeMap::new();
        counters.tell(&mut caches);
        // From 15 to 20: 400 less 225, in five seconds.
        assert_eq!((caches["home"].hits_per_s, caches["home"].loads_per_s), (Some(35.0), None));
        assert!(counters.looks.len() < 8);
    }
}
