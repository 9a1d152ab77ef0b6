//! The map of a cluster: who serves each slot, and who may take over.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::layout::{ClusterLayout, NodeAddress};
use super::slot::SLOTS;
use crate::session::node::Node;

/// No shard.
const NONE: u16 = u16::MAX;
/// So many servers are remembered at most beside those of the map: a primary and a replica for each slot.
const MOST_NODES: usize = 2 * SLOTS as usize;
/// A primary that cannot be reached was confirmed by others: so long nobody asks again, and then one at a time.
const PAUSE: Duration = Duration::from_millis(40);
/// What was confirmed longer ago says nothing.
const STALE: Duration = Duration::from_secs(1);

/// Who serves each slot.
#[derive(Default)]
pub(super) struct Map {
    /// The shard of each slot; empty until a map was had.
    slots: Vec<u16>,
    shards: Vec<ClusterShard>,
    /// All servers that were heard of, seeds included.
    nodes: HashMap<NodeAddress, Arc<Node>>,
    base: Option<Instant>,
    /// The microsecond after `base` from which on somebody may be asked about a slot that nobody serves.
    next: AtomicU64,
}

struct ClusterShard {
    primary: Arc<Node>,
    replicas: Vec<Arc<Node>>,
    /// The microsecond after `base` from which on another may be asked in its place, 0 if nobody has confirmed it; and how often
    /// that was done.
    next: AtomicU64,
    turns: AtomicU64,
}

impl ClusterShard {
    fn new(primary: Arc<Node>, replicas: Vec<Arc<Node>>) -> ClusterShard {
        ClusterShard { primary, replicas, next: AtomicU64::new(0), turns: AtomicU64::new(0) }
    }
}

impl Map {
    /// Whether a map was had.
    pub(crate) fn is_known(&self) -> bool {
        !self.slots.is_empty()
    }

    fn shard(&self, slot: u16) -> Option<&ClusterShard> {
        self.shards.get(usize::from(*self.slots.get(usize::from(slot))?))
    }

    pub(crate) fn primary_of(&self, slot: u16) -> Option<&Arc<Node>> {
        self.shard(slot).map(|shard| &shard.primary)
    }

    pub(crate) fn primaries(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.shards.iter().map(|shard| &shard.primary)
    }

    /// All servers that were heard of.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }

    pub(crate) fn node(&self, host: &str, port: u16) -> Option<&Arc<Node>> {
        self.nodes.get(&(host.to_owned(), port))
    }

    /// The server at a place, or a new one, unless there are too many.
    pub(crate) fn node_or(&mut self, host: &str, port: u16, make: impl FnOnce() -> Arc<Node>) -> Option<Arc<Node>> {
        let is_full = self.nodes.len() >= MOST_NODES;
        match self.nodes.entry((host.to_owned(), port)) {
            Entry::Occupied(node) => Some(node.get().clone()),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(place) => Some(place.insert(make()).clone()),
        }
    }

    /// A server serves this slot. One that was a replica was promoted, and serves all of its shard.
    pub(crate) fn give(&mut self, slot: u16, node: &Arc<Node>) {
        let Some(at) = self.slots.get(usize::from(slot)).copied() else { return };
        if let Some(shard) = self.shards.get_mut(usize::from(at)) {
            if shard.primary.number == node.number {
                return;
            }
            if let Some(replica) = shard.replicas.iter_mut().find(|replica| replica.number == node.number) {
                std::mem::swap(&mut shard.primary, replica);
                return;
            }
        }
        // There are not so many: the next map tells.
        if self.shards.len() >= MOST_NODES {
            return;
        }
        let shard = self.shards.iter().position(|shard| shard.primary.number == node.number).unwrap_or_else(|| {
            self.shards.push(ClusterShard::new(node.clone(), Vec::new()));
            self.shards.len() - 1
        });
        node.retire(false);
        self.slots[usize::from(slot)] = shard as u16;
    }

    fn micros(&self, now: Instant) -> u64 {
        self.base.map_or(0, |base| now.saturating_duration_since(base).as_micros() as u64)
    }

    /// Another server says that the primary of this slot still is the one that cannot be reached, or none knows better.
    pub(crate) fn confirmed(&self, slot: u16, now: Instant) {
        if let Some(shard) = self.shard(slot) {
            shard.next.store(self.micros(now) + PAUSE.as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// A server that may know better about a slot whose server was `tried` in vain: the one that serves it by now, else a
    /// replica, else any other primary. None if one was asked a moment ago, and nothing had changed.
    pub(crate) fn stand_by(&self, slot: u16, tried: &Node, now: Instant) -> Option<Arc<Node>> {
        let shard = self.shard(slot)?;
        if shard.primary.number != tried.number {
            return Some(shard.primary.clone());
        }
        let (micros, next) = (self.micros(now), shard.next.load(Ordering::Relaxed));
        if micros < next + STALE.as_micros() as u64 {
            let after = micros + PAUSE.as_micros() as u64;
            if next > 0
                && (micros < next
                    || shard.next.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err())
            {
                return None;
            }
        }
        self.another(slot, tried, &[])
    }

    /// The same, however long ago anybody was asked, but none of the servers with these numbers.
    pub(crate) fn another(&self, slot: u16, tried: &Node, asked: &[u64]) -> Option<Arc<Node>> {
        let shard = self.shard(slot)?;
        let turn = shard.turns.fetch_add(1, Ordering::Relaxed) as usize;
        let is_new = |node: &&Arc<Node>| node.number != tried.number && !asked.contains(&node.number);
        let replicas: Vec<_> = shard.replicas.iter().filter(is_new).collect();
        let primaries: Vec<_> = self.primaries().filter(is_new).collect();
        let groups = [&replicas, &primaries];
        // A server that is down is passed over, and so is one that says that its cluster is.
        let first = |fits: fn(&Node) -> bool| {
            groups.into_iter().find_map(|nodes| {
                let node = |at| nodes[(turn + at) % nodes.len()];
                (0..nodes.len()).map(node).find(|node| fits(node)).cloned()
            })
        };
        let is_reachable = |node: &Node| !node.breaker.is_open();
        let others = || self.nodes().find(|node| is_new(node) && is_reachable(node) && !node.is_retired()).cloned();
        first(|node| !node.breaker.is_open() && !node.is_cut_off())
            .or_else(|| first(|node| !node.breaker.is_open()))
            .or_else(others)
            .or_else(|| replicas.first().map(|node| Arc::clone(node)))
    }

    /// A primary to be asked about a slot that nobody serves as far as is known; none if one was a moment ago.
    pub(crate) fn about_a_hole(&self, now: Instant) -> Option<Arc<Node>> {
        let (micros, next) = (self.micros(now), self.next.load(Ordering::Relaxed));
        let after = micros + PAUSE.as_micros() as u64;
        if micros < next || self.next.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return None;
        }
        let sound: Vec<_> = self.primaries().filter(|node| !node.breaker.is_open()).collect();
        let at = (micros / PAUSE.as_micros() as u64) as usize % sound.len().max(1);
        sound.get(at).map(|node| Arc::clone(node))
    }

    /// Takes a new layout in place of what was known; `node` makes servers, `keep` says which stay though it does not name them.
    pub(crate) fn set(
        &mut self,
        layout: &ClusterLayout,
        node: impl Fn(&NodeAddress) -> Option<Arc<Node>>,
        keep: impl Fn(&NodeAddress) -> bool,
    ) {
        self.base.get_or_insert_with(Instant::now);
        let (mut slots, mut shards) = (vec![NONE; usize::from(SLOTS)], Vec::<ClusterShard>::new());
        let mut numbers = HashMap::new();
        for range in &layout.ranges {
            let mut nodes = Vec::new();
            for place in &range.places {
                let known = self.nodes.get(place).cloned().or_else(|| node(place));
                nodes.extend(known.inspect(|node| drop(self.nodes.insert(place.clone(), node.clone()))));
            }
            let Some((primary, replicas)) = nodes.split_first() else { continue };
            let at = *numbers.entry(primary.number).or_insert_with(|| {
                shards.push(ClusterShard::new(primary.clone(), replicas.to_vec()));
                shards.len() - 1
            });
            slots[usize::from(range.first)..=usize::from(range.last)].fill(at as u16);
        }
        (self.slots, self.shards) = (slots, shards);
        let named: HashSet<&NodeAddress> = layout.ranges.iter().flat_map(|range| &range.places).collect();
        self.nodes.retain(|place, node| {
            let is_named = named.contains(place);
            node.retire(!is_named);
            is_named || keep(place)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Range;
    use super::*;
    use crate::base::endpoint::{Endpoint, Seeds};

    fn seeds() -> Seeds {
        match Endpoint::parse("redis+cluster://seed:1", None).unwrap() {
            Endpoint::Cluster(seeds) => seeds,
            other => panic!("{other:?}"),
        }
    }

    fn place(port: u16) -> NodeAddress {
        ("h".to_owned(), port)
    }

    fn layout(ranges: &[(u16, u16, &[u16])]) -> ClusterLayout {
        let range = |(first, last, ports): &(u16, u16, &[u16])| Range {
            first: *first,
            last: *last,
            places: ports.iter().copied().map(place).collect(),
            primary: ports.first().map(u16::to_string).unwrap_or_default().into_bytes(),
        };
        ClusterLayout { ranges: ranges.iter().map(range).collect(), ..ClusterLayout::default() }
    }

    fn set(map: &mut Map, ranges: &[(u16, u16, &[u16])]) {
        let seeds = seeds();
        let node = |(host, port): &NodeAddress| seeds.server_at(host, *port).map(Node::new);
        map.set(&layout(ranges), node, |(host, _)| host == "seed");
    }

    fn port(map: &Map, slot: u16) -> Option<u16> {
        map.primary_of(slot)?.server.place().map(|(_, port)| port)
    }

    fn of(map: &Map, number: u16) -> Arc<Node> {
        map.node("h", number).unwrap().clone()
    }

    #[test]
    fn slots_move_one_by_one_and_with_a_promotion_all_at_once() {
        let mut map = Map::default();
        assert!(!map.is_known() && port(&map, 0).is_none());
        set(&mut map, &[(0, 99, &[1, 11]), (100, 199, &[2, 12]), (300, 16_383, &[1, 11])]);
        assert_eq!(
            [0, 99, 100, 199, 200, 300].map(|slot| port(&map, slot)),
            [Some(1), Some(1), Some(2), Some(2), None, Some(1)]
        );
        let two = of(&map, 2);
        map.give(5, &two);
        assert_eq!([4, 5, 6].map(|slot| port(&map, slot)), [Some(1), Some(2), Some(1)]);
        let new = map.node_or("h", 3, || Node::new(seeds().server_at("h", 3).unwrap())).unwrap();
        map.give(200, &new);
        assert_eq!([199, 200, 201].map(|slot| port(&map, slot)), [Some(2), Some(3), None]);
        let promoted = of(&map, 11);
        map.give(7, &promoted);
        assert_eq!([0, 5, 99, 300].map(|slot| port(&map, slot)), [Some(11), Some(2), Some(11), Some(11)]);
        let back = of(&map, 1);
        map.give(300, &back);
        assert_eq!(port(&map, 0), Some(1), "and back");
    }

    #[test]
    fn who_is_not_named_any_more_is_retired_and_who_stays_keeps_its_connections() {
        let mut map = Map::default();
        map.node_or("seed", 1, || Node::new(seeds().server_at("seed", 1).unwrap()));
        set(&mut map, &[(0, 99, &[1, 11]), (100, 16_383, &[2])]);
        let (one, two) = (of(&map, 1), of(&map, 2));
        set(&mut map, &[(0, 16_383, &[2, 3])]);
        assert!(map.node("h", 1).is_none() && one.is_retired());
        assert!(of(&map, 2).number == two.number && !two.is_retired());
        assert!(map.node("seed", 1).is_some());
        set(&mut map, &[(0, 16_383, &[1])]);
        assert_ne!(of(&map, 1).number, one.number);
    }

    #[test]
    fn replicas_are_asked_in_turn_and_once_they_confirmed_the_primary_now_and_then() {
        let mut map = Map::default();
        set(&mut map, &[(0, 99, &[1, 11, 12]), (100, 199, &[2])]);
        let (one, other) = (of(&map, 1), of(&map, 2));
        let now = Instant::now();
        let asked = |then| map.stand_by(5, &one, then).map(|node| node.server.to_string());
        assert_eq!([asked(now), asked(now), asked(now)].map(Option::unwrap), ["h:11", "h:12", "h:11"], "nobody knows");
        for turn in 0..3 {
            let then = now + 2 * turn * PAUSE;
            map.confirmed(5, then);
            assert!(asked(then + PAUSE / 2).is_none(), "that was just confirmed");
            assert!(asked(then + PAUSE).is_some());
            assert!(asked(then + PAUSE).is_none(), "one at a time");
        }
        let later = now + 2 * STALE;
        assert!(asked(later).is_some() && asked(later).is_some(), "what was confirmed is of long ago");
        assert_eq!(map.stand_by(150, &one, now).unwrap().number, other.number, "who serves it by now");
        assert_eq!(map.stand_by(150, &other, now).unwrap().number, one.number, "without replicas, another primary");
        let error = crate::base::error::Error::invalid("away");
        of(&map, 11).breaker.failure(Duration::from_secs(60), &error);
        assert_eq!([asked(later), asked(later)].map(Option::unwrap), ["h:12", "h:12"]);
        of(&map, 12).breaker.failure(Duration::from_secs(60), &error);
        assert_eq!(asked(later).unwrap(), "h:2", "nor who is away");
    }

    #[test]
    fn servers_that_are_named_without_end_are_not_remembered_without_end() {
        let mut map = Map::default();
        let layout = (0, 16_383, [1_u16].as_slice());
        set(&mut map, &[layout]);
        let server = seeds().servers[0].clone();
        let named = |map: &mut Map, number: usize| {
            map.node_or(&format!("h{number}"), 1, || Node::new(server.clone())).is_some()
        };
        assert!((1..MOST_NODES).all(|number| named(&mut map, number)));
        assert!(!named(&mut map, MOST_NODES), "one too many");
        assert!(named(&mut map, 1), "one that is known");
        set(&mut map, &[layout]);
        assert!(map.nodes().count() == 1 && named(&mut map, MOST_NODES), "the map tells who is there");
    }

    #[test]
    fn primaries_are_asked_in_turn_about_a_slot_of_none() {
        let mut map = Map::default();
        set(&mut map, &[(0, 99, &[1, 11]), (100, 199, &[2, 12])]);
        let now = Instant::now() + PAUSE;
        let asked = |then| map.about_a_hole(then).map(|node| node.server.to_string());
        let (first, again, second) = (asked(now), asked(now), asked(now + PAUSE));
        assert!(again.is_none(), "one was asked a moment ago");
        assert_eq!(HashSet::from([first.unwrap(), second.unwrap()]), ["h:1", "h:2"].map(str::to_owned).into());
        of(&map, 1).breaker.failure(Duration::from_secs(60), &crate::base::error::Error::invalid("down"));
        let next = [2, 3].map(|turn| asked(now + turn * PAUSE).unwrap());
        assert_eq!(next, ["h:2", "h:2"], "one that is down is passed over");
    }
}
