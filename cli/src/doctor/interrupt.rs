//! Ctrl-C: what goes on for long ends between two of its steps.

use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// Set while the person at the terminal is asked.
static ASKING: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed.
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Notes whether the person at the terminal is asked: then Ctrl-C is an answer.
pub fn asking(now: bool) {
    ASKING.store(now, Ordering::Relaxed);
}

/// Listens to Ctrl-C from now on. It asks to end, and ends at once who is asked, or presses it twice: the undo file is right
/// whenever the program ends.
pub fn listen() {
    let heard = ctrlc::set_handler(|| {
        if STOPPED.swap(true, Ordering::Relaxed) || ASKING.load(Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if heard.is_ok() {
        leave_to_others();
    }
}

/// Leaves Ctrl-C to the thread that listens, in this thread and those that it starts: it would break off their reads.
fn leave_to_others() {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` makes the set, which only then is read; no old set is asked for.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), null_mut());
    }
}
