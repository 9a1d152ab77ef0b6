//! The algorithms a rule can use: one file each for the arithmetic here and for its Lua in `scripts/limit/`.
//!
//! To add one: write both files, list the definition in [`ALL`], add a vector file. Nothing else in the core knows their names.

mod calendar_window;
mod fixed_window;
pub(crate) mod log;
mod sliding_log;
mod sliding_window;
mod token_bucket;

use std::fmt;

use crate::error::{Code, Error, Result, shown};
use crate::policy::Rule;

/// How many numbers are kept for one rule; an algorithm may need fewer.
pub(crate) const MAX_WORDS: usize = 4;

/// The numbers an algorithm keeps for one rule. All zero is "as new".
pub(crate) type Words = [u64; MAX_WORDS];

/// When a rule is asked, with the log for those that need it.
pub(crate) struct Moment<'a> {
    /// Server microseconds.
    pub now: u64,
    pub entries: log::Entries<'a>,
}

/// What is known of the charge that is given back.
pub(crate) struct Charged {
    pub since: u64,
    /// When a bucket will have filled it again; 0 if that is not known.
    pub filled: u64,
}

/// One algorithm: pure functions of (rule, state, moment, cost). Times are server microseconds.
pub(crate) struct Definition {
    /// The algorithm's byte in stored states and in ARGV: from 1 without a gap, never reused.
    pub id: u8,
    pub name: &'static str,
    /// The same functions in Lua: sections `settle`, `wait`, `charge`, `refund` and `show`, and before them, where needed,
    /// `constants` (of a rule) and `helpers` (for all its rules). They read `now` and `cost` or `amount`, and the rule's
    /// arguments; change its words; set `dirty`, `wait_1`, `left_1` and `reset_1`.
    pub lua: &'static str,
    /// What the Lua calls the numbers that it keeps.
    pub words: &'static [&'static str],
    /// Which of them is 0 if and only if the rule is as new.
    pub fresh: usize,
    /// Whether a rule of it may say a capacity; without one it is the limit.
    pub has_capacity: bool,
    /// Whether it needs the log of all admissions.
    pub has_log: bool,
    /// Brings the state to now: forgets what is over and clamps an impossible future (the clock went back, or the
    /// policy changed). True when it clamped: then the state must be written even if the call is denied.
    /// The third argument is the period with which the state was kept: another one if the policy changed.
    pub settle: fn(&Rule, &mut Words, u64, &Moment) -> bool,
    /// The wait until `cost` is admitted: `Some(0)` admitted now, `None` never.
    pub wait: fn(&Rule, &Words, &Moment, u64) -> Option<u64>,
    pub charge: fn(&Rule, &mut Words, &Moment, u64),
    /// Gives back an amount.
    pub refund: fn(&Rule, &mut Words, &Moment, u64, &Charged),
    pub remaining: fn(&Rule, &Words, &Moment) -> u64,
    pub reset_after: fn(&Rule, &Words, &Moment) -> u64,
}

impl Definition {
    /// What the Lua is told about a rule.
    pub fn arguments(&self) -> &'static [&'static str] {
        if self.has_capacity { &["limit", "period", "capacity"] } else { &["limit", "period"] }
    }

    /// A section of the Lua.
    pub fn section(&self, name: &str) -> Option<&'static str> {
        let mut sections = self.lua.split("--> ").skip(1);
        sections.find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'))
    }
}

/// How many bytes a rule's record takes: id, period, words.
pub(crate) fn record_size(algorithm: Algorithm) -> usize {
    1 + 8 * (1 + algorithm.0.words.len())
}

/// How a rule counts.
#[derive(Clone, Copy)]
pub struct Algorithm(&'static Definition);

/// Every algorithm, in the order of the documentation; the first is the default.
pub const ALL: [Algorithm; 5] = [
    Algorithm::FIXED_WINDOW,
    Algorithm::CALENDAR_WINDOW,
    Algorithm::SLIDING_WINDOW,
    Algorithm::TOKEN_BUCKET,
    Algorithm::SLIDING_LOG,
];

impl Algorithm {
    /// At most `limit` in a window that the first admitted call opens.
    pub const FIXED_WINDOW: Algorithm = Algorithm(&fixed_window::DEFINITION);
    /// At most `limit` in each window of the calendar: windows start at multiples of the period since the epoch (UTC).
    pub const CALENDAR_WINDOW: Algorithm = Algorithm(&calendar_window::DEFINITION);
    /// The last period's count, taken from the current and the previous window of the calendar by their shares in it.
    pub const SLIDING_WINDOW: Algorithm = Algorithm(&sliding_window::DEFINITION);
    /// At most `limit` in any period, exactly, at the price of a log.
    pub const SLIDING_LOG: Algorithm = Algorithm(&sliding_log::DEFINITION);
    /// At most `capacity` at once, and `limit` per period in the long run.
    pub const TOKEN_BUCKET: Algorithm = Algorithm(&token_bucket::DEFINITION);

    /// The name in a policy, such as `fixed-window`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The algorithm of that name, whatever its case.
    pub fn by_name(name: &str) -> Option<Algorithm> {
        ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name))
    }

    /// As [`by_name`](Algorithm::by_name), and tells what there is.
    ///
    /// # Errors
    /// `invalid_policy` for another name.
    pub fn parse(name: &str) -> Result<Algorithm> {
        Algorithm::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|a| a.name()).collect();
            let (name, known) = (shown(name.as_bytes()), known.join(", "));
            Error::new(Code::InvalidPolicy, format!("algorithm \"{name}\" is unknown: use one of {known}"))
        })
    }

    pub(crate) fn by_id(id: u8) -> Option<Algorithm> {
        ALL.into_iter().find(|a| a.0.id == id)
    }

    pub(crate) fn definition(self) -> &'static Definition {
        self.0
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Algorithm {}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
