//! The hosts to which a client connects, and so gives its password, when a server names them.

use std::net::IpAddr;
use std::sync::Arc;

use crate::base::url::host_and_port;

/// What the `trusted_hosts` of a URL allows, and the hosts that the URL itself names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustedHosts(Arc<[Pattern]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// A host, with all ports or one.
    Host(String, Option<u16>),
    /// What ends so, the dot included: `*.cache.example`.
    Under(String),
    /// Addresses that begin with so many bits of this one: `10.0.0.0/8`.
    Net(IpAddr, u32),
}

impl TrustedHosts {
    /// Parses hosts with commas between them; `named` are trusted too, with all ports.
    pub(crate) fn parse<'a>(
        text: &str,
        named: impl Iterator<Item = &'a str>,
    ) -> std::result::Result<TrustedHosts, String> {
        const FORM: &str =
            "has invalid trusted_hosts: write them as trusted_hosts=10.0.0.0/8,redis-1.example:6379,*.cache.example";
        let pattern = |text: &str| {
            if let Some(under) = text.strip_prefix('*') {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
                let under = plain(under);
                let is_under = under.len() > 1 && under.starts_with('.') && under.chars().all(is_name);
                return is_under.then_some(Pattern::Under(under));
            }
            if let Some((address, bits)) = text.split_once('/') {
                let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
                let most = if address.is_ipv4() { 32 } else { 128 };
                return bits.parse().ok().filter(|bits| *bits <= most).map(|bits| Pattern::Net(address, bits));
            }
            let (host, port) = host_and_port(text, 0).ok().or_else(|| host_and_port(text, 1).ok())?;
            let has_port = text.rsplit_once(']').map_or(text, |(_, after)| after).contains(':');
            let host = plain(&host);
            (!host.is_empty()).then(|| Pattern::Host(host, has_port.then_some(port)))
        };
        let named = named.map(|host| Some(Pattern::Host(plain(host), None)));
        let patterns: Option<Vec<Pattern>> = text.split(',').map(pattern).chain(named).collect();
        patterns.map(|patterns| TrustedHosts(patterns.into())).ok_or_else(|| FORM.to_owned())
    }

    /// Whether a client may connect to this host and port.
    pub(crate) fn has(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        let address: Option<IpAddr> = host.parse().ok();
        self.0.iter().any(|pattern| match pattern {
            Pattern::Host(name, only) => only.is_none_or(|only| only == port) && is_same(name, &host, address),
            // What is an address is no name, whatever it ends with.
            Pattern::Under(under) => address.is_none() && host.len() > under.len() && host.ends_with(under.as_str()),
            Pattern::Net(net, bits) => address.is_some_and(|address| is_in(address, *net, *bits)),
        })
    }
}

/// A host in the one form that is compared: `Cache.example.` is the name `cache.example`. What looks like an address with a dot
/// after it is a name, and stays one.
fn plain(host: &str) -> String {
    let name = host.strip_suffix('.').filter(|name| name.parse::<IpAddr>().is_err());
    name.unwrap_or(host).to_ascii_lowercase()
}

/// An address has several forms, as `::1` and `0:0:0:0:0:0:0:1`.
fn is_same(name: &str, host: &str, address: Option<IpAddr>) -> bool {
    name == host || address.is_some_and(|address| name.parse().is_ok_and(|named: IpAddr| named == address))
}

fn is_in(address: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (address, net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => (address.to_bits() ^ net.to_bits()).leading_zeros() >= bits,
        (IpAddr::V6(address), IpAddr::V6(net)) => (address.to_bits() ^ net.to_bits()).leading_zeros() >= bits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Address, Endpoint};
    use super::*;

    #[test]
    fn hosts_nets_and_domains_are_trusted_as_written() {
        let text = "10.1.0.0/16,Redis-1.example:6379,*.cache.example,[fd00::]/8,192.0.2.7,[::1]:7000,2001:db8::/32,\
                    dotted.example.:6379,*.dots.example.";
        let trusted = TrustedHosts::parse(text, ["Seed.test"].into_iter()).unwrap();
        for (host, port) in [
            ("10.1.255.3", 1),
            ("redis-1.EXAMPLE", 6_379),
            ("a.b.cache.example", 2),
            ("fd12::1", 3),
            ("192.0.2.7", 4),
            ("0:0:0:0:0:0:0:1", 7_000),
            ("seed.test", 5),
            ("2001:db8::7", 6),
            // A dot at the end of a name is no other name.
            ("dotted.example", 6_379),
            ("Dotted.example.", 6_379),
            ("a.dots.example", 7),
            ("a.cache.example.", 8),
            ("seed.test.", 9),
        ] {
            assert!(trusted.has(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("10.2.0.1", 1),
            ("redis-1.example", 6_380),
            ("cache.example", 2),
            ("evilcache.example", 2),
            ("redis-1.example.evil.test", 6_379),
            ("fe80::1", 3),
            ("192.0.2.70", 4),
            ("::1", 7_001),
            ("::ffff:10.1.0.1", 1),
            ("192.0.2.7.", 4),
            ("dotted.example..", 6_379),
            ("dotted.example", 6_380),
            (".", 1),
            ("", 1),
        ] {
            assert!(!trusted.has(host, port), "{host}:{port}");
        }
        for text in [
            "",
            "a,,b",
            "*",
            "*.",
            "*x",
            "10.0.0.0/33",
            "10.0.0/8",
            "a/8",
            "a:0x",
            "a b",
            ".",
            "*..",
            "*.a:1",
            "::1",
            "fd00::1",
            "[fd00::]:1/8",
        ] {
            assert!(TrustedHosts::parse(text, std::iter::empty()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_trusts_whom_it_names_and_whom_it_maps_to() {
        let url = "redis+cluster://a.test:1,b.test?host_map=10.0.0.1=c.test:3&trusted_hosts=10.9.0.0/16,\
                   [2001:db8::]/32,[fd00::7]:9,2001:db9::/32";
        let Endpoint::Cluster(seeds) = Endpoint::parse(url, None).unwrap() else { panic!("a cluster") };
        let trusted = |host| seeds.server_at(host, 9).unwrap().distrusted().is_none();
        assert!(
            ["a.test", "b.test", "c.test", "10.9.1.1", "2001:db8::7", "fd00::7", "2001:db9::1"]
                .into_iter()
                .all(trusted)
        );
        assert!(!["10.0.0.1", "d.test"].into_iter().any(trusted));
        let url = "redis+sentinel://s.test/shop?trusted_hosts=10.9.0.0/16";
        let Endpoint::Redis(server) = Endpoint::parse(url, None).unwrap() else { panic!("a primary") };
        let Address::Watched(watched) = &server.address else { panic!("it is watched") };
        let distrusted = |host: &str| server.at(watched, (host.to_owned(), 6_379)).distrusted();
        assert!(distrusted("10.9.0.1").is_none() && distrusted("s.test").is_none());
        let error = distrusted("evil.test").unwrap();
        assert!(error.message().contains("evil.test:6379") && error.message().contains("trusted_hosts="), "{error}");
        let error = Endpoint::parse("redis://a.test?trusted_hosts=b.test", None).unwrap_err();
        assert!(error.message().contains("redis+cluster://"), "{error}");
    }
}
