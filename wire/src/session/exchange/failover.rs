//! Who is asked in place of a primary that cannot be reached, or is cut off from the other servers of its cluster.
//!
//! A primary that sees no majority refuses all calls, and its own map goes on naming itself while its replica is promoted. So
//! others are asked: they get the call itself. A replica that was promoted executes it, any other server that sees the majority
//! names the primary, and one that is cut off too says so, and the next one is asked.

use std::time::{Duration, Instant};

use super::detour::{Detour, DetourReason, StandsFor};
use super::{Exchange, FIRST_PAUSE, Step};
use crate::base::error::Error;
use crate::call::breaker::Pass;

/// So many servers are asked at most before a call pauses, or ends.
const MOST: usize = 4;

/// So often a call follows a redirection for one time only to a server that cannot be reached.
const ASKS: u32 = 3;

impl Exchange {
    pub(super) fn detour(&mut self) -> &mut Detour {
        self.detour.get_or_insert_default()
    }

    /// Whether another server is asked in place of a primary.
    pub(super) fn stands_in(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| detour.stands_for.is_some())
    }

    /// The primary in whose place another server was asked, if one was.
    pub(super) fn take_stands_for(&mut self) -> Option<StandsFor> {
        self.detour.as_mut()?.stands_for.take()
    }

    /// Its server cannot be reached, and has not got the call. In a cluster another may have taken over.
    pub(super) fn unreachable(&mut self, error: Error, retry_after: Duration) -> Step {
        let micros = retry_after.as_micros() as u64;
        let session = self.session.clone();
        // Whatever keeps the call from a server that stands in says nothing of the next one.
        if let Some(stands_for) = self.take_stands_for() {
            return self.ask_another(stands_for);
        }
        let Some(cluster) = session.engine().route.cluster().filter(|_| error.may_pass()) else {
            return self.not_reached(error, micros);
        };
        if std::mem::take(&mut self.asking) {
            let detour = self.detour();
            detour.asked_in_vain += 1;
            let in_vain = detour.asked_in_vain;
            let error = self.node.as_ref().map_or_else(|| error.clone(), |node| cluster.explained(node, error.clone()));
            // The server that has the slot may think better of it, but a host that lets nobody in stays as it is.
            return if in_vain < ASKS { self.again(error, FIRST_PAUSE) } else { self.give_up(error) };
        }
        let Some(tried) = self.node.clone() else { return self.not_reached(error, micros) };
        let error = cluster.explained(&tried, error);
        match self.stand_in(StandsFor { primary: tried, error, why: DetourReason::Away }) {
            Ok(step) => step,
            // A call that has nowhere to go may as well ask for the map.
            Err(_) if cluster.pace.is_due(Instant::now) && Instant::now() < self.deadline => Step::Discover,
            Err(stands_for) => self.not_reached(stands_for.error, micros),
        }
    }

    /// Its server says that its cluster is down, or refused calls for that a moment ago: that is for others to say.
    pub(super) fn cut_off(&mut self, error: Error, why: DetourReason) -> Step {
        let Some(primary) = self.node.clone() else { return self.not_reached(error, 0) };
        if let Some(stands_for) = self.take_stands_for() {
            return self.ask_another(stands_for);
        }
        self.stand_in(StandsFor { primary, error, why }).unwrap_or_else(|stands_for| self.in_vain(stands_for))
    }

    /// Asks another server, unless one was asked a moment ago, or there is none.
    fn stand_in(&mut self, stands_for: StandsFor) -> Result<Step, StandsFor> {
        let session = self.session.clone();
        let is_over = self.detour().asked.len() >= MOST || Instant::now() >= self.deadline;
        let cluster = session.engine().route.cluster().filter(|_| !is_over);
        let (slot, asked) = (self.slot, &self.detour().asked);
        let other = cluster.and_then(|cluster| cluster.stand_by(slot, &stands_for.primary, asked));
        let Some((cluster, other)) = cluster.zip(other) else { return Err(stands_for) };
        self.detour().asked.push(other.number);
        // The map may have changed meanwhile: then it is the primary by now.
        if !cluster.is_at(self.slot, &other) {
            self.detour().stands_for = Some(stands_for);
        }
        (self.with_text, self.asking, self.pass, self.node) = (false, false, Pass::Usual, Some(other));
        Ok(Step::Send)
    }

    /// A server that was asked in place of a primary knows nothing either.
    pub(super) fn ask_another(&mut self, stands_for: StandsFor) -> Step {
        self.stand_in(stands_for).unwrap_or_else(|stands_for| {
            // No other call need ask for a while.
            if let Some(cluster) = self.session.engine().route.cluster() {
                cluster.confirmed(self.slot);
            }
            self.in_vain(stands_for)
        })
    }

    /// A server that sees the majority says that the primary is still the one in whose place it was asked.
    pub(super) fn confirmed(&mut self, stands_for: StandsFor) -> Step {
        if let Some(cluster) = self.session.engine().route.cluster() {
            cluster.confirmed(self.slot);
        }
        if matches!(stands_for.why, DetourReason::RefusedOthers) && Instant::now() < self.deadline {
            (self.with_text, self.pass, self.node) = (false, Pass::Probe, Some(stands_for.primary));
            return Step::Send;
        }
        self.in_vain(stands_for)
    }

    /// Nobody knows better.
    fn in_vain(&mut self, stands_for: StandsFor) -> Step {
        self.node = Some(stands_for.primary);
        match stands_for.why {
            DetourReason::Away | DetourReason::RefusedOthers => self.not_reached(stands_for.error, 0),
            DetourReason::Refused(scope, pass) => {
                self.pass = pass;
                self.refused(stands_for.error, scope)
            }
        }
    }

    /// The script ran. In place of a primary that is what only its successor does.
    pub(super) fn took_over(&mut self) {
        if self.take_stands_for().is_some()
            && let (Some(cluster), Some(node)) = (self.session.engine().route.cluster(), &self.node)
        {
            cluster.promoted(self.slot, node);
        }
    }
}
