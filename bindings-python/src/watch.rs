//! What a loop watches for a connection, and how that changes.

use std::os::fd::RawFd;

use quotalock::driver::Interest;

/// The name of a method of the loop, and the descriptor it is for.
pub type Change = (&'static str, RawFd);

/// What the loop watches now.
#[derive(Default)]
pub struct Watched {
    socket: Option<(RawFd, u64)>,
    writable: bool,
}

impl Watched {
    /// Takes what shall be watched and returns what the loop must be told.
    pub fn update(&mut self, interest: Interest) -> Vec<Change> {
        let mut changes = Vec::new();
        let old = std::mem::replace(&mut self.socket, interest.socket);
        let mut was_writable = std::mem::replace(&mut self.writable, interest.writable);
        // A new number is a new socket, though the system may have given it the descriptor of the old one.
        if old != interest.socket {
            if let Some((descriptor, _)) = old {
                changes.push(("remove_reader", descriptor));
                if was_writable {
                    changes.push(("remove_writer", descriptor));
                }
            }
            if let Some((descriptor, _)) = interest.socket {
                changes.push(("add_reader", descriptor));
            }
            was_writable = false;
        }
        match interest.socket {
            Some((descriptor, _)) if interest.writable && !was_writable => changes.push(("add_writer", descriptor)),
            Some((descriptor, _)) if was_writable && !interest.writable => changes.push(("remove_writer", descriptor)),
            _ => {}
        }
        changes
    }
}
