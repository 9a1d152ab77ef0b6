//! Who serves which slots, as a server says it: the reply to `CLUSTER SLOTS`, and the addresses in redirections.

use std::collections::HashSet;

use crate::base::endpoint::HostMap;
use crate::call::resp::Reply;
use crate::session::cluster::slot::SLOTS;

/// Where a server listens.
pub(crate) type NodeAddress = (String, u16);

/// Slots that the same servers serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// The primary, then its replicas.
    pub(crate) places: Vec<NodeAddress>,
    /// The id of the primary.
    pub(crate) primary: Vec<u8>,
}

/// Slots and the id of their primary.
pub(crate) type SlotOwner = (u16, u16, Vec<u8>);

/// The whole cluster, as one of its servers sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterLayout {
    pub(crate) ranges: Vec<Range>,
    /// The ids of all servers.
    pub(crate) ids: HashSet<Vec<u8>>,
}

impl ClusterLayout {
    /// Who serves what: the same for all servers that agree, whatever each calls the others.
    pub(crate) fn owners(&self) -> Vec<SlotOwner> {
        let mut owners: Vec<SlotOwner> =
            self.ranges.iter().map(|range| (range.first, range.last, range.primary.clone())).collect();
        owners.sort_unstable();
        owners
    }
}

/// Reads the reply of the server that listens at `host`; none if it is no such reply.
pub(crate) fn read(reply: &Reply, host: &str, host_map: &HostMap) -> Option<ClusterLayout> {
    let Reply::Array(ranges) = reply else { return None };
    // Each has a slot of its own.
    if ranges.len() > usize::from(SLOTS) {
        return None;
    }
    let mut layout = ClusterLayout::default();
    for range in ranges {
        let Reply::Array(fields) = range else { return None };
        let [Reply::Int(first), Reply::Int(last), nodes @ ..] = fields.as_slice() else { return None };
        let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
        let (first, last) = (slot(*first)?, slot(*last)?);
        let (mut places, mut primary) = (Vec::new(), Vec::new());
        for (at, node) in nodes.iter().enumerate() {
            let Reply::Array(fields) = node else { return None };
            let [name, Reply::Int(port), rest @ ..] = fields.as_slice() else { return None };
            let name = match name {
                Reply::Nil => "",
                Reply::Bytes(name) => std::str::from_utf8(name).ok()?,
                _ => return None,
            };
            if let Some(Reply::Bytes(id)) = rest.first() {
                if at == 0 {
                    primary.clone_from(id);
                }
                if !layout.ids.contains(id) {
                    layout.ids.insert(id.clone());
                }
            }
            match address_of(name, *port, host, host_map) {
                Some(place) => places.push(place),
                // One of no address serves nobody; its replicas don't either.
                None if at == 0 => break,
                None => {}
            }
        }
        if first <= last && !places.is_empty() {
            layout.ranges.push(Range { first, last, places, primary });
        }
    }
    Some(layout)
}

/// Reads the address in a redirection, such as `10.0.0.1:6379`, from the server that listens at `host`.
pub(crate) fn redirected(address: &str, host: &str, host_map: &HostMap) -> Option<NodeAddress> {
    // An IPv6 address has colons of its own, and no brackets.
    let (name, port) = address.rsplit_once(':')?;
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    address_of(name, port.parse().ok()?, host, host_map)
}

/// Where a server listens that is called so: no name is that of the server that answered, and `?` is none.
fn address_of(name: &str, port: i64, host: &str, host_map: &HostMap) -> Option<NodeAddress> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    match name {
        "?" => None,
        "" => Some((host.to_owned(), port)),
        name if name.chars().all(is_name) => Some(host_map.translated(name, port)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use redis::cluster_read_routing::{ClusterTopology, Shard};

    use super::*;

    fn bytes(text: &str) -> Reply {
        Reply::Bytes(text.as_bytes().to_vec())
    }

    fn node(name: Reply, port: i64, id: &str) -> Reply {
        Reply::Array(vec![name, Reply::Int(port), bytes(id), Reply::Array(vec![])])
    }

    fn range(first: i64, last: i64, nodes: Vec<Reply>) -> Reply {
        Reply::Array([vec![Reply::Int(first), Reply::Int(last)], nodes].concat())
    }

    fn at(name: &str, port: u16) -> NodeAddress {
        (name.to_owned(), port)
    }

    #[test]
    fn names_and_ports_are_read_as_the_servers_give_them() {
        let reply = Reply::Array(vec![
            range(0, 5_460, vec![node(bytes("10.0.0.1"), 6_379, "a"), node(bytes("redis-1"), 6_380, "b")]),
            range(5_461, 9_999, vec![node(bytes("::1"), 7_000, "c"), node(bytes("?"), 7_001, "d")]),
            range(10_000, 10_000, vec![node(Reply::Nil, 7_002, "e"), node(bytes(""), 7_003, "f")]),
            range(10_001, 10_009, vec![node(bytes("?"), 7_004, "g"), node(bytes("10.0.0.9"), 7_005, "h")]),
            range(10_010, 16_383, vec![node(bytes("10.0.0.1"), 6_379, "a")]),
        ]);
        let layout = read(&reply, "seed.test", &HostMap::default()).unwrap();
        let places: Vec<_> = layout.ranges.iter().map(|r| (r.first, r.last, r.places.clone())).collect();
        assert_eq!(
            places,
            [
                (0, 5_460, vec![at("10.0.0.1", 6_379), at("redis-1", 6_380)]),
                (5_461, 9_999, vec![at("::1", 7_000)]),
                (10_000, 10_000, vec![at("seed.test", 7_002), at("seed.test", 7_003)]),
                (10_010, 16_383, vec![at("10.0.0.1", 6_379)]),
            ]
        );
        let ids = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(layout.ids, HashSet::from(ids.map(|id| id.as_bytes().to_vec())));
    }

    #[test]
    fn who_agrees_is_known_by_ids_not_by_names_or_their_order() {
        let one = Reply::Array(vec![
            range(0, 9, vec![node(bytes(""), 1, "a"), node(bytes("10.0.0.2"), 1, "b")]),
            range(10, 16_383, vec![node(bytes("10.0.0.3"), 1, "c")]),
        ]);
        let other = Reply::Array(vec![
            range(10, 16_383, vec![node(bytes("10.0.0.3"), 1, "c")]),
            range(0, 9, vec![node(bytes("10.0.0.1"), 1, "a")]),
        ]);
        let promoted = Reply::Array(vec![
            range(0, 9, vec![node(bytes("10.0.0.2"), 1, "b")]),
            range(10, 16_383, vec![node(bytes("10.0.0.3"), 1, "c")]),
        ]);
        let owners = |reply: &Reply| read(reply, "10.0.0.1", &HostMap::default()).unwrap().owners();
        assert_eq!(owners(&one), owners(&other));
        assert_ne!(owners(&one), owners(&promoted));
    }

    #[test]
    fn addresses_are_translated_where_the_url_says_so() {
        let map = HostMap::parse("10.0.0.1:6379=127.0.0.1:7001,10.0.0.2=db.test,[fd00::1]:6379=[::1]:7002").unwrap();
        let reply = Reply::Array(vec![range(
            0,
            1,
            vec![
                node(bytes("10.0.0.1"), 6_379, "a"),
                node(bytes("10.0.0.1"), 6_380, "b"),
                node(bytes("10.0.0.2"), 6_381, "c"),
            ],
        )]);
        let layout = read(&reply, "h", &map).unwrap();
        assert_eq!(layout.ranges[0].places, [at("127.0.0.1", 7_001), at("10.0.0.1", 6_380), at("db.test", 6_381)]);
        assert_eq!(redirected("fd00::1:6379", "h", &map), Some(at("::1", 7_002)));
        assert_eq!(redirected("[fd00::1]:6379", "h", &map), Some(at("::1", 7_002)));
        assert_eq!(redirected(":6379", "h", &map), Some(at("h", 6_379)));
        for none in ["?:6379", "h:0", "h:70000", "h", "", "a b:1", "h:x"] {
            assert_eq!(redirected(none, "h", &map), None, "{none}");
        }
    }

    #[test]
    fn what_is_no_such_reply_is_not_believed() {
        let host_map = HostMap::default();
        for reply in [
            Reply::Nil,
            Reply::Int(1),
            Reply::Array(vec![Reply::Int(1)]),
            Reply::Array(vec![range(-1, 5, vec![])]),
            Reply::Array(vec![range(0, 16_384, vec![])]),
            Reply::Array(vec![range(0, 1, vec![Reply::Int(1)])]),
            Reply::Array(vec![range(0, 1, vec![Reply::Array(vec![Reply::Int(1), Reply::Int(1)])])]),
            Reply::Array(vec![range(0, 0, vec![node(bytes("h"), 1, "a")]); usize::from(SLOTS) + 1]),
        ] {
            assert_eq!(read(&reply, "h", &host_map), None, "{reply:?}");
        }
        let empty = Reply::Array(vec![range(0, 1, vec![]), range(0, 1, vec![node(bytes("h"), 0, "a")])]);
        assert_eq!(read(&empty, "h", &host_map).unwrap().ranges, []);
        assert_eq!(read(&Reply::Array(vec![]), "h", &host_map), Some(ClusterLayout::default()));
    }

    #[test]
    fn another_client_finds_the_same_servers() {
        let place = |n: u16| format!("10.0.0.{n}");
        let bounds = [(0, 99), (100, 5_000), (7_000, 16_383)];
        let reply = Reply::Array(Vec::from_iter(
            (1..)
                .zip(bounds)
                .map(|(n, (first, last))| range(first, last, vec![node(bytes(&place(n)), 6_379, &n.to_string())])),
        ));
        let shard = |(n, (first, last)): (u16, (i64, i64))| {
            let address = redis::cluster::NodeAddress::new(place(n), 6_379);
            Shard::new([(first as u16, last as u16)], address, [])
        };
        let other = ClusterTopology::from_shards((1..).zip(bounds).map(shard).collect());
        let layout = read(&reply, "h", &HostMap::default()).unwrap();
        for slot in 0..SLOTS {
            let ours = layout.ranges.iter().find(|range| (range.first..=range.last).contains(&slot));
            let theirs = other.shard_for_slot(slot).map(|shard| shard.primary().to_string());
            assert_eq!(ours.map(|range| format!("{}:{}", range.places[0].0, range.places[0].1)), theirs, "{slot}");
        }
    }

    #[test]
    fn a_reply_has_no_more_ranges_than_there_are_slots() {
        let ranges = |count| Reply::Array(vec![range(0, 0, vec![]); count]);
        let is_read = |count| read(&ranges(count), "seed", &HostMap::default()).is_some();
        assert_eq!([1, usize::from(SLOTS), usize::from(SLOTS) + 1].map(is_read), [true, true, false]);
    }

    #[test]
    fn a_replica_without_an_address_leaves_the_others_as_they_are() {
        let nodes = |names: [&str; 3]| names.map(|name| node(bytes(name), 1, name)).into();
        let places = |names| {
            let reply = Reply::Array(vec![range(0, 9, nodes(names))]);
            read(&reply, "seed", &HostMap::default()).unwrap().ranges.pop().map(|range| range.places)
        };
        assert_eq!(places(["a", "?", "b"]), Some(vec![at("a", 1), at("b", 1)]));
        assert_eq!(places(["?", "a", "b"]), None);
    }
}
