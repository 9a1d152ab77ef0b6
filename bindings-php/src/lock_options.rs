//! What the methods that make locks have in common: their parameters from `ttlMs` on.

use std::rc::Rc;
use std::time::Duration;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::types::ZendClassObject;
use quotalock::{DEFAULT_LOCK_TTL, LockOptions, convert};

use crate::argument::{Flag, Int, Text};
use crate::exception::Outcome;
use crate::lock::Lock;
use crate::registry::Handle;

/// The default ttl.
pub const TTL_MS: i64 = (DEFAULT_LOCK_TTL / 1_000) as i64;
/// The default of how long replicas have for their answers.
pub const ACK_TIMEOUT_MS: i64 = 100;
/// The default label.
pub const NO_LABEL: &str = "";

/// The arguments.
pub struct LockArguments<'a> {
    pub ttlMs: Int<'a>,
    pub waitMs: Int<'a>,
    pub fair: Flag<'a>,
    pub tokenAbove: Int<'a>,
    pub label: Text<'a>,
    pub replicasAck: Int<'a>,
    pub ackTimeoutMs: Int<'a>,
}

impl LockArguments<'_> {
    /// The PHP object of a lock that `make` makes by a client; `first` is the position of the ttl.
    pub fn lock(
        &self,
        client: &Rc<Handle>,
        first: u32,
        make: impl FnOnce(&quotalock::Client, LockOptions) -> Outcome<quotalock::Lock>,
    ) -> Outcome<ZBox<ZendClassObject<Lock>>> {
        let (options, wait) = self.read(first)?;
        let lock = make(client.shared()?.core(), options)?;
        Ok(Lock::object(lock, wait, Rc::new([client.clone()])))
    }

    /// The options, and how long to wait; `first` is the position of the ttl.
    pub fn read(&self, first: u32) -> Outcome<(LockOptions, Duration)> {
        let wait = self.waitMs.micros(first + 1, "wait")?;
        let options = LockOptions {
            ttl: self.ttlMs.micros(first, "ttl")?,
            // There is no thread of ours in a process of PHP.
            renew: false,
            fair: self.fair.get(first + 2)?,
            token_above: self.tokenAbove.unsigned(first + 3, "token_above")?,
            label: self.label.utf8(first + 4, "label")?.into_owned(),
            replicas_ack: self.replicasAck.unsigned(first + 5, "replicas_ack")?,
            ack_timeout: self.ackTimeoutMs.micros(first + 6, "ack_timeout")?,
            ..LockOptions::default()
        };
        Ok((options, convert::duration(wait)))
    }
}
