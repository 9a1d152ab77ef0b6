//! Where a URL leads, for programs that look at servers with a driver of their own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::base::endpoint::server::SentinelPrimary;
use wire::base::endpoint::{Address, Endpoint, Seeds, Server};
use wire::base::error::{Code, Error, Result};
use wire::call::refusal;

/// What a URL names.
#[derive(Clone, Debug)]
pub enum Target {
    /// One server.
    Server(Place),
    /// A primary that Sentinels know.
    Sentinel(WatchedPrimary),
    /// A cluster.
    Cluster(ClusterSeeds),
}

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// `invalid_argument` for one that is wrong, and for `memory://`, which no other process can look at.
    pub fn parse(url: &str) -> Result<Target> {
        Ok(match Endpoint::parse(url, None)? {
            Endpoint::Memory(_) => {
                return Err(Error::invalid(
                    "url memory:// is the memory of one process, which no other can look at: give that of a server"
                        .to_owned(),
                ));
            }
            Endpoint::Cluster(seeds) => Target::Cluster(ClusterSeeds(seeds)),
            Endpoint::Redis(server) => match &server.address {
                Address::Watched(watched) => {
                    let watched = watched.clone();
                    Target::Sentinel(WatchedPrimary { server, watched })
                }
                _ => Target::Server(Place(server)),
            },
        })
    }
}

/// A server, and who we are to it. Prints as its host and port.
#[derive(Clone, PartialEq, Eq)]
pub struct Place(Server);

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// A host and a port, with TLS if there are its files.
    Tcp {
        /// Its name or address.
        host: &'a str,
        /// Its port.
        port: u16,
        /// The files of TLS; none without TLS.
        tls: Option<TlsPaths<'a>>,
    },
    /// A socket in the file system.
    Unix(&'a Path),
}

/// The PEM files of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsPaths<'a> {
    /// What to trust instead of what the system trusts.
    pub ca: Option<&'a Path>,
    /// The certificate to show, and its key.
    pub shown: Option<(&'a Path, &'a Path)>,
}

impl Place {
    /// How it is reached.
    pub fn reach(&self) -> Reach<'_> {
        let path = PathBuf::as_path;
        match &self.0.address {
            Address::Tcp { host, port } => Reach::Tcp { host, port: *port, tls: None },
            Address::Tls { host, port, files } => {
                let shown = files.shown.as_ref().map(|(certificate, key)| (path(certificate), path(key)));
                Reach::Tcp { host, port: *port, tls: Some(TlsPaths { ca: files.ca.as_deref(), shown }) }
            }
            Address::Unix { path } => Reach::Unix(path),
            // `Target` gives none of these out.
            Address::Watched(_) => Reach::Unix(Path::new("")),
        }
    }

    /// The error of a call to this server, which is a node of a cluster, by a URL of one server.
    pub fn in_cluster(&self) -> Error {
        refusal::is_cluster(&self.0.to_string())
    }

    /// Who we log in as; none is the default user.
    pub fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    /// The password, if there is one. Blocks while a file is read.
    ///
    /// # Errors
    /// `unavailable` if the file cannot be read, `not_permitted` if another server has named this one and it is not among the
    /// `trusted_hosts` of the URL: then nothing may connect to it.
    pub fn password(&self) -> Result<Option<String>> {
        if let Some(error) = self.0.distrusted() {
            return Err(error);
        }
        let told = self.0.password.as_ref().map(|password| {
            password.tell().map_err(|why| {
                let message = format!("{} gives no password for {}: {}", password.origin(), self.0, why.why);
                Error::new(Code::Unavailable, message)
            })
        });
        told.transpose().map(|secret| secret.map(|secret| secret.expose().to_owned()))
    }

    /// Where the password comes from, for a message.
    pub fn login_origin(&self) -> String {
        self.0.login_origin()
    }

    /// A peer's words without the password, should it be in them.
    pub fn scrubbed(&self, said: &str) -> String {
        self.0.scrubbed(said).into_owned()
    }

    /// The number of the database.
    pub fn database(&self) -> u32 {
        self.0.database
    }

    /// What the server's operator sees in `CLIENT LIST`.
    pub fn client_name(&self) -> &str {
        &self.0.client_name
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// A primary that Sentinels know by a name.
#[derive(Clone, Debug)]
pub struct WatchedPrimary {
    server: Server,
    watched: Arc<SentinelPrimary>,
}

impl WatchedPrimary {
    /// What the Sentinels call it.
    pub fn name(&self) -> &str {
        &self.watched.name
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> Vec<Place> {
        self.watched.sentinels.iter().cloned().map(Place).collect()
    }

    /// The primary, or a replica of it, at a host and a port.
    pub fn at(&self, host: &str, port: u16) -> Place {
        Place(self.server.at(&self.watched, (host.to_owned(), port)))
    }
}

/// Servers of a cluster that may be asked for all.
#[derive(Clone, Debug)]
pub struct ClusterSeeds(Seeds);

impl ClusterSeeds {
    /// Those that the URL names.
    pub fn places(&self) -> Vec<Place> {
        self.0.servers.iter().cloned().map(Place).collect()
    }

    /// The server that the others know by this host and port.
    pub fn at(&self, host: &str, port: u16) -> Option<Place> {
        let (host, port) = self.0.host_map.translated(host, port);
        self.0.server_at(&host, port).map(Place)
    }
}

/// The slot of a key, of the 16,384 that a cluster has.
pub fn slot_of(key: &[u8]) -> u16 {
    wire::session::cluster::slot::slot_of(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_how_servers_are_reached() {
        let Target::Server(place) = Target::parse("rediss://u:p%40ss@a.test:7/3?ca=%2Fca.pem").unwrap() else {
            panic!("one server")
        };
        let tls = Some(TlsPaths { ca: Some(Path::new("/ca.pem")), shown: None });
        assert_eq!(place.reach(), Reach::Tcp { host: "a.test", port: 7, tls });
        assert_eq!((place.user(), place.database()), (Some("u"), 3));
        assert_eq!(place.password().unwrap().as_deref(), Some("p@ss"));
        assert!(!format!("{place:?} {place}").contains("p@ss"));
        let Target::Server(socket) = Target::parse("unix:///run/r.sock?db=2").unwrap() else { panic!("one server") };
        assert_eq!((socket.reach(), socket.database()), (Reach::Unix(Path::new("/run/r.sock")), 2));
    }

    #[test]
    fn several_servers_share_a_login() {
        let Target::Cluster(seeds) =
            Target::parse("redis+cluster://:pw@a.test:1,b.test:2?host_map=10.0.0.1=c.test:3").unwrap()
        else {
            panic!("a cluster")
        };
        assert_eq!(seeds.places().iter().map(Place::to_string).collect::<Vec<_>>(), ["a.test:1", "b.test:2"]);
        let other = seeds.at("10.0.0.1", 9).unwrap();
        assert_eq!((other.to_string(), other.password().unwrap().as_deref()), ("c.test:3".to_owned(), Some("pw")));

        let Target::Sentinel(watched) = Target::parse("redis+sentinel://:pw@s.test/shop/1").unwrap() else {
            panic!("Sentinels")
        };
        assert_eq!((watched.name(), watched.sentinels()[0].to_string()), ("shop", "s.test:26379".to_owned()));
        let primary = watched.at("10.0.0.1", 6_379);
        assert_eq!((primary.to_string(), primary.database()), ("10.0.0.1:6379".to_owned(), 1));
        assert_eq!(primary.password().unwrap().as_deref(), Some("pw"));
    }

    #[test]
    fn memory_and_a_file_that_is_not_there_are_told() {
        assert!(Target::parse("memory://").unwrap_err().message().contains("of one process"));
        let Target::Server(place) = Target::parse("redis://a.test?password_file=/nowhere/x").unwrap() else {
            panic!("one server")
        };
        assert!(place.password().unwrap_err().message().contains("/nowhere/x"));
    }
}
