//! The worst cases of policies, by the bounds that the guide of algorithms proves.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use anstyle::Style;
use quotalock::{Client, Error, Options, Policy, Rule, testing};
use serde::Serialize;

use crate::numbers::{count, counted};
use crate::words::span;

const TITLE: Style = Style::new().bold();
/// An entry of a log, in bytes.
const ENTRY: u64 = 12;

/// A policy in words. Durations are seconds.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// Its canonical form.
    pub policy: String,
    /// Each rule.
    pub rules: Vec<RuleExplained>,
    /// How many bytes the value of a key takes.
    pub value_bytes: u64,
    /// How many more it takes at most for the admissions that its logs count.
    pub log_bytes: u64,
    /// The rules, by their places from 0 on, that limit who calls without a pause.
    pub binds_in_the_long_run: Vec<usize>,
}

/// A rule in words.
#[derive(Debug, Serialize)]
pub struct RuleExplained {
    /// Its canonical form.
    pub rule: String,
    /// How it counts.
    pub algorithm: &'static str,
    /// How much it admits in a period.
    pub limit: u64,
    /// The period.
    pub period: f64,
    /// The most that one call may cost.
    pub capacity: u64,
    /// What it does.
    pub words: String,
    /// The most that it admits in any stretch of a period.
    pub most_in_a_period: u64,
    /// The same, with what the other rules say.
    pub most_with_the_others: u64,
    /// The most that it admits within a moment, also around an edge.
    pub most_in_a_moment: u64,
    /// The same, with what the other rules say: no moment has more than the strictest rule admits.
    pub most_in_a_moment_with_the_others: u64,
    /// How much it admits of constant pressure in a period.
    pub long_run: f64,
    /// The longest `retry_after` of a call of cost 1.
    pub longest_wait: f64,
    /// The place of a rule beside which it never denies anything.
    pub never_binds_beside: Option<usize>,
    #[serde(skip)]
    times: (u64, u64),
    #[serde(skip)]
    has_edges: bool,
}

impl Explained {
    /// Explains.
    ///
    /// # Errors
    /// Of the core; none is known.
    pub fn of(policy: &Policy) -> Result<Explained, Error> {
        let rules = policy.rules();
        let explained: Vec<RuleExplained> = (0..rules.len()).map(|at| RuleExplained::of(rules, at)).collect();
        // By products: the smaller of two rates. What can never bind does not.
        let rate = |at: usize| (rules[at].long_run(), u128::from(rules[at].period()));
        let is_less = |a: usize, b: usize| {
            let (((above, below), period), ((other, under), other_period)) = (rate(a), rate(b));
            above * under * other_period < other * below * period
        };
        let binds = |at: &usize| (0..rules.len()).all(|other| !is_less(other, *at));
        let (value_bytes, log_bytes) = sizes(policy)?;
        Ok(Explained {
            policy: policy.to_string(),
            binds_in_the_long_run: (0..rules.len())
                .filter(|at| explained[*at].never_binds_beside.is_none())
                .filter(binds)
                .collect(),
            rules: explained,
            value_bytes,
            log_bytes,
        })
    }
}

/// The bytes of a new key's value, and those of full logs at most.
fn sizes(policy: &Policy) -> Result<(u64, u64), Error> {
    // Each call has a memory of its own.
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let url = format!("memory://explain-{}", CALLS.fetch_add(1, Ordering::Relaxed));
    let client = Client::new(Options { url: Some(url), ..Options::default() })?;
    // Of a period of milliseconds it would be gone before it is looked at; in a time of one's own it stays.
    testing::advance(&client, 1)?;
    let limiter = client.limiter("explain", policy.clone())?;
    limiter.consume(b"k", 1)?.run()?;
    let stored = testing::get(&client, &limiter.redis_key(b"k")?).run()?;
    let whole = stored.map_or(0, |stored| stored.value.len() as u64);
    let logs = policy.rules().iter().filter(|rule| rule.algorithm().has_log()).map(Rule::limit).max();
    // A new log has room for 9 entries; one of n has room for n and a half as many more, and 16.
    Ok(match logs {
        None => (whole, 0),
        Some(entries) => (whole.saturating_sub(9 * ENTRY), ENTRY * (entries + entries / 2 + 16)),
    })
}

impl RuleExplained {
    fn of(rules: &[Rule], at: usize) -> RuleExplained {
        let rule = &rules[at];
        let narrow = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        let others = rules.iter().map(|other| other.most_within(rule.period())).min().unwrap_or(0);
        let (above, below) = rule.long_run();
        // Of two that admit the same, the later one is of no use.
        let is_tighter = |other: &usize| {
            let (first, rule) = (&rules[*other], rule);
            *other != at && rule.admits_all_of(first) && (*other < at || !first.admits_all_of(rule))
        };
        RuleExplained {
            rule: rule.to_string(),
            algorithm: rule.algorithm().name(),
            limit: rule.limit(),
            period: rule.period() as f64 / 1e6,
            capacity: rule.capacity(),
            words: words(rule),
            most_in_a_period: narrow(rule.most_within(rule.period())),
            most_with_the_others: narrow(others),
            most_in_a_moment: rule.most_in_a_moment(),
            most_in_a_moment_with_the_others: rules.iter().map(Rule::most_in_a_moment).min().unwrap_or(0),
            long_run: above as f64 / below as f64,
            longest_wait: rule.longest_wait() as f64 / 1e6,
            never_binds_beside: (0..rules.len()).find(is_tighter),
            times: (rule.period(), rule.longest_wait()),
            has_edges: rule.has_edges(),
        }
    }
}

fn words(rule: &Rule) -> String {
    let numbers = [
        ("{limit}", count(rule.limit())),
        ("{period}", span(rule.period())),
        ("{tokens}", counted(rule.capacity(), "token")),
        ("{step}", span(rule.period().div_ceil(rule.limit()))),
    ];
    numbers.iter().fold(rule.words().to_owned(), |text, (name, number)| text.replace(name, number))
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}{}{TITLE:#}", self.policy)?;
        if self.rules.len() > 1 {
            writeln!(
                f,
                "A call is admitted if all {} rules admit it; otherwise it is charged to none.",
                self.rules.len()
            )?;
        }
        for rule in &self.rules {
            rule.write(f, self)?;
        }
        writeln!(f)?;
        if let [binds, more @ ..] = &self.binds_in_the_long_run[..]
            && self.rules.len() > 1
        {
            let mut names = self.rules[*binds].rule.clone();
            more.iter().for_each(|at| names.push_str(&format!(" and {}", self.rules[*at].rule)));
            writeln!(f, "Who calls without a pause is limited by {names}.")?;
        }
        write!(f, "A key's value takes {} in Redis", counted(self.value_bytes, "byte"))?;
        match self.log_bytes {
            0 => writeln!(f, ", and about as much again for the key itself."),
            most => writeln!(f, ", and up to {} more while its log is full.", count(most)),
        }
    }
}

impl RuleExplained {
    fn write(&self, f: &mut fmt::Formatter<'_>, all: &Explained) -> fmt::Result {
        let (period, wait) = self.times;
        let span_of_period = span(period);
        writeln!(f, "\n{TITLE}{}{TITLE:#}\n  {}", self.rule, self.words)?;
        write!(f, "  Most in any {span_of_period}: {}", count(self.most_in_a_period))?;
        match self.most_with_the_others < self.most_in_a_period {
            true => writeln!(f, "; with the other rules {}.", count(self.most_with_the_others))?,
            false => writeln!(f, ".")?,
        }
        let edge = if self.has_edges { ", around the edge of two windows" } else { "" };
        write!(f, "  Most in a moment: {}{edge}", count(self.most_in_a_moment))?;
        match self.most_in_a_moment_with_the_others < self.most_in_a_moment {
            true => writeln!(f, "; with the other rules {}.", count(self.most_in_a_moment_with_the_others))?,
            false => writeln!(f, ".")?,
        }
        writeln!(f, "  In the long run: {} in {span_of_period}.", self.long_run)?;
        writeln!(f, "  Longest wait of a denied call of cost 1: {}.", span(wait))?;
        if let Some(beside) = self.never_binds_beside {
            writeln!(f, "  Never denies anything that {} admits: leave it out.", all.rules[beside].rule)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use quotalock::{ALGORITHMS, Policy, Replay, Rule};

    use super::Explained;

    fn explained(text: &str) -> Explained {
        Explained::of(&Policy::parse(text).unwrap()).unwrap()
    }

    /// The table of the guide, which `make figures` measures: any minute, a moment, in the long run, seconds to wait.
    #[test]
    fn the_worst_cases_are_those_of_the_guide() {
        let table = [
            ("fixed-window 10/minute", 19, 19, 10.0, 60.0),
            ("calendar-window 10/minute", 20, 20, 10.0, 60.0),
            ("sliding-window 10/minute", 19, 10, 9.0, 66.0),
            ("sliding-log 10/minute", 10, 10, 10.0, 60.0),
            ("token-bucket 10/minute", 19, 10, 10.0, 6.0),
            ("fixed-window 1/minute", 1, 1, 1.0, 60.0),
            ("calendar-window 1/minute", 2, 2, 1.0, 60.0),
            ("sliding-window 1/minute", 1, 1, 0.5, 120.0),
            ("sliding-log 1/minute", 1, 1, 1.0, 60.0),
            ("token-bucket 1/minute", 1, 1, 1.0, 60.0),
        ];
        for (text, in_a_period, in_a_moment, long_run, wait) in table {
            let rule = &explained(text).rules[0];
            let told = (rule.most_in_a_period, rule.most_in_a_moment, rule.long_run, rule.longest_wait);
            assert_eq!(told, (in_a_period, in_a_moment, long_run, wait), "{text}");
        }
        let bucket = &explained("token-bucket 8/minute capacity 2").rules[0];
        assert_eq!((bucket.most_in_a_period, bucket.most_in_a_moment), (9, 2));
    }

    #[test]
    fn a_moment_has_no_more_than_the_strictest_rule_admits() {
        let moments = |text: &str| -> Vec<(u64, u64)> {
            let each = explained(text).rules;
            each.iter().map(|rule| (rule.most_in_a_moment, rule.most_in_a_moment_with_the_others)).collect()
        };
        assert_eq!(moments("10/minute;100/hour"), [(19, 19), (199, 19)]);
        assert_eq!(moments("1/second;token-bucket 100/hour"), [(1, 1), (100, 1)]);
        assert_eq!(moments("calendar-window 10/minute;sliding-log 7/hour"), [(20, 7), (7, 7)]);
        let said = explained("10/minute;100/hour").to_string();
        assert!(
            said.contains("Most in a moment: 199, around the edge of two windows; with the other rules 19."),
            "{said}"
        );
    }

    #[test]
    fn sizes_are_those_of_the_manual() {
        assert_eq!(explained("10/minute").value_bytes, 4 + 15 + 24);
        assert_eq!(explained("token-bucket 10/minute").value_bytes, 4 + 22 + 24);
        assert_eq!(explained("10/minute;100/hour").value_bytes, 4 + 30 + 48);
        for _ in 0..200 {
            assert_eq!(explained("1/ms").value_bytes, 4 + 15 + 24);
            assert_eq!(explained("sliding-log 1/ms").value_bytes, 4 + 15 + 32 + 41);
        }
        let log = explained("sliding-log 100/hour");
        assert_eq!((log.value_bytes, log.log_bytes), (4 + 15 + 32 + 41, 12 * 166));
    }

    #[test]
    fn rules_that_are_of_no_use_are_found() {
        let beside = |text: &str| explained(text).rules.iter().map(|rule| rule.never_binds_beside).collect::<Vec<_>>();
        assert_eq!(beside("10/minute;609/hour"), [None, Some(0)]);
        assert_eq!(beside("10/minute;608/hour"), [None, None]);
        assert_eq!(beside("sliding-log 10/minute;600/hour"), [None, Some(0)]);
        assert_eq!(beside("sliding-log 10/minute;599/hour"), [None, None]);
        assert_eq!(beside("1000/s;5/minute"), [Some(1), None]);
        assert_eq!(beside("5/minute;5/minute"), [None, Some(0)]);
        assert_eq!(beside("sliding-log 5/minute;sliding-log 5/minute"), [None, Some(0)]);
        assert_eq!(beside("token-bucket 5/s capacity 9;token-bucket 6/s capacity 9"), [None, Some(0)]);
    }

    #[test]
    fn who_binds_in_the_long_run() {
        let binds = |text: &str| explained(text).binds_in_the_long_run;
        assert_eq!(binds("10/minute;100/hour"), [1]);
        assert_eq!(binds("10/minute;600/hour"), [0, 1]);
        assert_eq!(binds("sliding-window 10/minute;600/hour"), [0]);
        assert_eq!(binds("5/s"), [0]);
    }

    /// Who asks at random, in bursts, and at the moments that are named, gets no more than is said, and the same without the
    /// rules that are of no use.
    #[test]
    fn nothing_admits_more_than_is_said() {
        let mut state = 7_u64;
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut useless = 0;
        for _ in 0..6_000 {
            let mut rule = || {
                let algorithm = ALGORITHMS[chance(5) as usize];
                let rule =
                    Rule::new(algorithm, 1 + chance(12), [1_000, 2_000, 3_000, 10_000][chance(4) as usize]).unwrap();
                if algorithm.has_capacity() { rule.with_capacity(1 + chance(12)).unwrap() } else { rule }
            };
            let rules = [rule(), rule()];
            let policy = Policy::new(rules).unwrap();
            let told = Explained::of(&policy).unwrap();
            let left = told.rules.iter().zip(rules).filter(|(told, _)| told.never_binds_beside.is_none());
            let left = Policy::new(left.map(|(_, rule)| rule).collect::<Vec<_>>()).unwrap();
            useless += policy.rules().len() - left.rules().len();
            assert!(rules.iter().any(|rule| !rules.iter().all(|other| other != rule && rule.admits_all_of(other))));
            let (mut all, mut fewer, mut now) = (Replay::new(policy), Replay::new(left), 1_700_000_000_000_000);
            let mut admitted: Vec<u64> = Vec::new();
            for _ in 0..120 {
                let decided = all.consume(0, now, 1);
                assert_eq!(decided.allowed, fewer.consume(0, now, 1).allowed, "{}", told.policy);
                if decided.allowed {
                    admitted.push(now);
                }
                assert!(decided.retry_after.unwrap() as f64 <= 1e6 * told.rules[decided.binds].longest_wait);
                now += match chance(6) {
                    0 => chance(2_000),
                    1 => 10_000 - now % 10_000 - 1,
                    2 => decided.retry_after.unwrap(),
                    3 => chance(20),
                    _ => 0,
                };
            }
            for rule in &told.rules {
                let period = rule.times.0;
                for (at, first) in admitted.iter().enumerate() {
                    let inside = admitted[at..].iter().take_while(|time| **time < first + period).count() as u64;
                    assert!(inside <= rule.most_with_the_others, "{}: {inside} in {period}", told.policy);
                }
            }
        }
        assert!(useless > 500, "{useless}");
    }
}
