//! Calls of a handle besides acquiring and releasing.

use std::sync::Arc;

use super::held::HeldLock;
use super::queue;
use super::quorum;
use super::spec::LockSpec;
use crate::lock::lease_table::{ExtendLease, ForceRelease};
use wire::call::prelude::*;

/// An extension of a handle's lease, by its user.
pub(super) struct ExtendCall {
    /// None if there is nothing to extend.
    held: Option<Arc<HeldLock>>,
    sent: u64,
    extend: ExtendLease,
}

impl ExtendCall {
    pub fn new(held: Option<Arc<HeldLock>>, ttl: u64) -> ExtendCall {
        let held = held.filter(|held| held.is_held());
        let (keys, id, shown) = match &held {
            Some(held) => (held.spec.keys.clone(), held.id, held.spec.shown.clone()),
            None => (Arc::default(), [0; 16], Arc::default()),
        };
        // Described now, sent later: counted from now it is certain.
        let sent = held.as_ref().map_or(0, |held| held.spec.now());
        ExtendCall { held, sent, extend: ExtendLease { keys, id, ttl, shown } }
    }

    /// Extends on most of several servers.
    pub fn everywhere(&self) -> Result<bool> {
        let Some(held) = self.held.as_ref().filter(|held| held.is_held()) else { return Ok(false) };
        let done = quorum::extend(held, self.extend.ttl)?;
        held.extended(self.sent, self.extend.ttl, done);
        Ok(done && held.is_held())
    }
}

impl Command for ExtendCall {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        self.extend.frame()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.extend.args(args);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.extend.twin(space, now)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        let answer = self.extend.decode(fields, origin)?;
        let (Some(done), Some(held)) = (answer.get::<bool>(), &self.held) else { return Ok(answer) };
        held.extended(self.sent, self.extend.ttl, *done);
        // The answer may have come when the lease was over.
        Ok(Answer::new(*done && held.is_held()))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for ExtendCall {
    fn known(&self) -> Option<Answer> {
        // What was lost meanwhile stays lost: its holder may have been told.
        let is_held = self.held.as_ref().is_some_and(|held| held.is_held());
        (!is_held).then_some(Answer::new(false))
    }
}

/// A forced release, of which those who wait in this process hear at once.
pub(super) struct ForceReleaseCall {
    pub spec: Arc<LockSpec>,
    pub release: ForceRelease,
}

impl Command for ForceReleaseCall {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        self.release.frame()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.release.args(args);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.release.twin(space, now)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        queue::freed(&self.spec);
        self.release.decode(fields, origin)
    }
}
