//! For tests: what reads bytes and texts of others.

use crate::base::endpoint::{Endpoint, HostMap};
use crate::base::error::Result;
use crate::call::refusal::Redirect;
use crate::call::resp::{Parser, Reply, ReplyLimit};
use crate::connection::greeting::be_primary;
use crate::connection::open::DialError;
use crate::connection::sentinel;
use crate::session::cluster::slot::SLOTS;
use crate::session::cluster::{Cluster, layout};
use crate::session::node::Node;

/// The replies in bytes that arrive in pieces of so many, as text, and whether what follows is none.
pub fn replies(bytes: &[u8], piece: usize) -> (Vec<String>, bool) {
    let (mut parser, mut read) = (Parser::default(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        parser.feed(piece);
        loop {
            match parser.next_reply(ReplyLimit::SMALL) {
                Ok(Some(reply)) => read.push(format!("{reply:?}")),
                Ok(None) => break,
                Err(_) => return (read, true),
            }
        }
    }
    (read, false)
}

/// Reads a URL.
///
/// # Errors
/// `invalid_argument` for one that is wrong.
pub fn check_url(url: &str) -> Result<()> {
    Endpoint::parse(url, None).map(drop)
}

/// A host and a port.
pub type TestHostPort = (String, u16);

/// Who serves the slots from which number on.
pub type Owners = Vec<(u16, Option<TestHostPort>)>;

/// What one reply did to what is known of a cluster.
#[derive(Debug)]
pub enum Learned {
    /// It is the whole map: from which slot to which, and the primary.
    Map(Vec<(u16, u16, TestHostPort)>),
    /// This slot is here.
    Moved(u16, TestHostPort),
    /// One call goes here.
    Asked(TestHostPort),
    /// Nothing.
    Nothing,
}

/// What a client that was led to `seed.test:7000` takes a cluster for after these replies: what each of them did, who serves
/// the slots, and how many servers are remembered. `None` if the host map is none.
#[must_use]
pub fn topology(bytes: &[u8], host_map: &str) -> Option<(Vec<Learned>, Owners, usize)> {
    let Ok(Endpoint::Cluster(mut seeds)) = Endpoint::parse("redis+cluster://seed.test:7000", None) else { return None };
    seeds.host_map = if host_map.is_empty() { HostMap::default() } else { HostMap::parse(host_map).ok()? };
    let (cluster, seed) = (Cluster::new(&seeds), Node::new(seeds.servers.first()?.clone()));
    let place = |node: &Node| node.server.place().map(|(host, port)| (host.to_owned(), port));
    let learn = |reply: &Reply| -> Option<Learned> {
        if let Reply::Error(text) = reply {
            let redirect = Redirect::read(text)?;
            let slot = text.split(' ').nth(1)?.parse().ok()?;
            return match redirect.once {
                true => Some(Learned::Asked(place(&*cluster.node_at(&redirect.address, &seed)?)?)),
                false => Some(Learned::Moved(slot, place(&*cluster.moved(slot, &redirect.address, &seed)?)?)),
            };
        }
        let map = layout::read(reply, "seed.test", &seeds.host_map).filter(|map| !map.ranges.is_empty())?;
        cluster.learn(&map, 0);
        let ranges = map.ranges.into_iter();
        Some(Learned::Map(
            ranges
                .map(|range| Some((range.first, range.last, range.places.into_iter().next()?)))
                .collect::<Option<_>>()?,
        ))
    };
    let learned = values(bytes).iter().map(|reply| learn(reply).unwrap_or(Learned::Nothing)).collect();
    let mut owners = Owners::new();
    let mut last = None;
    for slot in 0..SLOTS {
        let node = cluster.primary_of(slot);
        let number = node.as_ref().map(|node| node.number);
        if last != Some(number) {
            last = Some(number);
            owners.push((slot, node.and_then(|node| place(&node))));
        }
    }
    Some((learned, owners, cluster.remembered()))
}

/// What a Sentinel's replies are taken for: where the primary `shop` is as the answer to the question, or why not; where the
/// news have it; and whether as an answer to `ROLE` it is a primary's.
#[must_use]
pub fn sentinel(
    bytes: &[u8],
    password: &str,
) -> Vec<(std::result::Result<TestHostPort, String>, Option<TestHostPort>, bool)> {
    let url = format!("redis://:{password}@sentinel.test:26379");
    let Ok(Endpoint::Redis(server)) = Endpoint::parse(&url, None) else { return Vec::new() };
    let told = |reply: &Reply| {
        let named = sentinel::named(&server, "shop", reply).map_err(|refused| match refused {
            DialError::Password(error) | DialError::Certificate(error) | DialError::Otherwise(error) => {
                error.message().to_owned()
            }
        });
        let news = match reply {
            Reply::Array(parts) => sentinel::moved(parts, "shop"),
            _ => None,
        };
        (named, news, be_primary(&server, reply).is_ok())
    };
    values(bytes).iter().map(told).collect()
}

/// The replies in bytes, up to what is none.
fn values(bytes: &[u8]) -> Vec<Reply> {
    let mut parser = Parser::default();
    parser.feed(bytes);
    std::iter::from_fn(|| parser.next_reply(ReplyLimit::SMALL).ok().flatten()).collect()
}
