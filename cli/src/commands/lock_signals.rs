//! Signals to `lock`, as events: who sent them, and whether the command has got them already.

use std::io::{PipeReader, Read, Write, pipe};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Those that are passed on. What stops a process cannot all be caught: `STOP` stops this program, and `KILL` ends it.
const CAUGHT: [i32; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Where the handler writes; -1 before there is a pipe.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub number: i32,
    /// Whether the terminal sent it to all processes of the job, the command among them.
    pub is_from_terminal: bool,
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
        let mut bytes = [0; 12];
        self.0.read_exact(&mut bytes).ok()?;
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| i32::from_ne_bytes(*word));
        Some(Received { number: word(0), is_from_terminal: word(4) == 1, sender: word(8) })
    }
}

extern "C" fn handle(number: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the system gives a valid structure; `write` may be called here, and what it does to errno is undone.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let from_terminal = (*info).si_code == libc::SI_KERNEL;
        let sender = if from_terminal { 0 } else { (*info).si_pid() };
        let mut bytes = [0_u8; 12];
        let _ = (&mut bytes[..4]).write(&number.to_ne_bytes());
        let _ = (&mut bytes[4..8]).write(&i32::from(from_terminal).to_ne_bytes());
        let _ = (&mut bytes[8..]).write(&sender.to_ne_bytes());
        libc::write(PIPE.load(Ordering::Acquire), bytes.as_ptr().cast(), bytes.len());
        *errno = before;
    }
}

/// Sends a signal to a process that is not reaped yet.
pub fn send(pid: u32, number: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid as i32, number) };
}

/// Stops this process as the signal would have that was caught.
pub fn stop_here() {
    // SAFETY: no memory is involved.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Waits until a child stops, which is true, or has ended. Then it is left to be reaped: until then its number is its own.
pub fn await_stop_or_end(pid: u32) -> bool {
    let wait = |options| {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        loop {
            // SAFETY: the structure is valid for writing, and zeroed it is a valid one.
            let (failed, info) =
                unsafe { (libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), options) != 0, info.assume_init()) };
            if !failed || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                return info.si_code;
            }
        }
    };
    let stopped = wait(libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT) == libc::CLD_STOPPED;
    if stopped {
        // It is told once.
        wait(libc::WSTOPPED | libc::WNOHANG);
    }
    stopped
}
