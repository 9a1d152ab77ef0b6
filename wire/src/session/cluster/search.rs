//! Asking for the map.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::layout::{self, ClusterLayout};
use super::survey::{self, ClusterView, Health, Survey};
use super::{Cluster, luck};
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result};
use crate::call::refusal;
use crate::call::resp::{self, Reply, ReplyLimit};
use crate::connection::deadline::interruption;
use crate::connection::wire::{Broken, Failure, Wire};
use crate::session::node::Node;

/// Room for a cluster whose slots are scattered over a thousand servers.
const LIMIT: ReplyLimit = ReplyLimit { bytes: 8 << 20, items: 400_000 };
/// So many servers share the time for a search; who comes after them has what they left.
const SHARES: usize = 3;
/// No more servers are asked in one search.
const MOST: usize = 64;
/// What it may cost to find out whether another seed is of the same cluster.
const CHECK: Duration = Duration::from_millis(100);
/// What of its time a call may use to ask for the map behind its own answer.
const BESIDE: Duration = Duration::from_millis(100);

impl Cluster {
    /// Asks one server after the other for the map until one of them can be believed: those that are known, else the seeds and
    /// whom they name. Whoever begins it has begun a search. `keep` leaves the connections for the next calls.
    ///
    /// # Errors
    /// Why no server gave a map.
    pub(crate) fn search(
        &self,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let began = Instant::now();
        let found = self.ask_all(timeout, deadline, keep, interrupted);
        match &found {
            Ok(()) => self.absence.success(),
            // That the caller was interrupted says nothing.
            Err(error) if error.code() == Code::Internal => {}
            Err(error) if !self.read().is_known() => self.absence.failure(began.elapsed(), error),
            Err(_) => {}
        }
        self.pace.looked(Instant::now());
        found
    }

    fn ask_all(
        &self,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let (mut why, mut survey): (Option<Error>, Survey) = (None, Survey::default());
        let known = self.known_epoch();
        let (mut all, mut end) = (self.candidates(), deadline);
        let mut at = 0;
        while at < all.len() && !survey.is_settled(known) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let (node, share) = (all[at].clone(), left / (all.len() - at).min(SHARES) as u32);
            at += 1;
            match self.ask(&node, timeout, Instant::now() + share, keep, interrupted) {
                Ok(view) => {
                    // The others have half of the rest then: there is something to go by.
                    if view.health > Health::Fails && end == deadline {
                        let now = Instant::now();
                        end = now + deadline.saturating_duration_since(now) / 2;
                    }
                    survey.add(view);
                    if let Some(last) = survey.views().last().filter(|_| !survey.is_settled(known)) {
                        self.add_named(&last.layout, &mut all);
                    }
                }
                Err(error) if error.code() == Code::Internal => return Err(error),
                // What a person must mend says more than that somebody is away.
                Err(error) if why.as_ref().is_none_or(|why| why.may_pass() && !error.may_pass()) => why = Some(error),
                Err(_) => {}
            }
        }
        if let Some(best) = survey.best() {
            if known.is_none() {
                self.check(best, &survey, timeout, deadline, interrupted)?;
            }
            // Of those that see no majority nobody knows more than is known.
            if known.is_none() || best.health > Health::Fails {
                self.learn(&best.layout, best.epoch);
            }
            return Ok(());
        }
        let message = || format!("no server of the cluster at {} gave its map in time: check them", self.seeds);
        Err(why.unwrap_or_else(|| Error::new(Code::Timeout, message())))
    }

    /// The epoch of the map, if there is one.
    fn known_epoch(&self) -> Option<u64> {
        self.read().is_known().then(|| self.epoch.load(Ordering::Relaxed))
    }

    /// Adds the servers that a map names, primaries first, unless they are there.
    fn add_named(&self, ClusterLayout { ranges, .. }: &ClusterLayout, all: &mut Vec<Arc<Node>>) {
        let primaries = ranges.iter().filter_map(|range| range.places.first());
        let replicas = ranges.iter().flat_map(|range| range.places.iter().skip(1));
        for (host, port) in primaries.chain(replicas) {
            if all.len() >= MOST {
                return;
            }
            if let Some(node) = self.node(host, *port)
                && all.iter().all(|other| other.number != node.number)
            {
                all.push(node);
            }
        }
    }

    /// The servers to ask, in an order that is not the same in each process, those that are known to be down or cut off last.
    fn candidates(&self) -> Vec<Arc<Node>> {
        let seeds = self.seeds.servers.iter().filter_map(|server| server.place());
        let mut seeds: Vec<_> = seeds.filter_map(|(host, port)| self.node(host, port)).collect();
        let first = usize::from(luck()) % seeds.len().max(1);
        seeds.rotate_left(first);
        let map = self.read();
        if !map.is_known() {
            return seeds;
        }
        let mut all: Vec<_> = map.nodes().filter(|node| !node.is_retired()).cloned().collect();
        all.sort_by_key(|node| node.number);
        let first = usize::from(luck()) % all.len().max(1);
        all.rotate_left(first);
        seeds.retain(|seed| all.iter().all(|node| node.number != seed.number));
        all.append(&mut seeds);
        all.sort_by_key(|node| (node.breaker.is_open(), node.is_cut_off()));
        all
    }

    fn ask(
        &self,
        node: &Node,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<ClusterView> {
        let mut wire = node.connect(timeout, deadline, interrupted)?;
        let view = self.ask_on(&mut wire, node, deadline, interrupted)?;
        if keep {
            node.pool.give_back(wire);
        }
        Ok(view)
    }

    /// Asks on a connection; after an error it is of no use.
    fn ask_on(
        &self,
        wire: &mut Wire,
        node: &Node,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<ClusterView> {
        let server = &node.server;
        wire.clear();
        let out = wire.outgoing().0;
        resp::command(out, &[b"CLUSTER", b"INFO"]);
        resp::command(out, &[b"CLUSTER", b"SLOTS"]);
        let told = wire
            .trip(deadline, ReplyLimit::SMALL, server, interrupted)
            .and_then(|info| Ok((survey::health(&info), wire.receive(deadline, LIMIT, server, interrupted)?)));
        let ((health, epoch), reply) = match told {
            Ok((_, Reply::Error(text))) => return Err(refused(&server.scrubbed(&text), &server.to_string())),
            Ok(told) => told,
            Err(Broken::Interrupted) => return Err(interruption()),
            Err(Broken::TimedOut) => {
                let message = format!("{server} did not give the map of its cluster in time: check the server");
                return Err(Error::new(Code::Timeout, message));
            }
            Err(Broken::Failed(Failure::NotSent(error) | Failure::Unknown(error))) => return Err(error),
        };
        node.breaker.success();
        node.says_cut_off(health == Health::Fails);
        let (host, _) = server.place().unwrap_or_default();
        match layout::read(&reply, host, &self.seeds.host_map) {
            Some(layout) if !layout.ranges.is_empty() => Ok(ClusterView { from: node.number, health, epoch, layout }),
            Some(_) => {
                let message = format!("{server} knows of no slots: it joined no cluster, or left it; correct the url");
                Err(Error::new(Code::Unavailable, message))
            }
            None => {
                let message = format!("{server} returned an invalid cluster map: is there a proxy in between?");
                Err(Error::new(Code::Unavailable, message))
            }
        }
    }

    /// Asks for the map, if it is time, on the connection of a call that was just answered: that costs one trip to a server
    /// that works, within what is left of the call's time. False if the connection is of no use any more.
    pub(crate) fn look(&self, wire: &mut Wire, node: &Node, deadline: Instant) -> bool {
        let now = Instant::now();
        if !self.pace.is_due(|| now) || now >= deadline {
            return true;
        }
        let Some(_search) = self.discovery.begin() else { return true };
        let view = self.ask_on(wire, node, deadline.min(now + BESIDE), &mut || false);
        self.pace.looked(Instant::now());
        let Ok(view) = view else { return false };
        let mut hearsay = self.hearsay.lock().unwrap_or_else(PoisonError::into_inner);
        hearsay.add(view);
        match hearsay.best().filter(|_| hearsay.is_settled(self.known_epoch())).cloned() {
            Some(best) => {
                self.learn(&best.layout, best.epoch);
                *hearsay = Survey::default();
            }
            // Others are asked behind calls of theirs.
            None => self.doubt(),
        }
        true
    }

    /// Takes this for the map.
    pub(crate) fn learn(&self, layout: &ClusterLayout, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
        let seeds = || self.seeds.servers.iter().filter_map(|server| server.place());
        self.write().set(
            layout,
            |(host, port)| Some(self.new_node(self.seeds.server_at(host, *port)?)),
            |(host, port)| seeds().any(|seed| seed == (host, *port)),
        );
    }

    /// Whether the other seeds are of the same cluster. Those that its map names are; others are asked, if they answer.
    fn check(
        &self,
        best: &ClusterView,
        survey: &Survey,
        timeout: Duration,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let end = deadline.min(Instant::now() + CHECK);
        let layout = &best.layout;
        let is_apart = |other: &ClusterView| !layout.ids.is_empty() && other.layout.ids.is_disjoint(&layout.ids);
        let seeds = self.seeds.servers.iter();
        let seeds: Vec<_> =
            seeds.filter_map(|server| server.place()).filter_map(|(host, port)| self.node(host, port)).collect();
        let name = |number| self.read().nodes().find(|node| node.number == number).map(|node| node.server.to_string());
        let apart = |server: &Server| {
            let asked = name(best.from).unwrap_or_default();
            Err(Error::invalid(format!("{asked} and {server} are of different clusters: give servers of one cluster")))
        };
        for node in seeds {
            let place = node.server.place();
            let is_named = |range: &layout::Range| range.places.iter().any(|(h, p)| place == Some((h, *p)));
            if let Some(heard) = survey.views().find(|view| view.from == node.number) {
                if is_apart(heard) {
                    return apart(&node.server);
                }
                continue;
            }
            if layout.ranges.iter().any(is_named) || Instant::now() >= end {
                continue;
            }
            match self.ask(&node, timeout, end, false, interrupted) {
                Ok(other) if is_apart(&other) => return apart(&node.server),
                Err(error) if error.code() == Code::Unavailable && !error.may_pass() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The error for a server that refuses to give the map.
fn refused(text: &str, server: &str) -> Error {
    if text.contains("cluster support disabled") {
        let message = format!("{server} is not part of a Redis Cluster: use redis:// for it, or correct the url");
        return Error::new(Code::Unavailable, message).lasting();
    }
    if text.starts_with("NOPERM") {
        return refusal::not_permitted(text, None, server);
    }
    if refusal::is_unknown_command(text) {
        let message = format!(
            "{server} does not know CLUSTER SLOTS: it was renamed there, or this is no Redis Cluster; restore it, or \
             correct the url"
        );
        return Error::new(Code::NotPermitted, message);
    }
    let said = crate::base::error::shown(text.as_bytes());
    Error::new(Code::Unavailable, format!("{server} gave no map of its cluster ({said}): wait, or check its log"))
}
