//! For simulations: when a process asks for the map of a cluster, in a time of the caller's own.

use std::time::Instant;

use wire::session::discovery::Pace;

/// When one process asks again for the map of its cluster.
#[derive(Default)]
pub struct MapPace(Pace);

impl MapPace {
    /// Something says that the map is not right any more. `luck` chooses the moment at which to ask.
    pub fn doubt(&self, now: Instant, luck: u8) {
        self.0.want(now, || luck);
    }

    /// Whether to ask behind an answer that arrived now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.0.is_due(|| now)
    }

    /// The map was asked for.
    pub fn on_asked(&self, now: Instant) {
        self.0.looked(now);
    }
}
