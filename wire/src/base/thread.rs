//! Threads of the library's own: they take no signal, which belongs to the host's threads.

use crate::base::error::{Code, Error, Result};

/// Runs `work` on a thread of its own. The thread takes no signal: those belong to the host's threads.
pub(crate) fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = without_signals(|| std::thread::Builder::new().name(name.to_owned()).spawn(work));
    let failed =
        |e| Error::new(Code::Unavailable, format!("no thread could be started ({e}): raise the process' limits"));
    spawned.map(drop).map_err(failed)
}

/// Starts a thread that takes no signal, as `start` does it.
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are plain data, initialised by the calls; the mask of this thread is put back as it was, and
    // the new thread inherits the full one.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    }
}
