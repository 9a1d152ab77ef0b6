//! What a replay found, as text, JSON and HTML tell it.

use serde::Serialize;

use super::client::By;
use super::line::Form;
use super::need::Suggestion;
use super::run::{Run, Trial};
use super::source::{Reading, SkipReason};

/// A client who was denied is likely a false positive if at least so many percent of its requests were admitted.
pub const LIKELY_FALSE: u64 = 90;
/// The classes of clients by the percentage of their requests that was denied: each is above the one before.
const CLASSES: [(&str, f64); 6] = [
    ("nothing", 0.0),
    ("up to 1 %", 1.0),
    ("1 to 10 %", 10.0),
    ("10 to 50 %", 50.0),
    ("50 to 90 %", 90.0),
    ("over 90 %", 100.0),
];

/// All that was found. Times are seconds since the epoch.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The logs.
    pub files: Vec<String>,
    /// By what requests were limited.
    pub by: String,
    /// Whether the replay was broken off before the end.
    pub interrupted: bool,
    /// Lines that are not empty.
    pub lines: u64,
    /// Requests that were decided.
    pub requests: u64,
    /// Who made them.
    pub clients: u64,
    /// When the first of them was.
    pub first: Option<u64>,
    /// When the last of them was.
    pub last: Option<u64>,
    /// Lines in each form.
    pub forms: Vec<(&'static str, u64)>,
    /// Lines that came after a later one, and were sorted by time.
    pub earlier: u64,
    /// By how many seconds at most.
    pub earlier_by: f64,
    /// Lines that were not decided.
    pub left_out: Vec<LeftOut>,
    /// Logs that could not be read to their end.
    pub broken: Vec<String>,
    /// What each policy decided.
    pub policies: Vec<PolicyOutcome>,
}

/// Lines that were not decided for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The reason.
    pub why: &'static str,
    /// The reason behind "left out: so many lines".
    #[serde(skip)]
    pub words: &'static str,
    /// How many.
    pub lines: u64,
    /// The first of them.
    pub examples: Vec<ExampleLine>,
}

/// A line that was left out.
#[derive(Clone, Debug, Serialize)]
pub struct ExampleLine {
    /// The log.
    pub file: String,
    /// Its number there, from 1 on.
    pub line: u64,
    /// How it begins.
    pub text: String,
    #[serde(skip)]
    /// The same as it is.
    pub raw: Vec<u8>,
}

/// What one policy decided.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyOutcome {
    /// The policy in its canonical form.
    pub policy: String,
    /// Requests that it admits.
    pub admitted: u64,
    /// Requests that it denies.
    pub denied: u64,
    /// Clients of whom it denies anything.
    pub clients_denied: u64,
    /// When it denies first.
    pub first_denied: Option<u64>,
    /// When it denies last.
    pub last_denied: Option<u64>,
    /// The longest wait that it tells, in seconds.
    pub longest_wait: f64,
    /// What each rule denies.
    pub rules: Vec<RuleDenials>,
    /// Clients who are likely false positives.
    pub likely_false_clients: u64,
    /// What is denied of them.
    pub likely_false_requests: u64,
    /// Clients by the share of their requests that is denied.
    pub classes: Vec<(&'static str, u64)>,
    /// Of whom most is denied.
    pub worst: Vec<Client>,
    /// Over time.
    pub series: Bins,
    /// The limit that was asked for.
    pub suggestion: Option<Suggestion>,
}

/// What a rule denies.
#[derive(Clone, Debug, Serialize)]
pub struct RuleDenials {
    /// The rule.
    pub rule: String,
    /// How many requests.
    pub denied: u64,
}

/// A client.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Its name, with what is not UTF-8 replaced.
    pub client: String,
    /// The same as it is.
    #[serde(skip)]
    pub raw: Vec<u8>,
    /// How many requests it made.
    pub requests: u32,
    /// How many of them are denied.
    pub denied: u32,
    /// When first.
    pub first_denied: u32,
    /// When last.
    pub last_denied: u32,
}

/// Counts over time.
#[derive(Clone, Debug, Serialize)]
pub struct Bins {
    /// When the first bin begins.
    pub start: u64,
    /// How many seconds each is wide.
    pub width: u64,
    /// What is admitted in each.
    pub admitted: Vec<u64>,
    /// What is denied.
    pub denied: Vec<u64>,
}

/// What is asked of a report.
pub struct ReportRequest {
    /// The logs.
    pub files: Vec<String>,
    /// By what requests were limited.
    pub by: By,
    /// How many of the worst clients are named.
    pub worst: usize,
    /// The percentage of clients for a suggestion.
    pub suggest: Option<f64>,
    /// Whether the replay was broken off.
    pub interrupted: bool,
}

impl Report {
    /// Sums up.
    pub fn of(run: &Run, reading: &Reading, asked: ReportRequest) -> Report {
        let left_out = SkipReason::ALL.into_iter().zip(&reading.left_out).filter(|(_, (lines, _))| *lines > 0);
        let left_out = left_out.map(|(why, (lines, examples))| LeftOut {
            why: why.name(),
            words: why.words(),
            lines: *lines,
            examples: examples.iter().map(ExampleLine::of).collect(),
        });
        let forms = Form::ALL.into_iter().zip(reading.forms).filter(|(_, lines)| *lines > 0);
        let worst: Vec<Vec<usize>> = run.trials.iter().map(|trial| worst(trial, asked.worst)).collect();
        let names = names(run, &worst);
        let outcome =
            |(trial, worst): (&Trial, &Vec<usize>)| PolicyOutcome::of(run, trial, worst, &names, asked.suggest);
        Report {
            lines: reading.lines,
            requests: run.decided,
            clients: run.requests.len() as u64,
            first: run.first.map(|first| first / 1_000_000),
            last: run.first.map(|_| run.now() / 1_000_000),
            forms: forms.map(|(form, lines)| (form.name(), lines)).collect(),
            earlier: run.earlier,
            earlier_by: run.lag as f64 / 1e6,
            left_out: left_out.collect(),
            broken: reading.broken.clone(),
            policies: run.trials.iter().zip(&worst).map(outcome).collect(),
            files: asked.files,
            by: asked.by.to_string(),
            interrupted: asked.interrupted,
        }
    }

    /// Whether a policy denies anything.
    pub fn denies(&self) -> bool {
        self.policies.iter().any(|outcome| outcome.denied > 0)
    }
}

impl ExampleLine {
    fn of(example: &super::source::SkippedLine) -> ExampleLine {
        let text = String::from_utf8_lossy(&example.text).into_owned();
        ExampleLine { file: example.file.clone(), line: example.line, text, raw: example.text.clone() }
    }
}

/// The clients of whom most was denied.
fn worst(trial: &Trial, count: usize) -> Vec<usize> {
    let denied = |client: &usize| std::cmp::Reverse((trial.denials[*client].count, std::cmp::Reverse(*client)));
    let mut all: Vec<usize> = (0..trial.denials.len()).filter(|client| trial.denials[*client].count > 0).collect();
    if count > 0 && all.len() > count {
        all.select_nth_unstable_by_key(count - 1, denied);
    }
    all.truncate(count);
    all.sort_unstable_by_key(denied);
    all
}

/// The names of these clients.
fn names<'a>(run: &'a Run, wanted: &[Vec<usize>]) -> std::collections::HashMap<usize, &'a [u8]> {
    let wanted: std::collections::HashSet<usize> = wanted.iter().flatten().copied().collect();
    let all = run.clients.iter().map(|(name, client)| (*client as usize, &**name));
    all.filter(|(client, _)| wanted.contains(client)).collect()
}

impl PolicyOutcome {
    fn of(
        run: &Run,
        trial: &Trial,
        worst: &[usize],
        names: &std::collections::HashMap<usize, &[u8]>,
        suggest: Option<f64>,
    ) -> PolicyOutcome {
        let mut classes = CLASSES.map(|(label, _)| (label, 0));
        let (mut clients_denied, mut false_clients, mut false_requests) = (0, 0, 0);
        let (mut first, mut last) = (None, None);
        for (client, requests) in run.requests.iter().enumerate() {
            let denials = trial.denials(client);
            let percent = 100.0 * f64::from(denials.count) / f64::from(*requests);
            let class = CLASSES.iter().position(|(_, most)| percent <= *most).unwrap_or(CLASSES.len() - 1);
            classes[class].1 += 1;
            if denials.count == 0 {
                continue;
            }
            clients_denied += 1;
            if u64::from(requests - denials.count) * 100 >= LIKELY_FALSE * u64::from(*requests) {
                false_clients += 1;
                false_requests += u64::from(denials.count);
            }
            first = Some(first.map_or(denials.first, |first: u32| first.min(denials.first)));
            last = last.max(Some(denials.last));
        }
        let client = |client: &usize| {
            let (raw, denials) = (names.get(client).copied().unwrap_or_default(), trial.denials(*client));
            Client {
                client: String::from_utf8_lossy(raw).into_owned(),
                raw: raw.to_vec(),
                requests: run.requests[*client],
                denied: denials.count,
                first_denied: denials.first,
                last_denied: denials.last,
            }
        };
        let rules = trial.policy.rules().iter().zip(&trial.by_rule);
        let series = &trial.series;
        PolicyOutcome {
            policy: trial.policy.to_string(),
            admitted: run.decided - trial.denied,
            denied: trial.denied,
            clients_denied,
            first_denied: first.map(u64::from),
            last_denied: last.map(u64::from),
            longest_wait: trial.longest as f64 / 1e6,
            rules: rules.map(|(rule, denied)| RuleDenials { rule: rule.to_string(), denied: *denied }).collect(),
            likely_false_clients: false_clients,
            likely_false_requests: false_requests,
            classes: classes.to_vec(),
            worst: worst.iter().map(client).collect(),
            series: Bins {
                start: series.start(),
                width: series.width(),
                admitted: series.bins().map(|bin| bin[0]).collect(),
                denied: series.bins().map(|bin| bin[1]).collect(),
            },
            suggestion: trial.needs.as_ref().zip(suggest).and_then(|(needs, percent)| needs.suggest(percent)),
        }
    }
}
