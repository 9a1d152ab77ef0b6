//! How a lock is made.

use crate::lock::lease_table::{ALL_PERMITS, MAX_FLOOR};
use wire::base::error::{Error, Result, shown, span};

/// The shortest ttl in microseconds: 10 ms. The margin for drift is 2 ms and 1 %.
pub const MIN_LOCK_TTL: u64 = 10_000;
/// The longest ttl in microseconds: 7 days.
pub const MAX_LOCK_TTL: u64 = 7 * 86_400 * 1_000_000;
/// The default ttl in microseconds: 30 s.
pub const DEFAULT_LOCK_TTL: u64 = 30_000_000;
/// The default of how long a lock is renewed, in microseconds: an hour.
pub const DEFAULT_MAX_HOLD: u64 = 3_600_000_000;
/// The longest label in bytes.
pub const MAX_LABEL_BYTES: usize = 128;
/// The most permits of a semaphore.
pub const MAX_PERMITS: u64 = ALL_PERMITS - 1;
/// The most names in one [`Client::lock_all`](crate::Client::lock_all).
pub const MAX_LOCK_NAMES: usize = 100;
/// The longest that an acquire may wait for replicas, in microseconds: a minute.
pub const MAX_ACK_TIMEOUT: u64 = 60_000_000;

/// How a lock is made, besides its name.
#[derive(Clone, Debug)]
pub struct LockOptions {
    /// For how long a grant lasts unless it is renewed, in microseconds: [`MIN_LOCK_TTL`] to [`MAX_LOCK_TTL`].
    pub ttl: u64,
    /// Whether it is renewed at a third of its ttl, on the process' one thread, while the handle lives.
    pub renew: bool,
    /// For how long it is renewed at most, in microseconds: so that a stuck holder does not block the others forever.
    pub max_hold: u64,
    /// Whether those who wait are served in the order in which they came.
    pub fair: bool,
    /// Every fencing token is larger than this: 0 to 2^52.
    pub token_above: u64,
    /// What [`Inspection`](crate::Inspection) shows of the holder beside its host and process: up to [`MAX_LABEL_BYTES`] bytes.
    pub label: String,
    /// How many replicas must have a grant before it counts: 0, which asks none, to 2^32 - 1.
    pub replicas_ack: u64,
    /// How long an acquire waits for them, in microseconds: 1 ms to [`MAX_ACK_TIMEOUT`].
    pub ack_timeout: u64,
}

impl Default for LockOptions {
    fn default() -> Self {
        LockOptions {
            ttl: DEFAULT_LOCK_TTL,
            renew: true,
            max_hold: DEFAULT_MAX_HOLD,
            fair: false,
            token_above: 0,
            label: String::new(),
            replicas_ack: 0,
            ack_timeout: 100_000,
        }
    }
}

impl LockOptions {
    pub(super) fn check(&self) -> Result<()> {
        check_ttl(self.ttl)?;
        check_floor("token_above", self.token_above)?;
        if self.max_hold == 0 {
            return Err(Error::invalid("max_hold of 0 renews nothing: switch renewal off, or give a longer max_hold"));
        }
        if self.label.len() > MAX_LABEL_BYTES {
            return Err(Error::invalid(format!(
                "label \"{}\" has {} bytes, more than {MAX_LABEL_BYTES}: shorten it",
                shown(self.label.as_bytes()),
                self.label.len()
            )));
        }
        if let Some(control) = self.label.chars().find(|letter| letter.is_control()) {
            let (label, control) = (shown(self.label.as_bytes()), u32::from(control));
            return Err(Error::invalid(format!(
                "label \"{label}\" has a control character, U+{control:04X}: remove it"
            )));
        }
        if self.replicas_ack > u64::from(u32::MAX) {
            return Err(Error::invalid(format!("replicas_ack {} is above 2^32 - 1: lower it", self.replicas_ack)));
        }
        if !(1_000..=MAX_ACK_TIMEOUT).contains(&self.ack_timeout) {
            return Err(Error::invalid(format!(
                "ack_timeout of {} is not between 1 ms and a minute: change it",
                span(self.ack_timeout)
            )));
        }
        Ok(())
    }
}

/// Checks a ttl: [`MIN_LOCK_TTL`] to [`MAX_LOCK_TTL`].
pub(super) fn check_ttl(ttl: u64) -> Result<()> {
    if (MIN_LOCK_TTL..=MAX_LOCK_TTL).contains(&ttl) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "ttl of {} is not between 10 ms and 7 days: change it, and renew a lock that must last longer",
        span(ttl)
    )))
}

/// Checks what tokens must be larger than, an option or an argument: 0 to 2^52.
pub(super) fn check_floor(what: &str, floor: u64) -> Result<()> {
    if floor <= MAX_FLOOR {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} {floor} is above 2^52: give a fencing token that the resource has seen")))
}
