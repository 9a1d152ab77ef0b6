//! The process group of a command that runs under a lock: signals to all of it, and whether some of it is left.

use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

/// How long to wait before asking again for children, when there are none.
const PAUSE: Duration = Duration::from_millis(100);

/// What the system reports about children of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildChange {
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command ended.
    Ended(ExitStatus),
    /// A process that the command left behind ended.
    OrphanEnded,
}

/// The process group of a command, which is its leader.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup {
    leader: i32,
}

impl ProcessGroup {
    /// The group of a command that was started as the leader of its own.
    pub fn of(command: u32) -> ProcessGroup {
        ProcessGroup { leader: command as i32 }
    }

    /// The number of the group, which is the one of the command's process.
    pub fn id(self) -> i32 {
        self.leader
    }

    /// Sends a signal to every process of the group.
    pub fn send(self, number: i32) {
        // SAFETY: no memory is involved.
        unsafe { libc::kill(-self.leader, number) };
    }

    /// Whether a process of the group is left that has not ended.
    pub fn lives(self) -> bool {
        // SAFETY: no memory is involved.
        let found = unsafe { libc::kill(-self.leader, 0) } == 0;
        if !found && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
            return false;
        }
        // A process that ended counts until its parent reaps it, and a parent outside the group may never do so.
        self.has_children_of_ours() || members_of(self.leader).is_none_or(|members| !members.is_empty())
    }

    /// The processes of the group that have not ended, where the system lists them.
    pub fn members(self) -> Vec<i32> {
        members_of(self.leader).unwrap_or_default()
    }

    fn has_children_of_ours(self) -> bool {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the structure is valid for writing.
        unsafe { libc::waitid(libc::P_PGID, self.leader as libc::id_t, info.as_mut_ptr(), options) == 0 }
    }

    /// Reports what becomes of the command and of what it leaves behind, until nobody listens. Every child of this process
    /// is reaped: with [`adopt_orphans`] those are more than the command.
    pub fn watch(self, mut report: impl FnMut(ChildChange) -> bool) {
        loop {
            let mut status = 0;
            // SAFETY: the number is valid for writing.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WUNTRACED) };
            let goes_on = match pid {
                -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => true,
                -1 => {
                    thread::sleep(PAUSE);
                    report(ChildChange::OrphanEnded)
                }
                _ if libc::WIFSTOPPED(status) => {
                    pid != self.leader || report(ChildChange::Stopped(libc::WSTOPSIG(status)))
                }
                _ if pid == self.leader => report(ChildChange::Ended(ExitStatus::from_raw(status))),
                _ => report(ChildChange::OrphanEnded),
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// Has this process become the parent of what the command leaves behind, so that those are reaped, and known, here. Linux
/// only; elsewhere the system's first process reaps them.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
}

/// The processes of a group that have not ended; none if the system does not list its processes in `/proc`.
fn members_of(group: i32) -> Option<Vec<i32>> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let members: Vec<i32> = numbers
        .filter(|&pid| Process::read(pid).is_some_and(|process| process.group == group && !process.has_ended))
        .collect();
    // A `/proc` without this process is that of another namespace, or of another system.
    Process::read(std::process::id() as i32).map(|_| members)
}

/// What `/proc` has of a process.
struct Process {
    has_ended: bool,
    parent: i32,
    group: i32,
}

impl Process {
    fn read(pid: i32) -> Option<Process> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program is in brackets, and may contain anything.
        let end = text.iter().rposition(|&byte| byte == b')')?;
        let rest = String::from_utf8_lossy(text.get(end + 1..)?).into_owned();
        let mut words = rest.split_ascii_whitespace();
        let state = words.next()?;
        let (parent, group) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Process { has_ended: matches!(state, "Z" | "X" | "x"), parent, group })
    }
}

/// Whether no shell would continue this process if it stopped: its process group is orphaned, as the system calls it, and
/// ignores what a terminal sends to stop it.
pub fn nobody_continues_us() -> bool {
    // SAFETY: no memory is involved, in these and in those below.
    let (group, session, mut parent) = unsafe { (libc::getpgrp(), libc::getsid(0), libc::getppid()) };
    // The parents in the same group are a script's; the first outside it is the shell, if it is of the same session.
    while parent > 0 {
        // SAFETY: as above.
        if unsafe { libc::getsid(parent) } != session {
            return true;
        }
        // SAFETY: as above.
        if unsafe { libc::getpgid(parent) } != group {
            return false;
        }
        parent = Process::read(parent).map_or(0, |process| process.parent);
    }
    true
}
