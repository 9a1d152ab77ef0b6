//! Those of one client who wait at the process' thread: for locks, and for entries of a cache. They share a subscription.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::Readers;
use crate::error::Result;
use crate::lease::{Channel, Id};
use crate::lock::Room;
use crate::session::Session;

/// All of them.
#[derive(Default)]
pub(super) struct Waiting {
    pub room: Room,
    pub readers: Readers,
}

impl Waiting {
    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.room.is_empty() && self.readers.is_empty()
    }

    /// What those who need a subscription have in common; none if nobody does.
    pub fn deaf(&self) -> Option<(&Arc<Session>, &Arc<[u8]>)> {
        let at_locks = self.room.any().filter(|_| self.room.is_deaf());
        let at_locks = at_locks.map(|attempt| &attempt.lock.spec).map(|spec| (&spec.shared, &spec.wake_prefix));
        let readers = self.readers.any().filter(|_| self.readers.is_deaf());
        at_locks.or_else(|| readers.map(|reader| &reader.place.spec).map(|spec| (&spec.shared, &spec.wake_prefix)))
    }

    /// The subscription was made, or failed.
    pub fn on_hearing(&mut self, heard: Result<Channel>) {
        match heard {
            Ok(channel) => {
                self.room.on_hearing(channel);
                self.readers.on_hearing(channel);
            }
            Err(error) => {
                self.room.on_deafness(&error);
                self.readers.on_deafness(&error);
            }
        }
    }

    /// The subscription has gone, and nobody waits.
    pub fn on_silence(&mut self) {
        self.room.on_silence();
        self.readers.on_silence();
    }

    /// Hints have come on the subscription.
    pub fn on_hints(&mut self, hints: &[Id]) {
        hints.iter().for_each(|id| self.room.on_hint(id));
        hints.iter().for_each(|topic| self.readers.on_hint(topic));
    }

    /// Does what is due.
    pub fn turn(&mut self, now: Instant) {
        self.room.turn(now);
        self.readers.turn(now);
    }

    /// When to turn again if nothing else happens.
    pub fn next_turn(&self) -> Option<Instant> {
        self.room.next_turn().into_iter().chain(self.readers.next_turn()).min()
    }

    /// Ends everybody's wait: the client was closed.
    pub fn close(&mut self) {
        self.room.close();
        self.readers.close();
    }
}
