//! Rate limits that cannot get stuck, on Redis.
//!
//! One decision is one atomic script call, decided by the server's clock; a key that lost its TTL, a value that is not
//! ours and a clock that jumped heal by themselves. The same key means the same from Rust, PHP, Python and Node.
//!
//! ```
//! use quotalock::{Client, Options, Policy};
//!
//! let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() })?;
//! let checkout = client.limiter("checkout", Policy::parse("10/minute;100/hour")?)?;
//! let decision = checkout.consume(b"user:42", 1)?.run()?;      // or `.await?` on any executor
//! assert!(decision.allowed && decision.remaining == 9);
//! # Ok::<(), quotalock::Error>(())
//! ```
//!
//! Durations are microseconds. ARCHITECTURE.md says where everything is.

mod cache;
mod catalog;
mod client;
mod closing;
mod http;
mod json;
mod key;
mod limiter;
mod lock;
mod stock;

pub mod convert;
pub mod driver;
pub mod metrics;
pub mod places;
pub mod reports;
pub mod stored;
pub mod testing;
#[cfg(test)]
mod tests;

pub use cache::single_flight::{Claimed, Looked, MAX_FRESH, MAX_LEASE, Seen};
pub use cache::{
    Cache, CacheOptions, DEFAULT_CACHE_LEASE, DEFAULT_ERROR_TTL, DEFAULT_WAIT_AFTER_LEASE, Got, MAX_GET_MANY,
    MAX_VALUE_BYTES, MIN_CACHE_LEASE, Once, OnceOptions, Part, Ticket, WhenAway,
};
pub use catalog::scripts;
pub use client::{
    Client, DEFAULT_DENY_CACHE_MAX, DEFAULT_PREFIX, DEFAULT_REQUEST_MEMORY, DEFAULT_TIMEOUT, DEFAULT_URL,
    MAX_DENY_CACHE_MAX, MAX_REQUEST_MEMORY, MAX_TIMEOUT, Options, URL_VARIABLE, default_url,
};
pub use http::{DEFAULT_IPV6_PREFIX, HeaderOptions, HeaderSyntax, Problem, client_address};
pub use json::{MAX_JSON_DEPTH, check_json};
pub use key::MAX_KEY_BYTES;
pub use limiter::algorithm::{ALL as ALGORITHMS, Algorithm};
pub use limiter::decision::{CombinedDecision, Decision, RuleDecision, RuleDecisions};
pub use limiter::denials::{
    DEFAULT_DENY_CACHE_KB, DENY_CACHE_FILE_VARIABLE, DenyCache, MAX_DENY_CACHE_KB, MIN_DENY_CACHE_KB, deny_cache,
    deny_cache_file, prepare_deny_cache,
};
pub use limiter::limiter_cache::LimiterCache;
pub use limiter::policy::{MAX_LIMIT, MAX_PERIOD, MAX_RULES, MIN_PERIOD, Policy, Rule};
pub use limiter::{
    Charge, Limiter, LimiterOptions, MAX_CHARGES, MAX_COST, MAX_REQUEST_ID_BYTES, MIN_BLOCK, Replay, Replayed,
    Reservation, Unsettled, has_limiter_warning, limiter_warning,
};
pub use lock::lease_table::{Holder, Inspection};
pub use lock::{
    DEFAULT_LOCK_TTL, DEFAULT_MAX_HOLD, Lock, LockOptions, LockState, LossListener, MAX_ACK_TIMEOUT, MAX_LABEL_BYTES,
    MAX_LOCK_NAMES, MAX_LOCK_TTL, MAX_PERMITS, MIN_LOCK_TTL,
};
pub use stock::{
    DEFAULT_HOLD, DEFAULT_LEDGER_CAP, DEFAULT_STOCK_RETENTION, LedgerEntry, LedgerKind, MAX_HOLD, MAX_LEDGER_CAP,
    MAX_PAGE, MAX_PRIZE_BYTES, MAX_PRIZES, MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE, MAX_QUANTITY, MAX_RESERVATIONS,
    MAX_STOCK_RETENTION, MAX_STOCKS, MIN_HOLD, MIN_LEDGER_CAP, MIN_STOCK_RETENTION, Opening, SETTLED_MEMORY, Stock,
    StockOptions, StockPage, StockPhase, StockReservation, StockStatus, TakeOutcome, Taken, TakenAll,
};
pub use wire::base::credentials::PasswordProvider;
pub use wire::base::error::{Cause, Code, Error, Result};
pub use wire::base::fork::{ForkCell, generation};
pub use wire::base::shared::SharedBy;
pub use wire::base::source::Source;
pub use wire::base::url::redacted;
pub use wire::call::answer::{Answer, AnswerValue};
pub use wire::call::command::OnError;
pub use wire::op::Op;
