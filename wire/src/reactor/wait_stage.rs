//! Where somebody is who waits for a lock or for an entry of a cache, how long one rests, and for how long one outlasts a server
//! that is away.

use std::time::{Duration, Instant};

use crate::base::error::Error;

/// In memory nobody gives hints: one asks again after this.
pub const IN_MEMORY: Duration = Duration::from_millis(5);

/// The longest that one rests before asking again: what a lost hint costs at most. Whoever waits must be remembered for longer.
pub const LONGEST_REST: Duration = Duration::from_secs(1);

/// As long one outlasts a server that is away: a restart, or most failovers.
const LONGEST_OUTAGE: Duration = Duration::from_secs(3);
/// How long one rests while a server is away, and up to half of it less; what cannot be reached was asked for next to nothing.
const OUTAGE_REST: Duration = Duration::from_millis(100);

/// How long one rests at most: by its luck up to a fifth less than [`LONGEST_REST`], so that those who wait don't all ask at once.
pub fn longest_rest(luck: u8) -> Duration {
    LONGEST_REST.mul_f64(1.0 - 0.2 * f64::from(luck) / 255.0)
}

/// One who waits, between asking and resting; `Others` says who asks in its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WaitStage<Others> {
    /// Others ask first.
    Behind(Others),
    /// It was asked, and maybe a hint came before the answer that the hint is about.
    Asking {
        /// Whether a hint came meanwhile.
        told: bool,
    },
    /// A subscription is being made.
    Unsubscribed,
    /// It was told to wait for a hint, or until this moment.
    Resting(Instant),
}

impl<Others> WaitStage<Others> {
    /// A question was just sent.
    pub const ASKS: Self = WaitStage::Asking { told: false };

    /// Whether it is being asked.
    pub fn is_asking(&self) -> bool {
        matches!(self, WaitStage::Asking { .. })
    }

    /// Whether it rests.
    pub fn is_resting(&self) -> bool {
        matches!(self, WaitStage::Resting(_))
    }

    /// Whether a subscription is being made.
    pub fn is_unsubscribed(&self) -> bool {
        matches!(self, WaitStage::Unsubscribed)
    }

    /// Whether a new subscription is a reason to ask: without one no hint could be heard.
    pub fn lacks_hints(&self) -> bool {
        self.is_unsubscribed() || self.is_resting()
    }

    /// Takes a hint: true if it is to be asked now.
    pub fn on_hint(&mut self) -> bool {
        if let WaitStage::Asking { told } = self {
            *told = true;
        }
        self.is_resting()
    }

    /// Lets it rest, unless a hint came before the answer that says so: false, then it is to be asked again.
    pub fn rest(&mut self, until: Instant) -> bool {
        if matches!(self, WaitStage::Asking { told: true }) {
            return false;
        }
        *self = WaitStage::Resting(until);
        true
    }

    /// Whether its rest is over.
    pub fn is_rested(&self, now: Instant) -> bool {
        matches!(self, WaitStage::Resting(until) if *until <= now)
    }

    /// When to look after it, whose patience ends at this moment: who asks is answered in its own time.
    pub fn due(&self, patience: Instant) -> Option<Instant> {
        match self {
            WaitStage::Asking { .. } => None,
            WaitStage::Resting(until) => Some(patience.min(*until)),
            WaitStage::Behind(_) | WaitStage::Unsubscribed => Some(patience),
        }
    }
}

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
        let rest = OUTAGE_REST.mul_f64(1.0 - 0.5 * f64::from(luck) / 255.0);
        (now - since < LONGEST_OUTAGE).then(|| (now + rest).min(until))
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
