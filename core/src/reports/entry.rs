//! A report as an entry of the stream: fields and values, whose order counts.
//!
//! | field | value |
//! |---|---|
//! | `v` | 1, the version of this form; the first field |
//! | `host`, `pid`, `by` | who reports; `by` is `python/1.0.0`: the language, and our version |
//! | `ms`, `lost` | how long it covers, in milliseconds; how many reports before it could not be added |
//! | `limiter` | a name; what follows is about it. An empty one stands for all that had no room |
//! | `decisions` | `allowed redis 812, denied deny-cache 99188`: result, source and how many |
//! | `key` | a key that it denied, and maybe its `scope` |
//! | `denied` | `99188 0 1500 10/minute`: how often for certain, and maybe more often; for how many milliseconds yet when this was sent, or `-` for always; why |
//!
//! Times are relative: the entry's id is the time of the server, so no clock of a client counts. Fields that a reader does not
//! know are skipped.

use wire::base::outcome::Outcome;
use wire::base::source::Source;

/// The version of the form.
pub(super) const VERSION: &str = "1";

/// What one process decided since its last report: in about a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// When it was added, by the server's clock: microseconds since the epoch, exact to a millisecond.
    pub at: u64,
    /// The host's name; empty if it did not say.
    pub host: String,
    /// The process; 0 if it did not say.
    pub process: u64,
    /// In which language, and by which version of us: `python/1.0.0`.
    pub by: String,
    /// How long it covers, in microseconds, up to the time at which it was sent.
    pub covers: u64,
    /// How many reports of this process before it could not be added.
    pub lost: u64,
    /// What each limiter decided.
    pub limiters: Vec<ReportedLimiter>,
}

/// What a limiter decided in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedLimiter {
    /// Its name; empty for all that had no room in the report.
    pub name: Vec<u8>,
    /// How often it decided what; each pair of result and source once. None of a limiter that had room for its denied keys only:
    /// its decisions are among those of all others.
    pub decisions: Vec<Decided>,
    /// The keys that it denied most often: a report has up to [`MAX_DENIED`](super::MAX_DENIED) of them all.
    pub denied: Vec<DeniedKey>,
}

/// How often a limiter decided something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What.
    pub result: Outcome,
    /// Who decided it; of an error who was asked.
    pub source: Source,
    /// How often.
    pub count: u64,
}

/// A key that was denied often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedKey {
    /// The key, as the caller gave it.
    pub key: Vec<u8>,
    /// What its limiter's keys have in common, if that was said.
    pub scope: Option<Vec<u8>>,
    /// How often it was denied, for certain.
    pub count: u64,
    /// How much more often it may have been denied: 0 unless more keys were denied than a process keeps count of.
    pub over: u64,
    /// What denied it the last time.
    pub why: Why,
    /// Until when, by the server's clock, in microseconds since the epoch: none if such a call is never admitted.
    pub until: Option<u64>,
}

/// What denies a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// A rule, in its canonical form: of several that deny the one that does so longest.
    Rule(String),
    /// A block.
    Blocked,
    /// Redis could not answer, and `on_error=closed` denies meanwhile.
    Closed,
}

impl Why {
    /// Its text: `10/minute`, `blocked` or `closed`.
    pub fn as_str(&self) -> &str {
        match self {
            Why::Rule(rule) => rule,
            Why::Blocked => "blocked",
            Why::Closed => "closed",
        }
    }

    fn of(text: &str) -> Why {
        match text {
            "blocked" => Why::Blocked,
            "closed" => Why::Closed,
            rule => Why::Rule(rule.to_owned()),
        }
    }
}

impl Report {
    /// Reads an entry of the stream: its id and its fields with their values, in their order. None if it is no report, or one
    /// of a form that this version does not know. What is damaged in one is left out.
    pub fn read<T: AsRef<[u8]>>(id: &[u8], fields: &[(T, T)]) -> Option<Report> {
        let mut fields = fields.iter().map(|(field, value)| (field.as_ref(), value.as_ref()));
        if fields.next()? != (b"v", VERSION.as_bytes()) {
            return None;
        }
        let ms: u64 = number(id.split(|byte| *byte == b'-').next()?)?;
        let mut report = Report { at: ms.checked_mul(1_000)?, ..Report::default() };
        // The key that is being told of, and its scope.
        let (mut key, mut scope) = (None, None);
        for (field, value) in fields {
            let text = || String::from_utf8_lossy(value).into_owned();
            match (field, report.limiters.last_mut()) {
                (b"host", _) => report.host = text(),
                (b"pid", _) => report.process = number(value).unwrap_or(0),
                (b"by", _) => report.by = text(),
                (b"ms", _) => report.covers = number(value).unwrap_or(0).saturating_mul(1_000),
                (b"lost", _) => report.lost = number(value).unwrap_or(0),
                (b"limiter", _) => {
                    (key, scope) = (None, None);
                    report.limiters.push(ReportedLimiter { name: value.to_vec(), ..ReportedLimiter::default() });
                }
                (b"decisions", Some(limiter)) => limiter.decisions = decisions(value),
                (b"key", _) => (key, scope) = (Some(value.to_vec()), None),
                (b"scope", _) => scope = Some(value.to_vec()),
                (b"denied", Some(limiter)) => {
                    let (key, scope) = (key.take(), scope.take());
                    limiter.denied.extend(key.and_then(|key| denied(key, scope, value, report.at)));
                }
                _ => {}
            }
        }
        Some(report)
    }

    /// How often this was decided, by all limiters together.
    pub fn count(&self, result: Outcome) -> u64 {
        self.limiters.iter().fold(0, |sum, limiter| sum.saturating_add(limiter.count(result)))
    }

    /// The fields of the entry with their values, as [`read`](Report::read) takes them.
    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        let mut out: Vec<Vec<u8>> = Vec::new();
        let mut put = |field: &str, value: &[u8]| out.extend([field.as_bytes().to_vec(), value.to_vec()]);
        put("v", VERSION.as_bytes());
        put("host", self.host.as_bytes());
        put("pid", self.process.to_string().as_bytes());
        put("by", self.by.as_bytes());
        put("ms", (self.covers / 1_000).to_string().as_bytes());
        put("lost", self.lost.to_string().as_bytes());
        for limiter in &self.limiters {
            put("limiter", &limiter.name);
            let decisions: Vec<String> = limiter.decisions.iter().map(Decided::written).collect();
            put("decisions", decisions.join(", ").as_bytes());
            for denied in &limiter.denied {
                put("key", &denied.key);
                denied.scope.iter().for_each(|scope| put("scope", scope));
                let left = denied.until.map(|until| until.saturating_sub(self.at).div_ceil(1_000).to_string());
                let (left, why) = (left.as_deref().unwrap_or("-"), denied.why.as_str());
                put("denied", format!("{} {} {left} {why}", denied.count, denied.over).as_bytes());
            }
        }
        out
    }
}

impl ReportedLimiter {
    /// How often it decided this, from any source.
    pub fn count(&self, result: Outcome) -> u64 {
        let fitting = self.decisions.iter().filter(|decided| decided.result == result);
        fitting.fold(0, |sum, decided| sum.saturating_add(decided.count))
    }
}

impl Decided {
    fn written(&self) -> String {
        format!("{} {} {}", self.result.as_str(), self.source.as_str(), self.count)
    }

    fn read(text: &str) -> Option<Decided> {
        let mut words = text.split(' ');
        let result = words.next()?;
        let result = Outcome::ALL.into_iter().find(|known| known.as_str() == result)?;
        Some(Decided { result, source: Source::by_name(words.next()?)?, count: words.next()?.parse().ok()? })
    }
}

/// What a field `decisions` says.
fn decisions(value: &[u8]) -> Vec<Decided> {
    let mut all: Vec<Decided> = Vec::new();
    for decided in std::str::from_utf8(value).unwrap_or_default().split(", ").filter_map(Decided::read) {
        if !all.iter().any(|known| (known.result, known.source) == (decided.result, decided.source)) {
            all.push(decided);
        }
    }
    all
}

/// What a field `denied` says of a key in an entry of this time.
fn denied(key: Vec<u8>, scope: Option<Vec<u8>>, value: &[u8], at: u64) -> Option<DeniedKey> {
    let mut words = std::str::from_utf8(value).ok()?.splitn(4, ' ');
    let (count, over) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let until = match words.next()? {
        "-" => None,
        left => Some(left.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(at)?),
    };
    Some(DeniedKey { key, scope, count, over, why: Why::of(words.next()?), until })
}

/// A number in digits.
fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
