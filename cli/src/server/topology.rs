//! Who belongs together, as Sentinels and clusters say it.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use quotalock::places::{ClusterSeeds, Place, Reach, WatchedPrimary};
use redis::Value;

use super::node::Node;
use super::refusal::{Refusal, RefusalKind};

/// A primary and its replicas.
pub struct ServerGroup {
    /// The one that takes writes.
    pub primary: Place,
    /// The others.
    pub replicas: Vec<Place>,
    /// What it has of a cluster.
    pub slots: Vec<RangeInclusive<u16>>,
}

impl ServerGroup {
    /// Whether it has a slot of a cluster.
    pub fn has(&self, slot: u16) -> bool {
        self.slots.iter().any(|slots| slots.contains(&slot))
    }

    /// All of them, and whether each is the primary.
    pub fn places(self) -> impl Iterator<Item = (Place, bool)> {
        std::iter::once((self.primary, true)).chain(self.replicas.into_iter().map(|place| (place, false)))
    }
}

/// What the first Sentinel that answers says of a primary.
pub fn watched(watched: &WatchedPrimary, within: Duration) -> Result<ServerGroup, Refusal> {
    let known = watched.clone();
    let found = first_of(watched.sentinels(), move |sentinel| ask_sentinel(sentinel, &known, within));
    found.unwrap_or_else(|| Err(Refusal { why: RefusalKind::Away, message: "the url names no Sentinel".to_owned() }))
}

/// Asks all at once and returns the first answer, so one server that hangs delays nothing. If all refuse, returns the last
/// refusal; none if there are no places.
fn first_of<T: Send + 'static>(
    places: impl IntoIterator<Item = Place>,
    ask: impl Fn(Place) -> Result<T, Refusal> + Clone + Send + 'static,
) -> Option<Result<T, Refusal>> {
    let (tell, told) = channel();
    for place in places {
        let (tell, ask) = (tell.clone(), ask.clone());
        // Nobody listens any more once one has answered.
        thread::spawn(move || drop(tell.send(ask(place))));
    }
    drop(tell);
    let mut last = None;
    for answer in told {
        let is_answer = answer.is_ok();
        last = Some(answer);
        if is_answer {
            break;
        }
    }
    last
}

fn ask_sentinel(sentinel: Place, watched: &WatchedPrimary, within: Duration) -> Result<ServerGroup, Refusal> {
    let name = watched.name();
    let mut node = Node::connect(sentinel, true, false, within)?;
    let found: Option<(String, u16)> = node.ask(redis::cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name))?;
    let Some((host, port)) = found else {
        let message = format!("the Sentinel {} knows no primary {name}: see `SENTINEL MASTERS`", node.place);
        return Err(Refusal { why: RefusalKind::Other, message });
    };
    // A Sentinel of Redis before 5 knows no replicas by this word, and does without.
    let replicas: Vec<HashMap<String, String>> =
        node.ask(redis::cmd("SENTINEL").arg("REPLICAS").arg(name)).unwrap_or_default();
    let replicas =
        replicas.iter().filter_map(|fields| Some(watched.at(fields.get("ip")?, fields.get("port")?.parse().ok()?)));
    Ok(ServerGroup { primary: watched.at(&host, port), replicas: replicas.collect(), slots: Vec::new() })
}

/// What the first server of a cluster that answers says of all.
pub fn cluster(seeds: &ClusterSeeds, within: Duration) -> Result<Vec<ServerGroup>, Refusal> {
    let known = seeds.clone();
    let found = first_of(seeds.places(), move |seed| ask_cluster(seed, &known, within));
    found.unwrap_or_else(|| Err(Refusal { why: RefusalKind::Away, message: "the url names no server".to_owned() }))
}

fn ask_cluster(seed: Place, seeds: &ClusterSeeds, within: Duration) -> Result<Vec<ServerGroup>, Refusal> {
    let mut node = Node::connect(seed, true, false, within)?;
    let ranges: Vec<Value> = node.ask(redis::cmd("CLUSTER").arg("SLOTS"))?;
    let odd = || Refusal::odd(&node.place, "CLUSTER SLOTS");
    let mut groups: Vec<ServerGroup> = Vec::new();
    for range in ranges {
        let Value::Array(fields) = range else { return Err(odd()) };
        let [Value::Int(first), Value::Int(last), ..] = fields[..] else { return Err(odd()) };
        let (Ok(first), Ok(last)) = (u16::try_from(first), u16::try_from(last)) else { return Err(odd()) };
        let mut places = fields.iter().skip(2).map(|fields| place(fields, &node.place, seeds));
        // One without an address serves nobody, nor do its replicas.
        let Some(Some(primary)) = places.next() else { continue };
        match groups.iter_mut().find(|group| group.primary == primary) {
            Some(group) => group.slots.push(first..=last),
            None => {
                groups.push(ServerGroup { primary, replicas: places.flatten().collect(), slots: vec![first..=last] })
            }
        }
    }
    match groups.is_empty() {
        true => {
            let message = format!("{} knows no server that serves a slot: see `CLUSTER INFO`", node.place);
            Err(Refusal { why: RefusalKind::Other, message })
        }
        false => Ok(groups),
    }
}

/// Whether the node that wrote this `CLUSTER NODES` is the only one with slots: then it redirects nobody.
pub fn is_alone(map: &str) -> bool {
    // An id, an address, flags, five more words; then slots, and those on their way in brackets.
    let has_slots = |line: &&str| line.split(' ').skip(8).any(|word| !word.starts_with('[') && !word.is_empty());
    let is_own = |line: &str| line.split(' ').nth(2).is_some_and(|flags| flags.split(',').any(|flag| flag == "myself"));
    let mut with_slots = map.lines().filter(has_slots).peekable();
    with_slots.peek().is_some() && with_slots.all(is_own)
}

/// Where a server of the cluster is; one without a name is who answered.
fn place(fields: &Value, asked: &Place, seeds: &ClusterSeeds) -> Option<Place> {
    let Value::Array(fields) = fields else { return None };
    let (name, Value::Int(port)) = (fields.first()?, fields.get(1)?) else { return None };
    let port = u16::try_from(*port).ok().filter(|port| *port > 0)?;
    let name = match name {
        Value::BulkString(name) => std::str::from_utf8(name).ok()?,
        Value::SimpleString(name) => name,
        _ => "",
    };
    match (name, asked.reach()) {
        ("?", _) => None,
        ("", Reach::Tcp { host, .. }) => seeds.at(host, port),
        (name, _) => seeds.at(name, port),
    }
}
