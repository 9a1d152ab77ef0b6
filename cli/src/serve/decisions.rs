//! What limiters decide, as processes report it: the client's option `report`. Without it Redis keeps no record of decisions.

use std::collections::{BTreeMap, HashMap, VecDeque};

use quotalock::reports::{Outcome, Report, ReportedLimiter};
use quotalock::{Client, LimiterOptions, Policy};

use super::api::{HISTORY, LimiterRow, OTHERS};
use super::seen::named;
use crate::doctor::health::now_micros;
use crate::reported::Reader;
use crate::server::{Refusal, Servers};
use crate::words::text;

/// A rate is that of so many whole seconds.
const RATE: u64 = 5;
/// How many denied keys are counted, and how many are looked at before the scan comes by.
const KEYS: usize = 2_000;
const WANTED: usize = 200;

/// A limiter, a scope and a key, as they are shown.
pub type ShownKey = (String, Option<String>, String);

/// What was reported.
pub struct ReportedDecisions {
    reader: Reader,
    /// Whether anything was ever reported.
    pub is_reported: bool,
    limiters: BTreeMap<String, Limiter>,
    /// Denied keys: when, and how often.
    denied: HashMap<ShownKey, VecDeque<(u64, u64)>>,
    /// How often, by limiter, result and source; since the first report that was read.
    pub totals: BTreeMap<(String, &'static str, &'static str), u64>,
    /// Redis keys that were denied just now.
    pub wanted: Vec<Vec<u8>>,
}

/// What a limiter decided in the last seconds. Seconds count from the epoch by this machine's clock.
#[derive(Default)]
struct Limiter {
    /// In the order of [`Outcome::ALL`]. The oldest second first.
    seconds: VecDeque<(u64, [f64; 4])>,
    /// By source.
    sources: VecDeque<(u64, &'static str, f64)>,
}

impl ReportedDecisions {
    /// Of a prefix, from some minutes ago on.
    pub fn new(prefix: &str) -> ReportedDecisions {
        let ago = (now_micros() / 1_000).saturating_sub(HISTORY as u64 * 1_000);
        ReportedDecisions {
            reader: Reader::new(prefix, ago),
            is_reported: false,
            limiters: BTreeMap::new(),
            denied: HashMap::new(),
            totals: BTreeMap::new(),
            wanted: Vec::new(),
        }
    }

    /// Reads what was reported since the last look.
    ///
    /// # Errors
    /// If the server that has the reports does not answer.
    pub fn look(&mut self, servers: &mut Servers, client: &Client) -> Result<(), Refusal> {
        self.wanted.clear();
        let Some((reports, now)) = self.reader.look(servers)? else { return Ok(()) };
        let ahead = now as i64 - now_micros() as i64;
        reports.iter().for_each(|report| self.take(report, ahead, client));
        Ok(())
    }

    fn take(&mut self, report: &Report, ahead: i64, client: &Client) {
        self.is_reported = true;
        let second = report.at.saturating_add_signed(-ahead) / 1_000_000;
        // One that covers more than a second is spread over those.
        let covers = (report.covers.saturating_add(500_000) / 1_000_000).clamp(1, HISTORY as u64);
        for reported in &report.limiters {
            let name = if reported.name.is_empty() { OTHERS.to_owned() } else { text(&reported.name) };
            let name = named(&self.limiters, name);
            let limiter = self.limiters.entry(name.clone()).or_default();
            for decided in &reported.decisions {
                let source = decided.source.as_str();
                limiter.add(second, covers, decided.result, source, decided.count as f64);
                let total = self.totals.entry((name.clone(), decided.result.as_str(), source)).or_default();
                *total = total.saturating_add(decided.count);
            }
            self.denied(reported, second, client);
        }
    }

    fn denied(&mut self, reported: &ReportedLimiter, second: u64, client: &Client) {
        for denied in &reported.denied {
            let key = (text(&reported.name), denied.scope.as_deref().map(text), text(&denied.key));
            if self.denied.len() < KEYS || self.denied.contains_key(&key) {
                self.denied.entry(key).or_default().push_back((second, denied.count));
            }
            let options = LimiterOptions { scope: denied.scope.clone(), ..LimiterOptions::default() };
            let limiter = std::str::from_utf8(&reported.name).ok().zip(Policy::parse("1/ms").ok());
            // A name that no limiter has is in no key.
            let limiter = limiter.and_then(|(name, any)| client.limiter_with(name, any, options).ok());
            if let Some(key) = limiter.and_then(|limiter| limiter.redis_key(&denied.key).ok())
                && self.wanted.len() < WANTED
            {
                self.wanted.push(key);
            }
        }
    }

    /// What each limiter decides, whose keys were counted too.
    pub fn rows(&self, counted: &BTreeMap<String, u64>, now_ms: u64) -> Vec<LimiterRow> {
        let now = now_ms / 1_000;
        let mut rows: BTreeMap<&String, LimiterRow> =
            self.limiters.iter().map(|(name, limiter)| (name, limiter.row(name, now))).collect();
        for (name, keys) in counted {
            let row = rows.entry(name).or_insert_with(|| LimiterRow { name: name.clone(), ..LimiterRow::default() });
            row.keys = Some(*keys);
        }
        rows.into_values().collect()
    }

    /// How often a key is denied a second, if processes report.
    pub fn rate_of(&self, key: &ShownKey, now_ms: u64) -> Option<f64> {
        let now = now_ms / 1_000;
        let seconds = self.denied.get(key).filter(|_| self.is_reported);
        let counted =
            seconds.map(|seconds| recent(seconds.iter().map(|(second, count)| (*second, *count as f64)), now));
        self.is_reported.then(|| counted.unwrap_or(0.0))
    }

    /// Forgets what is long ago.
    pub fn forget(&mut self, now_ms: u64) {
        let now = now_ms / 1_000;
        for limiter in self.limiters.values_mut() {
            while limiter.seconds.front().is_some_and(|(second, _)| second + HISTORY as u64 <= now) {
                limiter.seconds.pop_front();
            }
            limiter.sources.retain(|(second, ..)| second + 2 * RATE > now);
        }
        self.denied.retain(|_, seconds| {
            seconds.retain(|(second, _)| second + 2 * RATE > now);
            !seconds.is_empty()
        });
    }
}

impl Limiter {
    fn add(&mut self, second: u64, covers: u64, result: Outcome, source: &'static str, count: f64) {
        let Some(place) = Outcome::ALL.iter().position(|known| *known == result) else { return };
        let each = count / covers as f64;
        for second in second.saturating_sub(covers - 1)..=second {
            let at = self.seconds.partition_point(|(known, _)| *known < second);
            if self.seconds.get(at).is_none_or(|(known, _)| *known != second) {
                self.seconds.insert(at, (second, [0.0; 4]));
            }
            self.seconds[at].1[place] += each;
            self.sources.push_back((second, source, each));
        }
    }

    fn row(&self, name: &str, now: u64) -> LimiterRow {
        let rate =
            |place: usize| Some(recent(self.seconds.iter().map(|(second, counts)| (*second, counts[place])), now));
        let mut by_source: BTreeMap<String, f64> = BTreeMap::new();
        for source in self.sources.iter().map(|(_, source, _)| *source) {
            if !by_source.contains_key(source) {
                let of = self.sources.iter().filter(|(_, other, _)| *other == source);
                by_source.insert(source.to_owned(), recent(of.map(|(second, _, count)| (*second, *count)), now));
            }
        }
        by_source.retain(|_, rate| *rate > 0.0);
        // The second that goes on is not told yet: its reports are still to come.
        let whole = self.seconds.iter().filter(|(second, _)| *second < now);
        // Who would be denied is admitted.
        let history = whole.map(|(second, [allowed, denied, would, _])| (second * 1_000, allowed + would, *denied));
        LimiterRow {
            name: name.to_owned(),
            allowed_per_s: rate(0),
            denied_per_s: rate(1),
            would_deny_per_s: rate(2),
            error_per_s: rate(3),
            by_source,
            history: history.collect(),
            keys: None,
        }
    }
}

/// How many a second in the last whole seconds.
fn recent(seconds: impl Iterator<Item = (u64, f64)>, now: u64) -> f64 {
    let is_recent = |second: u64| second < now && second + RATE >= now;
    // Not `sum`, whose nothing is minus zero.
    let sum = seconds.filter(|(second, _)| is_recent(*second)).fold(0.0, |sum, (_, count)| sum + count);
    (100.0 * sum / RATE as f64).round() / 100.0
}

#[cfg(test)]
mod tests {
    use quotalock::reports::Report;
    use quotalock::{Client, Options};

    use super::{HISTORY, ReportedDecisions};

    const NOW: u64 = 1_700_000_000;

    fn report(second: u64, covers_ms: &str, decisions: &str) -> Report {
        let fields = [
            ("v", "1"),
            ("host", "web"),
            ("pid", "7"),
            ("ms", covers_ms),
            ("limiter", "login"),
            ("decisions", decisions),
            ("key", "ip:1"),
            ("denied", "9 0 1500 5/minute"),
        ];
        Report::read(format!("{}-0", second * 1_000).as_bytes(), &fields).unwrap()
    }

    fn client() -> Client {
        Client::new(Options { url: Some("memory://decisions".into()), ..Options::default() }).unwrap()
    }

    #[test]
    fn rates_are_those_of_the_last_whole_seconds() {
        let (mut decisions, client) = (ReportedDecisions::new("ql"), client());
        for second in NOW - 10..=NOW {
            decisions.take(&report(second, "1000", "allowed redis 20, denied deny-cache 10"), 0, &client);
        }
        let row = &decisions.rows(&[("other".into(), 3)].into(), NOW * 1_000)[0];
        assert_eq!((row.name.as_str(), row.allowed_per_s, row.denied_per_s), ("login", Some(20.0), Some(10.0)));
        assert_eq!((row.by_source["redis"], row.by_source["deny-cache"]), (20.0, 10.0));
        assert_eq!(row.history.last(), Some(&((NOW - 1) * 1_000, 20.0, 10.0)));
        let other = &decisions.rows(&[("other".into(), 3)].into(), NOW * 1_000)[1];
        assert_eq!((other.keys, other.allowed_per_s), (Some(3), None));
        assert_eq!(decisions.rate_of(&("login".into(), None, "ip:1".into()), NOW * 1_000), Some(9.0));
        assert_eq!(decisions.totals[&("login".into(), "denied", "deny-cache")], 110);
        assert_eq!(decisions.wanted[0], b"ql:limit:login:{ip:1}");
    }

    #[test]
    fn a_report_of_several_seconds_is_spread_and_one_of_long_ago_forgotten() {
        let (mut decisions, client) = (ReportedDecisions::new("ql"), client());
        decisions.take(&report(NOW, "4000", "allowed redis 8"), 0, &client);
        let row = &decisions.rows(&[].into(), (NOW + 1) * 1_000)[0];
        assert_eq!(row.history.iter().map(|point| point.1).collect::<Vec<_>>(), [2.0; 4]);
        assert_eq!(row.allowed_per_s, Some(1.6));
        let of_nothing = decisions.rows(&[].into(), (NOW + 60) * 1_000)[0].allowed_per_s;
        assert!(of_nothing.is_some_and(|rate| rate == 0.0 && rate.is_sign_positive()), "{of_nothing:?}");
        decisions.forget((NOW + HISTORY as u64) * 1_000);
        assert_eq!(decisions.rows(&[].into(), (NOW + HISTORY as u64) * 1_000)[0].history, []);
    }

    #[test]
    fn the_clock_of_the_server_is_not_ours() {
        let (mut decisions, client) = (ReportedDecisions::new("ql"), client());
        decisions.take(&report(NOW + 3_600, "1000", "denied redis 5"), 3_600_000_000, &client);
        assert_eq!(decisions.rows(&[].into(), (NOW + 1) * 1_000)[0].denied_per_s, Some(1.0));
    }
}
