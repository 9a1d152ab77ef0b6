//! What a call remembers of other servers that were asked in place of the one that has its slot.

use std::sync::Arc;

use crate::base::error::Error;
use crate::call::breaker::{Pass, Scope};
use crate::session::node::Node;

/// The primary in whose place another server is asked.
pub(super) struct StandsFor {
    pub(crate) primary: Arc<Node>,
    /// What the call comes to if nobody knows better.
    pub(crate) error: Error,
    pub(crate) why: DetourReason,
}

/// What came of asking other servers: rare, and so not part of each call.
#[derive(Default)]
pub(super) struct Detour {
    /// The primary in whose place another server is asked, if one is.
    pub(crate) stands_for: Option<StandsFor>,
    /// The numbers of the servers that were asked so since the start.
    pub(crate) asked: Vec<u64>,
    /// The servers that have sent it on since the start, and what to say of that once so many have that it goes round.
    pub(crate) trail: Vec<Arc<Node>>,
    pub(crate) round: Option<Box<str>>,
    /// How often it was sent on to a server, for this time only, that could not be reached.
    pub(crate) asked_in_vain: u32,
}

impl Detour {
    /// The call starts again.
    pub(crate) fn begin(&mut self) {
        self.stands_for = None;
        self.asked.clear();
        self.trail.clear();
    }
}

/// Why another server is asked.
#[derive(Clone, Copy)]
pub(super) enum DetourReason {
    /// There is no connection to the primary.
    Away,
    /// It has just refused this call, which was sent so.
    Refused(Scope, Pass),
    /// It refused calls a moment ago, and was not asked again.
    RefusedOthers,
}
