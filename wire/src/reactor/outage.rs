//! For how long one who waits outlasts a server that is away.

use std::time::{Duration, Instant};

use crate::base::error::Error;

/// A restart, or most failovers.
const LONGEST: Duration = Duration::from_secs(3);
/// How long one rests meanwhile, and up to half of it less; what cannot be reached was asked for next to nothing.
const REST: Duration = Duration::from_millis(100);

/// What one who waits knows of the server's absence.
#[derive(Clone, Default)]
pub struct Outage {
    /// Since when, and how that shows; none if the server answered.
    seen: Option<(Instant, Error)>,
}

impl Outage {
    /// Until when to rest before what has failed so is tried again, by one whose patience ends at `until`; none if that is of
    /// no use. `luck` keeps those who wait from coming all at once.
    pub fn outlasts(&mut self, error: &Error, until: Instant, luck: u8) -> Option<Instant> {
        let now = Instant::now();
        if !error.may_pass() || until <= now {
            return None;
        }
        let since = self.seen.as_ref().map_or(now, |(since, _)| *since);
        self.seen = Some((since, error.clone()));
        let rest = REST.mul_f64(1.0 - 0.5 * f64::from(luck) / 255.0);
        (now - since < LONGEST).then(|| (now + rest).min(until))
    }

    /// The server has answered.
    pub fn end(&mut self) {
        self.seen = None;
    }

    /// Knows what another has seen.
    pub fn learn(&mut self, other: &Outage) {
        if self.seen.is_none() {
            self.seen.clone_from(&other.seen);
        }
    }

    /// How it shows; none if the server answered.
    pub fn error(&self) -> Option<&Error> {
        self.seen.as_ref().map(|(_, error)| error)
    }
}
