//! What the page may change: it ends a block, and takes a lock away.

use std::sync::atomic::{AtomicU64, Ordering};

use super::api::Done;
use crate::exit::{Exit, Failure};

/// What may be changed, and what was.
pub struct Writes {
    is_allowed: bool,
    done: AtomicU64,
}

impl Writes {
    /// Nothing was changed yet.
    pub fn new(is_allowed: bool) -> Writes {
        Writes { is_allowed, done: AtomicU64::new(0) }
    }

    /// Whether anything may be.
    pub fn are_allowed(&self) -> bool {
        self.is_allowed
    }

    /// How much was changed.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends a block.
    pub fn unblock(&self, _id: &str) -> Result<Done, Failure> {
        Err(Failure { exit: Exit::Findings, code: "internal", message: "not yet".into() })
    }

    /// Takes a lock away.
    pub fn release(&self, _id: &str) -> Result<Done, Failure> {
        Err(Failure { exit: Exit::Findings, code: "internal", message: "not yet".into() })
    }
}
