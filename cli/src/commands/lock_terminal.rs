//! The terminal, which one process group at a time may read: the command gets it when it asks, and returns it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::lock_group::ProcessGroup;

/// The terminal of this session, if it has one. Signals that stop a process for using it must be ignored: then this process may
/// give it away while another is in the foreground.
pub struct Terminal {
    file: Option<File>,
    ours: i32,
    theirs: i32,
}

impl Terminal {
    /// The terminal between this process and a command.
    pub fn shared_with(group: ProcessGroup) -> Terminal {
        let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
        let file = File::options().read(true).write(true).custom_flags(flags).open("/dev/tty").ok();
        // SAFETY: no memory is involved.
        Terminal { file, ours: unsafe { libc::getpgrp() }, theirs: group.id() }
    }

    /// Whether this process is in the foreground.
    pub fn is_ours(&self) -> bool {
        self.foreground() == Some(self.ours)
    }

    /// Whether the command is in the foreground.
    pub fn is_theirs(&self) -> bool {
        self.foreground() == Some(self.theirs)
    }

    /// Puts the command in the foreground, if this process is there; whether it did.
    pub fn give(&self) -> bool {
        self.is_ours() && self.set(self.theirs)
    }

    /// Puts this process in the foreground, if the command is there; whether it did.
    pub fn take_back(&self) -> bool {
        self.is_theirs() && self.set(self.ours)
    }

    fn foreground(&self) -> Option<i32> {
        // SAFETY: it is our own descriptor.
        self.file.as_ref().map(|file| unsafe { libc::tcgetpgrp(file.as_raw_fd()) })
    }

    fn set(&self, group: i32) -> bool {
        // SAFETY: it is our own descriptor.
        self.file.as_ref().is_some_and(|file| unsafe { libc::tcsetpgrp(file.as_raw_fd(), group) } == 0)
    }
}
