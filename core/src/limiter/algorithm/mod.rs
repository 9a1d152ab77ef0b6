//! The algorithms a rule can use: one file each for the arithmetic and for its Lua.
//!
//! To add one: write both files, list the definition in [`ALL`], add a vector file. Nothing else in the core knows their names.

mod calendar_window;
mod fixed_window;
pub(crate) mod log;
mod sliding_log;
mod sliding_window;
pub(crate) mod token_bucket;
mod worst;

use std::fmt;

use wire::base::error::{Code, Error, Result, shown, span};
use worst::WorstCases;

/// The largest amount of a rule, 2^52: sums of two stay exact in Lua's and JavaScript's numbers.
pub const MAX_LIMIT: u64 = 1 << 52;
/// The largest amount of a sliding-log, 2^39.
pub const MAX_LOG_LIMIT: u64 = log::LOG_MOST;
/// The shortest period of a rule in microseconds: 1 ms.
pub const MIN_PERIOD: u64 = 1_000;
/// The longest period or block in microseconds: 36,500 days.
pub const MAX_PERIOD: u64 = 36_500 * 86_400 * 1_000_000;

/// One limit: at most `limit` per `period`, counted by an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    algorithm: Algorithm,
    limit: u64,
    period: u64,
    capacity: u64,
    /// As the algorithm computes with them.
    rate: Rate,
}

/// A limit and a period; without their common divisor where a capacity makes the exact interval count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub limit: u64,
    pub period: u64,
}

impl Rate {
    /// Without the common divisor.
    pub fn reduced(limit: u64, period: u64) -> Rate {
        let divisor = greatest_common_divisor(limit, period);
        Rate { limit: limit / divisor, period: period / divisor }
    }
}

impl Rule {
    /// Makes a rule of `limit` (1 to [`MAX_LIMIT`]) per `period` microseconds ([`MIN_PERIOD`] to [`MAX_PERIOD`]).
    ///
    /// # Errors
    /// `invalid_policy` for an amount or period out of these bounds.
    pub fn new(algorithm: Algorithm, limit: u64, period: u64) -> Result<Rule> {
        Rule::of(algorithm, limit, period, None)
    }

    /// The same rule with another capacity: the most that may be consumed at once, 1 to [`MAX_LIMIT`].
    ///
    /// # Errors
    /// As [`of`](Rule::of).
    pub fn with_capacity(self, capacity: u64) -> Result<Rule> {
        Rule::of(self.algorithm, self.limit, self.period, Some(capacity))
    }

    /// As [`new`](Rule::new), with a capacity: the most that may be consumed at once, 1 to [`MAX_LIMIT`]; without one it is
    /// the limit.
    ///
    /// # Errors
    /// As [`new`](Rule::new); `invalid_policy` for a capacity with an algorithm that takes none, for 0, or for so much that
    /// it would take decades to fill.
    pub fn of(algorithm: Algorithm, limit: u64, period: u64, capacity: Option<u64>) -> Result<Rule> {
        let refuse = |message: String| Err(Error::new(Code::InvalidPolicy, message));
        if limit == 0 {
            return refuse("amount 0 admits nobody: give at least 1".into());
        }
        if limit > MAX_LIMIT {
            return refuse(format!("amount {limit} is more than {MAX_LIMIT} (2^52): give less"));
        }
        if algorithm.definition().has_log() && limit > MAX_LOG_LIMIT {
            return refuse(format!(
                "amount {limit} is more than {MAX_LOG_LIMIT} (2^39), too much for a log of all admissions: give less"
            ));
        }
        if period < MIN_PERIOD {
            return refuse(format!("period of {} is under 1 ms: give at least 1 ms", span(period)));
        }
        if !period.is_multiple_of(1_000) {
            return refuse(format!("period of {} is not in whole milliseconds: round it", span(period)));
        }
        if period > MAX_PERIOD {
            return refuse(format!("period of {} is over 36500 days: give less", span(period)));
        }
        if !algorithm.definition().has_capacity() {
            if capacity.is_some() {
                let name = algorithm.name();
                return refuse(format!("capacity is for token-bucket, not for {name}: leave it out"));
            }
            return Ok(Rule { algorithm, limit, period, capacity: limit, rate: Rate { limit, period } });
        }
        let (given, capacity, rate) = (capacity, capacity.unwrap_or(limit), Rate::reduced(limit, period));
        if capacity == 0 {
            return refuse("capacity 0 admits nobody: give at least 1".into());
        }
        let fits = |a: u64, b: u64| u128::from(a) * u128::from(b) <= u128::from(MAX_LIMIT);
        // Lua counts exactly to 2^53: both products appear there.
        if !fits(capacity, rate.limit)
            || u128::from(capacity) * u128::from(rate.period) > u128::from(rate.limit) * u128::from(MAX_PERIOD)
        {
            return refuse(match given {
                Some(_) => {
                    format!("amount {limit} with capacity {capacity} is too large to count exactly: give less")
                }
                None => format!(
                    "amount {limit} is too large to count exactly with a capacity of the same size: give a smaller capacity"
                ),
            });
        }
        Ok(Rule { algorithm, limit, period, capacity, rate })
    }

    /// How the rule counts.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The amount per period.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The period in microseconds.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The most that may be consumed at once: the limit, unless the rule says a capacity.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Limit and period as the algorithm computes with them.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

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

/// When a bucket will have filled again what was charged: the microsecond, and the fraction as the bucket counts it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Filled {
    pub at: u64,
    pub part: u64,
}

/// What is known of the charge that is given back.
pub(crate) struct RefundedCharge {
    pub since: u64,
    /// Of a hold of a bucket: no more comes back than was not filled again.
    pub filled: Option<Filled>,
}

/// What a stored state tells of the rule that made it.
pub(crate) struct StoredRule {
    pub rate: Rate,
    pub capacity: u64,
}

/// When a stored state has nothing to say any more.
pub(crate) struct End {
    /// 0 if it has nothing to say.
    pub at: u64,
    /// Whether its last charge was in the future: the clock went back.
    pub back: bool,
    /// Whether it charged nothing itself yet, so that all it counts was taken over.
    pub copied: bool,
}

/// What a bucket does besides: of each hold it knows when it will have filled it again.
#[derive(Clone, Copy)]
pub(crate) struct Bucket {
    /// When it is full again. In Lua the section `filled`.
    pub filled: fn(&Words) -> Filled,
    /// When it will have filled again what another rate fills at this time. In Lua a part of `carry`.
    pub refilled: fn(&Rule, Rate, &Words, Filled) -> Filled,
    /// Is not fuller than another bucket of this rule that has `used` so much, and is full after `left`: what is charged from
    /// now on is filled after what the other one has used. Not in Lua.
    pub follow: fn(&Rule, &mut Words, now: u64, used: u64, left: u64),
}

/// What is done with the words of a rule that has a log; in Lua the sections of these names.
#[derive(Clone, Copy)]
pub(crate) struct Logged {
    /// Whether the words are about this log.
    pub fits: fn(&Words, &log::Log) -> bool,
    /// The number of the first entry that still counts.
    pub oldest: fn(&Words) -> u64,
    /// How much counts. In Lua the section `longest`, which looks for the rule that counts most.
    pub used: fn(&Words) -> u64,
    /// The words of a rule that begins at this entry. In Lua a part of `carry`.
    pub beginning: fn(u64) -> Words,
    /// The words as they are stored for another policy, with the time of their last own charge.
    pub aside: fn(&Words, u64) -> Words,
    /// Undoes that, but for the time of the first entry; returns the time of the last own charge, if it was stored.
    pub restore: fn(&mut Words) -> Option<u64>,
    /// Reads the time of the first entry.
    pub first: fn(&mut Words, &log::Entries),
    /// Forgets what no rule of this limit can need.
    pub most: fn(&mut Words, u64, &log::Entries),
    /// Forgets what is older than a period.
    pub trim: fn(&mut Words, u64, &Moment) -> bool,
    /// Counts what was added.
    pub count: fn(&mut Words, &log::Log),
    /// Entries from this number on became the last one.
    pub gather: fn(&mut Words, u64, &log::Log),
    /// The most that may be added.
    pub bound: fn(&Words) -> u64,
    /// The entry of this number becomes the first of the log.
    pub renumber: fn(&mut Words, u64),
}

/// One algorithm: pure functions of (rule, state, moment, cost). Times are server microseconds.
pub(crate) struct Definition {
    /// The algorithm's byte in stored states and in ARGV: from 1 without a gap, never reused.
    pub id: u8,
    pub name: &'static str,
    /// The same functions in Lua: sections `settle`, `wait`, `charge`, `refund` and `show`, and before them, where needed,
    /// `constants` (of a rule), `helpers` (for all its rules), `ends` and `carry`. They read `now` and `cost` or `amount`, and the
    /// rule's arguments; change its words; set `dirty`, `wait_1`, `left_1` and `reset_1`.
    pub lua: &'static str,
    /// What the Lua calls the numbers that it keeps.
    pub words: &'static [&'static str],
    /// Which of them are all 0 if and only if the rule is as new.
    pub fresh: &'static [usize],
    /// What a bucket does besides. A rule of it may say a capacity; without one it is the limit.
    pub bucket: Option<Bucket>,
    /// What is done with its words besides if it needs the log of all admissions.
    pub log: Option<Logged>,
    /// Of what another policy's rule counted: when it has nothing to say any more. None of one with a log, which ends a period
    /// after its last own charge. In Lua the section `ends`.
    pub ends: Option<fn(&StoredRule, &mut Words, u64) -> End>,
    /// Takes over what was counted at another rate or by another period, as of the last charge: what it makes of it must
    /// not depend on when it is asked, since a call that writes nothing may have asked before.
    pub carry: fn(&Rule, &mut Words, Rate, u64),
    /// Brings the state to now: forgets what is over and clamps an impossible future. True if the clock went back: then
    /// the state must be written even if the call is denied.
    pub settle: fn(&Rule, &mut Words, &Moment) -> bool,
    /// The wait until `cost` is admitted: `Some(0)` admitted now, `None` never.
    pub wait: fn(&Rule, &Words, &Moment, u64) -> Option<u64>,
    pub charge: fn(&Rule, &mut Words, &Moment, u64),
    /// Gives back an amount.
    pub refund: fn(&Rule, &mut Words, &Moment, u64, &RefundedCharge),
    /// How long permits that were charged ahead of their use may wait for it: given what `reset_after` was told and how many
    /// are taken at once at most. None if what the algorithm promises would not hold.
    pub prefetch_life: Option<fn(&Rule, u64, u64) -> u64>,
    /// Over which last part of this `reset_after` what was used fades evenly: never faster than it does, whatever was charged
    /// when. 0 if all of it may end at once.
    pub fades_over: fn(&Rule, u64) -> u64,
    pub remaining: fn(&Rule, &Words, &Moment) -> u64,
    pub reset_after: fn(&Rule, &Words, &Moment) -> u64,
    /// What it admits at worst.
    pub worst: WorstCases,
}

impl Definition {
    /// Whether these words say that the rule is as new.
    pub fn is_fresh(&self, words: &Words) -> bool {
        self.fresh.iter().all(|word| words[*word] == 0)
    }

    /// Whether a rule of it may say a capacity.
    pub fn has_capacity(&self) -> bool {
        self.bucket.is_some()
    }

    /// Whether it needs the log of all admissions.
    pub fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// What the Lua is told about a rule.
    pub fn arguments(&self) -> &'static [&'static str] {
        if self.has_capacity() { &["limit", "period", "capacity"] } else { &["limit", "period"] }
    }

    /// A section of the Lua.
    pub fn section(&self, name: &str) -> Option<&'static str> {
        let mut sections = self.lua.split("--> ").skip(1);
        sections.find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'))
    }
}

/// Where nothing is to be taken over: the words mean the same by any period.
fn carry_nothing(_rule: &Rule, _words: &mut Words, _kept: Rate, _now: u64) {}

/// To the end of the window in which they were charged, less a thousandth: the clocks of two machines run apart.
fn to_the_end(_rule: &Rule, reset_after: u64, _most: u64) -> u64 {
    reset_after - reset_after.div_ceil(1_000)
}

/// Where all that was used may end at once.
fn at_once(_rule: &Rule, _reset_after: u64) -> u64 {
    0
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

    /// Whether a rule of it may have a capacity other than its limit.
    pub fn has_capacity(self) -> bool {
        self.0.has_capacity()
    }

    /// Whether it remembers each admission, so that its states grow with the limit.
    pub fn has_log(self) -> bool {
        self.0.has_log()
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
