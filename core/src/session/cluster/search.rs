//! Asking for the map.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::layout::{self, Layout};
use super::{Cluster, luck};
use crate::base::error::{Code, Error, Result};
use crate::call::refusal;
use crate::call::resp::{self, ReplyLimit, Value};
use crate::connection::deadline::interruption;
use crate::connection::wire::{Broken, Failure, Wire};
use crate::session::node::Node;

/// Room for a cluster whose slots are scattered over a thousand servers.
const LIMIT: ReplyLimit = ReplyLimit { bytes: 8 << 20, items: 400_000 };
/// So many servers share the time for a search; who comes after them has what they left.
const SHARES: usize = 3;
/// What it may cost to find out whether another seed is of the same cluster.
const CHECK: Duration = Duration::from_millis(100);
/// What a call may be late for having asked for the map behind its own answer.
const BESIDE: Duration = Duration::from_millis(100);

impl Cluster {
    /// Asks one server after the other for the map until one gives it: those that are known, else the seeds. Whoever begins it
    /// has begun a search. `keep` leaves the connection for the next call.
    ///
    /// # Errors
    /// Why no server gave a map.
    pub fn search(
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
        let mut why: Option<Error> = None;
        let all = self.candidates();
        for (at, node) in all.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let share = left / (all.len() - at).min(SHARES) as u32;
            match self.ask(node, timeout, Instant::now() + share, keep, interrupted) {
                Ok(layout) => {
                    if !self.read().is_known() {
                        self.check(&layout, node, timeout, deadline, interrupted)?;
                    }
                    self.learn(&layout);
                    return Ok(());
                }
                Err(error) if error.code() == Code::Internal => return Err(error),
                // What a person must mend says more than that somebody is away.
                Err(error) if why.as_ref().is_none_or(|why| why.may_pass() && !error.may_pass()) => why = Some(error),
                Err(_) => {}
            }
        }
        let message = || format!("no server of the cluster at {} gave its map in time: check them", self.seeds);
        Err(why.unwrap_or_else(|| Error::new(Code::Timeout, message())))
    }

    /// The servers to ask, in an order that is not the same in each process, those that are known to be away last.
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
        all.sort_by_key(|node| node.breaker.is_open());
        all
    }

    fn ask(
        &self,
        node: &Node,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Layout> {
        let mut wire = node.connect(timeout, deadline, interrupted)?;
        let layout = self.ask_on(&mut wire, node, deadline, interrupted)?;
        if keep {
            node.pool.keep(wire);
        }
        Ok(layout)
    }

    /// Asks on a connection; after an error it is of no use.
    fn ask_on(
        &self,
        wire: &mut Wire,
        node: &Node,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Layout> {
        let server = &node.server;
        wire.clear();
        resp::command(wire.outgoing().0, &[b"CLUSTER", b"SLOTS"]);
        let reply = match wire.trip(deadline, LIMIT, server, interrupted) {
            Ok(Value::Error(text)) => return Err(refused(&server.scrubbed(&text), &server.to_string())),
            Ok(reply) => reply,
            Err(Broken::Interrupted) => return Err(interruption()),
            Err(Broken::TimedOut) => {
                let message = format!("{server} did not give the map of its cluster in time: check the server");
                return Err(Error::new(Code::Timeout, message));
            }
            Err(Broken::Failed(Failure::NotSent(error) | Failure::Unknown(error))) => return Err(error),
        };
        node.breaker.success();
        let (host, _) = server.place().unwrap_or_default();
        match layout::read(&reply, host, &self.seeds.host_map) {
            Some(layout) if !layout.ranges.is_empty() => Ok(layout),
            Some(_) => {
                let message = format!("{server} knows of no slots: it joined no cluster, or left it; correct the url");
                Err(Error::new(Code::Unavailable, message))
            }
            None => {
                let message = format!("{server} gave a map of its cluster that is none: is there a proxy in between?");
                Err(Error::new(Code::Unavailable, message))
            }
        }
    }

    /// Asks for the map, if it is time, on the connection of a call that was just answered: that costs one trip to a server
    /// that works. False if the connection is of no use any more.
    pub fn look(&self, wire: &mut Wire, node: &Node, timeout: Duration) -> bool {
        if !self.pace.is_due(Instant::now) {
            return true;
        }
        let Some(_search) = self.discovery.begin() else { return true };
        let layout = self.ask_on(wire, node, Instant::now() + timeout.min(BESIDE), &mut || false);
        self.pace.looked(Instant::now());
        layout.map(|layout| self.learn(&layout)).is_ok()
    }

    /// Takes this for the map.
    pub fn learn(&self, layout: &Layout) {
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
        layout: &Layout,
        asked: &Node,
        timeout: Duration,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let end = deadline.min(Instant::now() + CHECK);
        for server in &self.seeds.servers {
            let Some((host, port)) = server.place() else { continue };
            let is_named = |range: &layout::Range| range.places.iter().any(|(h, p)| h == host && *p == port);
            if *server == asked.server || layout.ranges.iter().any(is_named) || Instant::now() >= end {
                continue;
            }
            let Some(node) = self.node(host, port) else { continue };
            match self.ask(&node, timeout, end, false, interrupted) {
                Ok(other) if !layout.ids.is_empty() && other.ids.is_disjoint(&layout.ids) => {
                    return Err(Error::invalid(format!(
                        "{} and {server} are of different clusters: give servers of one cluster",
                        asked.server
                    )));
                }
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
