//! Where those who wait are told: at the server of the URL, or, in a cluster, at the one that has the slot of what they wait for.

use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::cluster::slot::{put_into, slot_of};
use super::node::Node;
use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::call::hint::{Channel, SHARDED};
use crate::call::refusal::Redirect;
use crate::connection::deadline::{CallDeadline, interruption};
use crate::connection::subscription::{HintChannel, News, Subscription, new_channel};
use crate::connection::wire::Broken;

/// So many servers are asked who sends messages of a slot; each sends on to the next.
const HOPS: u32 = 4;

impl Session {
    /// The slot of a key, where that matters; else 0.
    pub fn slot(&self, key: &[u8]) -> u16 {
        if self.is_cluster() { slot_of(key) } else { 0 }
    }

    /// Whether it has several servers, each with slots of its own.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.endpoint, Endpoint::Cluster(_))
    }

    /// Whether an ear is where hints for a slot are said first, as far as is known.
    pub fn is_near(&self, slot: u16, ear: HintChannel) -> bool {
        let cluster = ear.node.and_then(|node| Some((node, self.engine().route.cluster()?)));
        cluster.is_none_or(|(node, cluster)| cluster.teller(slot).is_none_or(|teller| teller.number == node))
    }

    /// A new channel in a slot.
    ///
    /// # Errors
    /// That the system has no random bytes.
    pub(crate) fn slot_channel(&self, slot: u16, prefix: &[u8]) -> Result<Channel> {
        let mut channel = new_channel()?;
        channel[0] = SHARDED;
        put_into(slot, prefix, &mut channel);
        Ok(channel)
    }

    /// Learns from a server that refused to send messages of a slot: it may have said who does.
    pub(crate) fn on_refused_slot(&self, slot: u16, node: &Node, text: &str) {
        let redirect = Redirect::read(text).filter(|redirect| !redirect.once);
        match (self.engine().route.cluster(), redirect) {
            (Some(cluster), Some(redirect)) => drop(cluster.moved(slot, &redirect.address, node)),
            (Some(cluster), None) => cluster.doubt(),
            (None, _) => {}
        }
    }

    /// A new subscription where those are told who wait for a key of this slot.
    ///
    /// # Errors
    /// That no server is known in time, or those of the connection and of SUBSCRIBE; `internal` if the caller was interrupted.
    pub(crate) fn subscribe(
        &self,
        slot: u16,
        prefix: &Arc<[u8]>,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(Arc<Node>, Subscription)> {
        let mut hops = 0;
        loop {
            let node = self.teller(slot, deadline, interrupted)?;
            let channel = if self.is_cluster() { Some((slot, self.slot_channel(slot, prefix)?)) } else { None };
            let mut patience = CallDeadline::new(deadline, interrupted);
            let (subscription, news) = Subscription::open(&node.server, node.number, prefix, channel, &mut patience)?;
            self.learn(&node, news);
            hops += 1;
            let is_near = subscription.ear(slot).is_none_or(|ear| self.is_near(slot, ear));
            // From elsewhere it is told as well, if later.
            if is_near || hops >= HOPS || self.teller(slot, deadline, interrupted)?.number == node.number {
                return Ok((node, subscription));
            }
        }
    }

    /// Learns where slots are from what a subscription has heard.
    pub(crate) fn learn(&self, node: &Node, news: Vec<News>) {
        for each in news {
            if let News::Refused(slot, text) = each {
                self.on_refused_slot(slot, node, &text);
            }
        }
    }

    /// The server that tells those who wait for a key of this slot.
    ///
    /// # Errors
    /// That none is known in time; `internal` if the caller was interrupted.
    pub(crate) fn teller(
        &self,
        slot: u16,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Arc<Node>> {
        let route = &self.engine().route;
        if route.teller(slot)?.is_none() && matches!(self.discover(deadline, interrupted), Err(Broken::Interrupted)) {
            return Err(interruption());
        }
        let unknown = || {
            let message = format!("no server of {} could be found to listen at: check them", self.endpoint);
            Error::new(Code::Unavailable, message)
        };
        route.teller(slot)?.ok_or_else(unknown)
    }
}
