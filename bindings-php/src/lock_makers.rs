//! The functions that make handles of locks. Written from api/surface.toml by `python3 tools/api`.

#![allow(clippy::too_many_arguments, reason = "a function of PHP has the parameters that its callers may name")]

use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;
use quotalock::LockOptions;

use crate::argument::{Clients, Flag, Int, Text};
use crate::locks::{self, Read};

/// Adds the methods that make locks to the others of the class: `#[php_impl]` reads all methods of a class at once.
macro_rules! with_lock_makers {
    (#[php_impl] impl Client { $($others:tt)* }) => {
        #[php_impl]
        impl Client {
            $($others)*

            /// Makes a handle for a mutex.
            #[php(defaults(
                ttlMs = 30000, waitMs = 0, fair = false, tokenAbove = 0, label = "\"\"", replicasAck = 0,
                ackTimeoutMs = 100
            ))]
            pub fn lock(
                &self,
                name: $crate::argument::Text,
                ttlMs: $crate::argument::Int,
                waitMs: $crate::argument::Int,
                fair: $crate::argument::Flag,
                tokenAbove: $crate::argument::Int,
                label: $crate::argument::Text,
                replicasAck: $crate::argument::Int,
                ackTimeoutMs: $crate::argument::Int,
            ) -> $crate::locks::Made {
                let given = $crate::lock_makers::LockArguments {
                    first: 2, ttlMs, waitMs, fair, tokenAbove, label, replicasAck, ackTimeoutMs
                };
                $crate::locks::lock(self.handle(), name, || given.read())
            }

            /// Makes a handle for several mutexes.
            #[php(defaults(
                ttlMs = 30000, waitMs = 0, fair = false, tokenAbove = 0, label = "\"\"", replicasAck = 0,
                ackTimeoutMs = 100
            ))]
            pub fn lock_all(
                &self,
                names: $crate::argument::Names,
                ttlMs: $crate::argument::Int,
                waitMs: $crate::argument::Int,
                fair: $crate::argument::Flag,
                tokenAbove: $crate::argument::Int,
                label: $crate::argument::Text,
                replicasAck: $crate::argument::Int,
                ackTimeoutMs: $crate::argument::Int,
            ) -> $crate::locks::Made {
                let given = $crate::lock_makers::LockArguments {
                    first: 2, ttlMs, waitMs, fair, tokenAbove, label, replicasAck, ackTimeoutMs
                };
                $crate::locks::lock_all(self.handle(), names, || given.read())
            }

            /// Makes a handle for a semaphore that has `permits` permits.
            #[php(defaults(
                weight = 1, ttlMs = 30000, waitMs = 0, fair = false, tokenAbove = 0, label = "\"\"", replicasAck = 0,
                ackTimeoutMs = 100
            ))]
            pub fn semaphore(
                &self,
                name: $crate::argument::Text,
                permits: $crate::argument::Int,
                weight: $crate::argument::Int,
                ttlMs: $crate::argument::Int,
                waitMs: $crate::argument::Int,
                fair: $crate::argument::Flag,
                tokenAbove: $crate::argument::Int,
                label: $crate::argument::Text,
                replicasAck: $crate::argument::Int,
                ackTimeoutMs: $crate::argument::Int,
            ) -> $crate::locks::Made {
                let given = $crate::lock_makers::LockArguments {
                    first: 4, ttlMs, waitMs, fair, tokenAbove, label, replicasAck, ackTimeoutMs
                };
                $crate::locks::semaphore(self.handle(), name, permits, weight, || given.read())
            }

            /// Makes a handle for reading under a read-write lock.
            #[php(defaults(
                ttlMs = 30000, waitMs = 0, fair = false, tokenAbove = 0, label = "\"\"", replicasAck = 0,
                ackTimeoutMs = 100
            ))]
            pub fn read_lock(
                &self,
                name: $crate::argument::Text,
                ttlMs: $crate::argument::Int,
                waitMs: $crate::argument::Int,
                fair: $crate::argument::Flag,
                tokenAbove: $crate::argument::Int,
                label: $crate::argument::Text,
                replicasAck: $crate::argument::Int,
                ackTimeoutMs: $crate::argument::Int,
            ) -> $crate::locks::Made {
                let given = $crate::lock_makers::LockArguments {
                    first: 2, ttlMs, waitMs, fair, tokenAbove, label, replicasAck, ackTimeoutMs
                };
                $crate::locks::read_lock(self.handle(), name, || given.read())
            }

            /// Makes a handle for writing under a read-write lock.
            #[php(defaults(
                ttlMs = 30000, waitMs = 0, fair = false, tokenAbove = 0, label = "\"\"", replicasAck = 0,
                ackTimeoutMs = 100
            ))]
            pub fn write_lock(
                &self,
                name: $crate::argument::Text,
                ttlMs: $crate::argument::Int,
                waitMs: $crate::argument::Int,
                fair: $crate::argument::Flag,
                tokenAbove: $crate::argument::Int,
                label: $crate::argument::Text,
                replicasAck: $crate::argument::Int,
                ackTimeoutMs: $crate::argument::Int,
            ) -> $crate::locks::Made {
                let given = $crate::lock_makers::LockArguments {
                    first: 2, ttlMs, waitMs, fair, tokenAbove, label, replicasAck, ackTimeoutMs
                };
                $crate::locks::write_lock(self.handle(), name, || given.read())
            }
        }
    };
}
pub(crate) use with_lock_makers;

/// Makes a handle for a quorum lock.
#[php_function]
#[php(name = "Quotalock\\quorum_lock", defaults(ttlMs = 30000, waitMs = 0, tokenAbove = 0, label = "\"\""))]
pub fn quorum_lock(
    clients: Clients,
    name: Text,
    ttlMs: Int,
    waitMs: Int,
    tokenAbove: Int,
    label: Text,
) -> locks::Made {
    let given = QuorumArguments { first: 3, ttlMs, waitMs, tokenAbove, label };
    locks::quorum_lock(clients, name, || given.read())
}

/// The function as the module registers it.
pub fn entry() -> FunctionBuilder<'static> {
    wrap_function!(quorum_lock)
}

/// The `LockOptions` as they were given, from the position `first` on.
pub struct LockArguments<'a> {
    pub first: u32,
    pub ttlMs: Int<'a>,
    pub waitMs: Int<'a>,
    pub fair: Flag<'a>,
    pub tokenAbove: Int<'a>,
    pub label: Text<'a>,
    pub replicasAck: Int<'a>,
    pub ackTimeoutMs: Int<'a>,
}

impl LockArguments<'_> {
    /// Reads them.
    pub fn read(&self) -> Read {
        let wait = self.waitMs.micros(self.first + 1, "wait")?;
        let options = LockOptions {
            ttl: self.ttlMs.micros(self.first, "ttl")?,
            fair: self.fair.get(self.first + 2)?,
            token_above: self.tokenAbove.unsigned(self.first + 3, "token_above")?,
            label: self.label.utf8(self.first + 4, "label")?.into_owned(),
            replicas_ack: self.replicasAck.unsigned(self.first + 5, "replicas_ack")?,
            ack_timeout: self.ackTimeoutMs.micros(self.first + 6, "ack_timeout")?,
            ..locks::base()
        };
        Ok((options, wait))
    }
}

/// The `QuorumOptions` as they were given, from the position `first` on.
pub struct QuorumArguments<'a> {
    pub first: u32,
    pub ttlMs: Int<'a>,
    pub waitMs: Int<'a>,
    pub tokenAbove: Int<'a>,
    pub label: Text<'a>,
}

impl QuorumArguments<'_> {
    /// Reads them.
    pub fn read(&self) -> Read {
        let wait = self.waitMs.micros(self.first + 1, "wait")?;
        let options = LockOptions {
            ttl: self.ttlMs.micros(self.first, "ttl")?,
            token_above: self.tokenAbove.unsigned(self.first + 2, "token_above")?,
            label: self.label.utf8(self.first + 3, "label")?.into_owned(),
            ..locks::base()
        };
        Ok((options, wait))
    }
}
