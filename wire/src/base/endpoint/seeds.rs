//! The URL of several servers that are one: `redis+cluster://h:p,h:p`.

use std::fmt;

use super::options::UrlOptions;
use super::server::Server;
use super::trusted::TrustedHosts;
use crate::base::url::host_and_port;

/// Servers of one cluster, of which any tells of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// At least one; all with the same login.
    pub servers: Vec<Server>,
    /// Where hosts that the cluster names are reached.
    pub host_map: HostMap,
}

impl Seeds {
    /// Takes apart what follows the login: the servers, each like this one, and nothing or database 0.
    pub(super) fn parse(
        place: &str,
        options: &mut UrlOptions<'_>,
        like: &Server,
    ) -> std::result::Result<Seeds, String> {
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        if !database.is_empty() && database != "0" {
            return Err("has a database, and a cluster has only database 0: leave it out".into());
        }
        let parse = |host: &str| host_and_port(host, 6379).map(|(host, port)| like.moved(&host, port));
        let mut servers = hosts.split(',').map(parse).collect::<std::result::Result<Vec<_>, _>>()?;
        let host_map = options.take("host_map").map_or(Ok(HostMap::default()), |map| HostMap::parse(&map))?;
        if let Some(text) = options.take("trusted_hosts") {
            let named = servers.iter().filter_map(|server| server.place()).map(|(host, _)| host);
            let trusted = TrustedHosts::parse(&text, named.chain(host_map.hosts()))?;
            servers.iter_mut().for_each(|server| server.trusted = Some(trusted.clone()));
        }
        Ok(Seeds { servers, host_map })
    }

    /// A server of the same cluster, with the same login.
    pub fn server_at(&self, host: &str, port: u16) -> Option<Server> {
        self.servers.first().map(|server| server.moved(host, port))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, server) in self.servers.iter().enumerate() {
            write!(f, "{}{server}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// What to call servers from here, by what they call each other: `10.0.0.1:6379=127.0.0.1:7001,10.0.0.2=db.test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMap(Vec<Pair>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    from: (String, Option<u16>),
    to: (String, Option<u16>),
}

impl HostMap {
    /// Parses pairs with commas between them.
    pub(crate) fn parse(text: &str) -> std::result::Result<HostMap, String> {
        const FORM: &str =
            "has an invalid host_map: write it as host_map=10.0.0.1:6379=127.0.0.1:7001,10.0.0.2=db.example";
        let side = |text: &str| -> std::result::Result<(String, Option<u16>), String> {
            let (host, port) = host_and_port(text, 6379).map_err(|_| FORM.to_owned())?;
            let has_port = text.rsplit_once(']').map_or(text, |(_, after)| after).contains(':');
            Ok((host, has_port.then_some(port)))
        };
        let pair = |text: &str| -> std::result::Result<Pair, String> {
            let (from, to) = text.split_once('=').ok_or(FORM)?;
            Ok(Pair { from: side(from)?, to: side(to)? })
        };
        text.split(',').map(pair).collect::<std::result::Result<_, String>>().map(HostMap)
    }

    /// The hosts at which servers are reached.
    fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pair| pair.to.0.as_str())
    }

    /// Where a server is reached that the others know by this name and port.
    pub fn translated(&self, host: &str, port: u16) -> (String, u16) {
        let fits = |with_port: bool| {
            let same = |pair: &&Pair| pair.from.0 == host && pair.from.1 == with_port.then_some(port);
            self.0.iter().find(same).map(|pair| (pair.to.0.clone(), pair.to.1.unwrap_or(port)))
        };
        fits(true).or_else(|| fits(false)).unwrap_or_else(|| (host.to_owned(), port))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Address, Endpoint, redacted};
    use super::*;

    fn seeds(url: &str) -> Seeds {
        match Endpoint::parse(url, None).unwrap() {
            Endpoint::Cluster(seeds) => seeds,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn several_servers_have_one_login_and_one_default_port() {
        let seeds = seeds("rediss+cluster://user:p%40ss@a.test,b.test:7000,[::1]:7001/0?ca=%2Fca.pem");
        assert_eq!(seeds.to_string(), "a.test:6379,b.test:7000,[::1]:7001");
        for server in &seeds.servers {
            assert!(
                matches!(&server.address, Address::Tls { files, .. } if files.ca.as_ref().is_some_and(|ca| ca.ends_with("ca.pem")))
            );
            assert_eq!(server.user.as_deref(), Some("user"));
            assert_eq!(server.password.as_ref().and_then(|password| password.known()).as_deref(), Some("p@ss"));
        }
        let other = seeds.server_at("c.test", 1).unwrap();
        assert_eq!((other.to_string(), &other.user), ("c.test:1".to_owned(), &seeds.servers[0].user));
    }

    #[test]
    fn what_is_no_cluster_is_refused_with_the_cure() {
        for (url, cure) in [
            ("redis+cluster://", "no host"),
            ("redis+cluster://a,,b", "no host"),
            ("redis+cluster://a,", "no host"),
            ("redis+cluster://a:0", "not one"),
            ("redis+cluster://a,::1:7000", "[::1]:6379"),
            ("redis+cluster://a,b/1", "leave it out"),
            ("redis+cluster://a?ca=x", "rediss+cluster://"),
            ("redis+cluster://a?host_map=x", "10.0.0.1:6379=127.0.0.1:7001"),
            ("redis+cluster://a?host_map=x=y:0", "10.0.0.1:6379=127.0.0.1:7001"),
            ("redis+cluster://a?db=0", "db"),
            ("redis+cluster://a?password_file=s3cret", "absolute path"),
            ("redis+cluster://:one@a?password_file=/other", "take one of the two out"),
        ] {
            let error = Endpoint::parse(url, None).unwrap_err();
            assert!(error.message().contains(cure), "{url}: {error}");
        }
    }

    #[test]
    fn a_url_of_several_servers_is_shown_without_its_login() {
        for (url, shown) in [
            ("redis+cluster://a:1,b:2", "redis+cluster://a:1,b:2"),
            ("redis+cluster://:secret@a:1,b", "redis+cluster://***@a:1,b"),
            ("redis+cluster://secret,b:x", "redis+cluster://***"),
            ("rediss+cluster://u:se,cret@a:1?host_map=s=t", "rediss+cluster://***@a:1?***"),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
    }

    #[test]
    fn a_server_is_found_by_its_name_and_port_before_its_name_alone() {
        let map = HostMap::parse("10.0.0.1=c,10.0.0.1:6379=b:7001,d=e").unwrap();
        for (known, reached) in [
            (("10.0.0.1", 6_379), ("b", 7_001)),
            (("10.0.0.1", 6_380), ("c", 6_380)),
            (("d", 1), ("e", 1)),
            (("x", 2), ("x", 2)),
        ] {
            assert_eq!(map.translated(known.0, known.1), (reached.0.to_owned(), reached.1));
        }
    }
}
