//! What a loop watches for a link, and how that changes.

use std::os::fd::RawFd;

use crate::redis::links::Socket;

/// What a loop is to be told about a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To watch it for writing, or else for reading, and to call [`turn`](super::LoopLink::turn) when it is ready.
    Watch {
        /// The descriptor.
        descriptor: RawFd,
        /// Whether for writing.
        writing: bool,
    },
    /// To watch it so no more. The descriptor may be closed already.
    Leave {
        /// The descriptor.
        descriptor: RawFd,
        /// Whether for writing.
        writing: bool,
    },
}

/// What the loop watches now.
#[derive(Default)]
pub(super) struct WatchedSockets(Vec<Socket>);

impl WatchedSockets {
    /// Takes what shall be watched, and returns what the loop must be told, in this order: a new socket may have the
    /// descriptor of one that has gone.
    pub(crate) fn update(&mut self, sockets: impl Iterator<Item = Socket> + Clone) -> Vec<Change> {
        if sockets.clone().eq(self.0.iter().copied()) {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.0, sockets.collect());
        let find = |all: &[Socket], id| all.iter().find(|socket| socket.id == id).copied();
        let mut changes = Vec::new();
        for Socket { descriptor, id, writable } in &before {
            let now = find(&self.0, *id);
            if now.is_none() {
                changes.push(Change::Leave { descriptor: *descriptor, writing: false });
            }
            if *writable && !now.is_some_and(|now| now.writable) {
                changes.push(Change::Leave { descriptor: *descriptor, writing: true });
            }
        }
        for Socket { descriptor, id, writable } in &self.0 {
            let before = find(&before, *id);
            if before.is_none() {
                changes.push(Change::Watch { descriptor: *descriptor, writing: false });
            }
            if *writable && !before.is_some_and(|before| before.writable) {
                changes.push(Change::Watch { descriptor: *descriptor, writing: true });
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(descriptor: RawFd, connection: u64, writable: bool) -> Socket {
        Socket { descriptor, id: (1, connection), writable }
    }

    #[test]
    fn a_loop_is_told_of_changes_only_and_first_of_what_has_gone() {
        let mut watched = WatchedSockets::default();
        let (read, write) =
            (Change::Watch { descriptor: 5, writing: false }, Change::Watch { descriptor: 5, writing: true });
        let (unread, unwrite) =
            (Change::Leave { descriptor: 5, writing: false }, Change::Leave { descriptor: 5, writing: true });
        let mut told = |sockets: &[Socket]| watched.update(sockets.iter().copied());
        assert_eq!(told(&[socket(5, 1, true)]), [read, write]);
        assert_eq!(told(&[socket(5, 1, true)]), []);
        assert_eq!(told(&[socket(5, 1, false)]), [unwrite]);
        let other = Change::Watch { descriptor: 6, writing: false };
        assert_eq!(told(&[socket(5, 1, false), socket(6, 2, false)]), [other]);
        // The system gave the descriptor of the one to another.
        assert_eq!(told(&[socket(6, 2, false), socket(5, 3, true)]), [unread, read, write]);
        assert_eq!(
            told(&[]),
            [
                Change::Leave { descriptor: 6, writing: false },
                Change::Leave { descriptor: 5, writing: false },
                Change::Leave { descriptor: 5, writing: true },
            ]
        );
    }
}
