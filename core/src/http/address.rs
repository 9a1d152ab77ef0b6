//! Whose request it is: a client's address, from proxies that are trusted and from no others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::base::error::{Error, Result, shown};

/// How many leading bits of an IPv6 address stand for a client, unless another number is asked for.
pub const DEFAULT_IPV6_PREFIX: u64 = 64;

/// The networks that the words stand for.
const LOOPBACK: &[&str] = &["127.0.0.0/8", "::1"];
const PRIVATE: &[&str] = &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"];

/// What sent the request, or passed it on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hop {
    Address(IpAddr),
    /// A process on this machine, by a Unix socket.
    Unix,
}

/// The address of the client that sent a request, as a text to be used as a key.
///
/// `peer` is the address at the other end of the socket; an empty text is a Unix socket. `forwarded` has the values of
/// `X-Forwarded-For` or `Forwarded` (RFC 7239), in the order of their lines. `trusted` lists the proxies: addresses,
/// networks (`10.0.0.0/8`), and the words `loopback`, `private` and `unix`.
///
/// The header counts only if the peer is trusted. It is read from its right end, where the nearest proxy wrote, and the
/// first address that is not trusted is the client's: what stands further left was written by that client. What is no
/// address ends the reading; then it is the last good address, that of the proxy which sent it.
///
/// An IPv6 address stands for the network of its first `ipv6_prefix` bits (32 to 128), such as `2001:db8:1:2::/64`; 128
/// is the address itself. IPv4 that is written as IPv6 (`::ffff:192.0.2.1`, `64:ff9b::192.0.2.1`) is IPv4.
///
/// # Errors
/// `invalid_argument` for a peer that is not an address, a proxy that is invalid or stands for all addresses, a prefix out of
/// bounds, and a missing address: a Unix socket without an address in the header. One key for all clients would be one limit
/// for all of them.
pub fn client_address(peer: &str, forwarded: &[&str], trusted: &[&str], ipv6_prefix: u64) -> Result<String> {
    if !(32..=128).contains(&ipv6_prefix) {
        return Err(Error::invalid(format!("ipv6_prefix {ipv6_prefix} is not between 32 and 128: change it")));
    }
    let trusted = Trusted::parse(trusted)?;
    let mut last = hop_of(peer)?;
    if trusted.has(last) {
        let elements = forwarded.iter().rev().flat_map(|line| line.rsplit(','));
        for element in elements.filter(|element| !element.trim().is_empty()) {
            let Some(address) = address_in(element) else { break };
            last = Hop::Address(address);
            if !trusted.has(last) {
                break;
            }
        }
    }
    match last {
        Hop::Address(address) => Ok(key_of(address, ipv6_prefix)),
        Hop::Unix => Err(Error::invalid(
            "the peer is a Unix socket, which has no address, and no trusted proxy tells one: \
             trust \"unix\", and have your proxy send X-Forwarded-For",
        )),
    }
}

/// The address as a key.
fn key_of(address: IpAddr, ipv6_prefix: u64) -> String {
    match address {
        IpAddr::V6(v6) if ipv6_prefix < 128 && !v6.is_loopback() => {
            let network = Ipv6Addr::from_bits(v6.to_bits() & mask(ipv6_prefix, 128));
            format!("{network}/{ipv6_prefix}")
        }
        other => other.to_string(),
    }
}

/// The first `bits` of `width`.
fn mask(bits: u64, width: u64) -> u128 {
    let all = u128::MAX >> (128 - width);
    if bits == 0 { 0 } else { all & (u128::MAX << (width - bits)) }
}

/// Who may say where a request came from.
#[derive(Default)]
struct Trusted {
    unix: bool,
    networks: Vec<(IpAddr, u64)>,
}

impl Trusted {
    fn parse(given: &[&str]) -> Result<Trusted> {
        let mut trusted = Trusted::default();
        for word in given {
            match word.trim() {
                "unix" => trusted.unix = true,
                "loopback" => trusted.networks.extend(LOOPBACK.iter().filter_map(|it| network_of(it).ok())),
                "private" => trusted.networks.extend(PRIVATE.iter().filter_map(|it| network_of(it).ok())),
                network => trusted.networks.push(network_of(network)?),
            }
        }
        Ok(trusted)
    }

    fn has(&self, hop: Hop) -> bool {
        match hop {
            Hop::Unix => self.unix,
            Hop::Address(address) => self.networks.iter().any(|(network, bits)| covers(*network, *bits, address)),
        }
    }
}

fn covers(network: IpAddr, bits: u64, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            u128::from(network.to_bits() ^ address.to_bits()) & mask(bits, 32) == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits() ^ address.to_bits()) & mask(bits, 128) == 0,
        _ => false,
    }
}

/// An address, or the first of a network and how many bits all of its addresses share.
fn network_of(text: &str) -> Result<(IpAddr, u64)> {
    let refuse = |why: &str| {
        let text = shown(text.as_bytes());
        Err(Error::invalid(format!("trusted proxy \"{text}\" {why}")))
    };
    const WANTED: &str = "is not an address: use for example 192.0.2.7 or 10.0.0.0/8, or loopback, private or unix";
    let (address, bits) = match text.split_once('/') {
        None => (text, None),
        Some((address, bits)) => (address, Some(bits)),
    };
    let Ok(address) = address.parse::<IpAddr>() else { return refuse(WANTED) };
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits.map(str::parse::<u64>) {
        None => width,
        Some(Ok(bits)) if bits <= width => bits,
        Some(_) => return refuse(WANTED),
    };
    let whole = match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    if whole & !mask(bits, width) & (u128::MAX >> (128 - width)) != 0 {
        return refuse("has bits behind its prefix: write the first address of the network");
    }
    let network = match (unmapped(address), address) {
        (IpAddr::V4(v4), IpAddr::V6(_)) if bits >= 96 => (IpAddr::V4(v4), bits - 96),
        _ => (address, bits),
    };
    if network.1 == 0 {
        return refuse("is everybody, and then anybody may say to be anybody: name your proxies");
    }
    Ok(network)
}

/// Who is at the other end of the socket.
fn hop_of(peer: &str) -> Result<Hop> {
    let peer = peer.trim();
    if peer.is_empty() || peer.starts_with("unix:") {
        return Ok(Hop::Unix);
    }
    address_in(peer).map(Hop::Address).ok_or_else(|| {
        let peer = shown(peer.as_bytes());
        Error::invalid(format!("peer \"{peer}\" is not an address: give that of the socket, or none for a Unix socket"))
    })
}

/// The address in an element of `X-Forwarded-For` or `Forwarded`: with a port, in brackets, quoted, or as `for=`.
fn address_in(element: &str) -> Option<IpAddr> {
    let mut parts = element.split(';').map(str::trim);
    let node = match element.contains('=') {
        true => parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("for").then_some(value.trim())
        })?,
        false => element.trim(),
    };
    let node = node.strip_prefix('"').and_then(|node| node.strip_suffix('"')).unwrap_or(node);
    let (host, port) = match node.strip_prefix('[') {
        Some(node) => {
            let (host, port) = node.split_once(']')?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("0"))?)
        }
        // An IPv6 address has more than one colon, and then no port.
        None if node.matches(':').count() == 1 => node.split_once(':')?,
        None => (node, "0"),
    };
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    // The zone of a link is the proxy's own affair.
    let host = host.split_once('%').map_or(host, |(host, _)| host);
    is_port.then(|| host.parse().ok().map(unmapped)).flatten()
}

/// IPv4 as such, however it was written.
fn unmapped(address: IpAddr) -> IpAddr {
    const TRANSLATED: u128 = 0x0064_ff9b << 96;
    match address {
        IpAddr::V6(v6) => {
            let mapped = v6.to_ipv4_mapped();
            let translated =
                || (v6.to_bits() & mask(96, 128) == TRANSLATED).then(|| Ipv4Addr::from_bits(v6.to_bits() as u32));
            mapped.or_else(translated).map_or(address, IpAddr::V4)
        }
        IpAddr::V4(_) => address,
    }
}
