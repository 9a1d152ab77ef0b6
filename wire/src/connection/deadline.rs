//! How long a blocking call may take, and whether its caller was interrupted meanwhile.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use crate::base::error::{Code, Error, Result};

/// The longest nap between two looks for an interruption.
pub const SLICE: Duration = Duration::from_millis(50);

/// The error of a call that its caller's signal handler, or its like, has ended.
pub fn interruption() -> Error {
    Error::new(Code::Internal, "the call was interrupted")
}

/// Sleeps until a moment, in slices.
///
/// # Errors
/// `internal` if the caller was interrupted, which is asked after each slice.
pub fn sleep_until(until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE));
        if interrupted() {
            return Err(interruption());
        }
    }
}

/// A deadline, cut into slices.
pub(crate) struct CallDeadline<'a> {
    pub(crate) deadline: Instant,
    /// Asked after each slice; true ends the call.
    interrupted: &'a mut dyn FnMut() -> bool,
    /// When it was asked last.
    asked: Instant,
}

impl<'a> CallDeadline<'a> {
    pub(crate) fn new(deadline: Instant, interrupted: &'a mut dyn FnMut() -> bool) -> CallDeadline<'a> {
        CallDeadline { deadline, interrupted, asked: Instant::now() }
    }

    /// How long to nap now: a slice, or what is left.
    pub(crate) fn slice(&self) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.clamp(Duration::from_millis(1), SLICE)
    }

    /// To be called after a nap without news: the error `TimedOut` when time is over, `Interrupted` when the caller was.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        self.asked = Instant::now();
        if (self.interrupted)() {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() >= self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    /// To be called after news: a peer that says something again and again is not waited for any longer than a silent one.
    /// As [`look`](CallDeadline::look), but the caller's interruption is asked for no more often than with naps.
    pub(crate) fn look_up(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if now >= self.deadline || now.duration_since(self.asked) >= SLICE {
            return self.look();
        }
        Ok(())
    }

    /// Waits until a descriptor can be read or written.
    pub(crate) fn ready(&mut self, fd: RawFd, writing: bool) -> io::Result<()> {
        self.look_up()?;
        loop {
            match poll(fd, writing, Instant::now() + self.slice()) {
                Err(e) if e.kind() == ErrorKind::TimedOut => self.look()?,
                news => return news,
            }
        }
    }
}

/// Waits until a descriptor can be read or written, or `deadline` has come: then the error `TimedOut`.
pub(crate) fn poll(fd: RawFd, writing: bool, deadline: Instant) -> io::Result<()> {
    let events = if writing { libc::POLLOUT } else { libc::POLLIN };
    let mut entry = libc::pollfd { fd, events, revents: 0 };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let ms = left.as_millis().clamp(1, 1_000) as libc::c_int;
        // SAFETY: one valid entry, alive during the call.
        match unsafe { libc::poll(&raw mut entry, 1, ms) } {
            0 => {}
            n if n > 0 => return Ok(()),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_its_moment_or_when_it_is_interrupted() {
        let began = Instant::now();
        assert!(sleep_until(began + 2 * SLICE, &mut || false).is_ok());
        assert!(began.elapsed() >= 2 * SLICE);
        let error = sleep_until(Instant::now() + Duration::from_secs(60), &mut || true).unwrap_err();
        assert_eq!(error.code(), Code::Internal);
    }

    #[test]
    fn who_hears_news_all_the_time_is_still_timed_out_and_interrupted() {
        let (now, later) = (Instant::now(), Duration::from_secs(60));
        let looked = |deadline, asked, is_interrupted| {
            let mut interrupted = || is_interrupted;
            let mut call = CallDeadline { deadline, interrupted: &mut interrupted, asked };
            call.look_up().map_err(|error| error.kind())
        };
        assert_eq!(looked(now + later, Instant::now(), false), Ok(()));
        assert_eq!(looked(now, Instant::now(), false), Err(ErrorKind::TimedOut));
        assert_eq!(looked(now + later, now - SLICE, true), Err(ErrorKind::Interrupted));
    }
}
