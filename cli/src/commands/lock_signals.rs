//! Signals to `lock`, as events, and how this process stops as its command does.

use std::io::{PipeReader, Read, Write, pipe};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Those that are passed on. What stops a process cannot all be caught: `STOP` stops this program, and `KILL` ends it.
const CAUGHT: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// Where the handler writes; -1 before there is a pipe.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub number: i32,
    /// Which process sent it; 0 if that is not known.
    pub sender: i32,
}

impl Received {
    /// Whether it asks a program to end.
    pub fn ends(self) -> bool {
        matches!(self.number, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)
    }
}

/// The signals that come.
pub struct Signals(PipeReader);

impl Signals {
    /// Catches signals from now on, but for those that this program was told to ignore, as by `nohup`: the command ignores them
    /// too.
    ///
    /// # Errors
    /// If the system has no pipe.
    pub fn catch() -> std::io::Result<Signals> {
        let (reader, writer) = pipe()?;
        // SAFETY: it is our own descriptor. A handler must never wait, not even for a full pipe.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        PIPE.store(writer.into_raw_fd(), Ordering::Release);
        // Whoever started this program may ignore how children end: then nobody could be told how the command did.
        // SAFETY: no memory is involved.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        for number in CAUGHT {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: both structures are valid, zeroed is a valid `sigaction`, and the handler calls only what a handler may.
            unsafe {
                libc::sigaction(number, std::ptr::null(), before.as_mut_ptr());
                if before.assume_init().sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = handle as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(number, &action, std::ptr::null_mut());
            }
        }
        Ok(Signals(reader))
    }

    /// Waits for the next one; none if there is none any more.
    pub fn next(&mut self) -> Option<Received> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).ok()?;
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| i32::from_ne_bytes(*word));
        Some(Received { number: word(0), sender: word(4) })
    }
}

extern "C" fn handle(number: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the system gives a valid structure; `write` may be called here, and what it does to errno is undone.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let sender = if (*info).si_code == libc::SI_KERNEL { 0 } else { (*info).si_pid() };
        let mut bytes = [0_u8; 8];
        let _ = (&mut bytes[..4]).write(&number.to_ne_bytes());
        let _ = (&mut bytes[4..]).write(&sender.to_ne_bytes());
        libc::write(PIPE.load(Ordering::Acquire), bytes.as_ptr().cast(), bytes.len());
        *errno = before;
    }
}

/// Ignores the signals that stop a process for using the terminal: this one gives it to its command, and writes to it meanwhile.
/// Returns those of them that the command must not inherit.
pub fn ignore_terminal_stops() -> Vec<i32> {
    let ignored_before = |number: &i32| set_action(*number, libc::SIG_IGN).sa_sigaction == libc::SIG_IGN;
    [libc::SIGTTIN, libc::SIGTTOU].into_iter().filter(|number| !ignored_before(number)).collect()
}

/// Lets a signal do what it does unless somebody catches it. May be called between fork and exec.
pub fn set_default(number: i32) {
    set_action(number, libc::SIG_DFL);
}

/// Stops this process by a signal that stops, and the rest of its process group too unless the terminal has done so. Returns when it
/// is continued.
pub fn stop_here(number: i32, whole_group: bool) {
    let before = set_action(number, libc::SIG_IGN);
    if whole_group {
        // SAFETY: no memory is involved.
        unsafe { libc::kill(0, number) };
    }
    set_action(number, libc::SIG_DFL);
    // SAFETY: no memory is involved. It stops in this call, which a signal to the whole process need not.
    unsafe { libc::raise(number) };
    // SAFETY: the structure comes from the system.
    unsafe { libc::sigaction(number, &raw const before, std::ptr::null_mut()) };
}

/// Sends the process group of this process a signal of the terminal which this process itself ignores from now on.
pub fn send_to_others_of_group(number: i32) {
    set_action(number, libc::SIG_IGN);
    // SAFETY: no memory is involved.
    unsafe { libc::kill(0, number) };
}

fn set_action(number: i32, handler: usize) -> libc::sigaction {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both structures are valid, and zeroed is a valid `sigaction`.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler;
        libc::sigaction(number, &raw const action, before.as_mut_ptr());
        before.assume_init()
    }
}
