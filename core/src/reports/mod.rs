//! Reports: with [`Options::report`](crate::Options::report) a process tells Redis, in the background and at most once a second,
//! what its limiters decided, and whom they denied most often. They are a stream, one entry each, in which the last
//! [`MAX_REPORTS`] stay, for a day at most: `quotalock top` shows it live. Here is what reads them.
//!
//! Ask Redis for entries of [`redis_key`] (`XRANGE`, `XREAD`), and give each to [`Report::read`].
//!
//! ```
//! use quotalock::reports::{Outcome, Report, Why, redis_key};
//!
//! assert_eq!(redis_key("ql"), b"ql:reports");
//! let fields = [
//!     ("v", "1"), ("host", "web-3"), ("pid", "4711"), ("by", "php/1.0.0"), ("ms", "1000"), ("lost", "0"),
//!     ("limiter", "login"), ("decisions", "allowed redis 12, denied deny-cache 900"),
//!     ("key", "203.0.113.7"), ("denied", "900 0 1500 5/minute"),
//! ];
//! let report = Report::read(b"1700000000000-0", &fields).unwrap();
//! assert_eq!((report.host.as_str(), report.count(Outcome::Denied)), ("web-3", 900));
//! let denied = &report.limiters[0].denied[0];
//! assert_eq!((&denied.why, denied.until), (&Why::Rule("5/minute".into()), Some(1_700_000_001_500_000)));
//! ```

mod append;
mod buffer;
mod entry;
mod reporter;
mod sketch;
#[cfg(test)]
mod tests;

use crate::key;
pub(crate) use append::{Append, scripts};
pub(crate) use buffer::Whose;
pub use entry::{Decided, DeniedKey, Report, ReportedLimiter, Why};
pub(crate) use reporter::Reporter;
pub use reporter::{flush, set_language};
pub use wire::base::outcome::Outcome;

/// About as many reports stay in the stream: Redis forgets the oldest in lots of about 100.
pub const MAX_REPORTS: u64 = 10_000;
/// For so long a report stays at most, in microseconds: a day.
pub const REPORTS_KEPT: u64 = 86_400_000_000;
/// As many keys a report names at most.
pub const MAX_DENIED: usize = 16;

/// The Redis key of the stream to which clients with this prefix report.
pub fn redis_key(prefix: &str) -> Vec<u8> {
    key::reports(prefix)
}
