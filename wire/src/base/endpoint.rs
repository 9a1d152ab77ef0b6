//! Where the state is kept: the URL, taken apart and checked.

mod options;
mod seeds;
mod sentinels;
pub mod server;
mod trusted;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use options::{UrlOptions, client_name, password_of, tls_files};
use trusted::TrustedHosts;

use crate::base::credentials::{PasswordProvider, Secret};
use crate::base::error::{Error, Result};
use crate::base::url::{database_of, decoded, host_and_port, is_scheme, redacted};
pub use seeds::{HostMap, Seeds};
pub use server::{Address, Server, TlsFiles};

/// The longest name of a memory, in bytes.
const MAX_MEMORY_NAME: usize = 255;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The memory of this name in this process; the empty name is that of `memory://`.
    Memory(String),
    /// One server, or the primary that Sentinels watch.
    Redis(Server),
    /// A cluster, by the servers that know it.
    Cluster(Seeds),
}

impl Endpoint {
    /// What no other server's data goes by, if it is named in the same way.
    pub fn identity(&self) -> String {
        match self {
            Endpoint::Redis(server) => format!("{self}/{}", server.database),
            Endpoint::Memory(_) | Endpoint::Cluster(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Memory(name) => write!(f, "memory://{name}"),
            // The same wherever its primary is.
            Endpoint::Redis(Server { address: Address::Watched(watched), .. }) => watched.fmt(f),
            Endpoint::Redis(server) => server.fmt(f),
            Endpoint::Cluster(seeds) => seeds.fmt(f),
        }
    }
}

impl Endpoint {
    /// A peer's error, without the password should it be there.
    pub(crate) fn scrubbed<'a>(&self, said: &'a str) -> Cow<'a, str> {
        match self {
            Endpoint::Redis(server) => server.scrubbed(said),
            // They have one login.
            Endpoint::Cluster(seeds) => seeds.servers.first().map_or(said.into(), |server| server.scrubbed(said)),
            Endpoint::Memory(_) => said.into(),
        }
    }

    /// Whether it is memory of this process.
    pub fn is_memory(&self) -> bool {
        matches!(self, Endpoint::Memory(_))
    }

    /// Whether it leads to the same server, as far as the address tells, or to the same memory.
    pub fn is_server_of(&self, other: &Endpoint) -> bool {
        match (self, other) {
            (Endpoint::Redis(one), Endpoint::Redis(other)) => one.is_place_of(other),
            (Endpoint::Cluster(one), Endpoint::Cluster(other)) => {
                one.servers.iter().any(|seed| other.servers.iter().any(|other| seed.is_place_of(other)))
            }
            (Endpoint::Memory(one), Endpoint::Memory(other)) => one == other,
            _ => false,
        }
    }

    /// Parses `redis://`, `rediss://`, `unix://`, `memory://` URLs, and those with `+cluster` and `+sentinel`; the password may
    /// come from a function instead.
    pub fn parse(url: &str, teller: Option<PasswordProvider>) -> Result<Endpoint> {
        Self::parse_parts(url, teller).map_err(|problem| Error::invalid(format!("url \"{}\" {problem}", redacted(url))))
    }

    fn parse_parts(url: &str, teller: Option<PasswordProvider>) -> std::result::Result<Endpoint, String> {
        const FORM: &str = "write it as redis://[user:password@]host[:port][/database]";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(format!("has no scheme: {FORM}"));
        };
        match scheme {
            "memory" if teller.is_some() => return Err("has no password: take the function that tells one out".into()),
            "memory" => return memory(rest).map(Endpoint::Memory),
            "redis" | "rediss" | "unix" | "redis+cluster" | "rediss+cluster" | "redis+sentinel" | "rediss+sentinel" => {
            }
            other => {
                let known = if is_scheme(other) { format!(" \"{other}\"") } else { String::new() };
                return Err(format!(
                    "has the unknown scheme{known}: use redis, rediss, unix, redis+cluster, redis+sentinel or memory"
                ));
            }
        }
        // The login first, and nothing of it in a message: a password with a bare '/' or '?' must not be read as a host.
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        if login.is_some_and(|login| login.contains(['/', '?', '#'])) {
            return Err("has a '/', '?' or '#' before its last '@': percent-encode them in user and password".into());
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, password) = login.map_or(Ok((None, None)), credentials)?;
        let mut options = UrlOptions::parse(query)?;
        let files = tls_files(&mut options)?;
        if files.is_some() && !scheme.starts_with("rediss") {
            let secure = scheme.replacen("redis", "rediss", 1);
            return Err(format!("has ca=, cert= or key= without TLS: use {secure}://"));
        }
        let files = scheme.starts_with("rediss").then(|| files.unwrap_or_default());
        let password = password_of(password, options.take("password_file"), "password_file", teller)?;
        if user.is_some() && password.is_none() {
            return Err("has a user but no password: write user:password@, or :password@ for a password alone".into());
        }
        let client_name = client_name(&mut options)?;
        let server =
            |address| Server { address, user, password, database: 0, client_name: client_name.clone(), trusted: None };
        if scheme.contains('+') && login.is_some_and(|login| login.contains(['@', ','])) {
            return Err(
                "has a '@' or ',' before its last '@': give the login once, before the first server, and write \
                        those in it as %40 and %2C"
                    .into(),
            );
        }
        if scheme.ends_with("+cluster") {
            let first = server(Address::at(String::new(), 0, files));
            let seeds = Seeds::parse(place, &mut options, &first)?;
            options.finish()?;
            return Ok(Endpoint::Cluster(seeds));
        }
        // Whether what stands where a database should cannot be the end of a password whose '@' was forgotten.
        let (mut is_apart, mut trusted) = (login.is_some(), None);
        let (address, database) = if scheme == "unix" {
            if !place.starts_with('/') {
                return Err("has no absolute path: write it as unix:///run/redis.sock[?db=0]".into());
            }
            (Address::Unix { path: PathBuf::from(decoded(place)?) }, options.take("db").unwrap_or_default())
        } else if scheme.ends_with("+sentinel") {
            let (watched, database) = sentinels::parse(scheme, place, files, &client_name, &mut options)?;
            let named = watched.sentinels.iter().filter_map(Server::place).map(|(host, _)| host);
            trusted = options.take("trusted_hosts").map(|text| TrustedHosts::parse(&text, named)).transpose()?;
            (Address::Watched(Arc::new(watched)), database)
        } else {
            let (authority, path) = place.split_once('/').unwrap_or((place, ""));
            let (host, port) = host_and_port(authority, 6379)?;
            is_apart = !authority.contains(':') || login.is_some();
            (Address::at(host, port, files), path.to_owned())
        };
        if trusted.is_none() && options.take("trusted_hosts").is_some() {
            return Err(
                "has trusted_hosts= for one server, which names no others: take it out, or use redis+cluster:// or \
                        redis+sentinel://"
                    .into(),
            );
        }
        options.finish()?;
        Ok(Endpoint::Redis(Server { database: database_of(&database, is_apart)?, trusted, ..server(address) }))
    }
}

/// Checks the name of a memory.
fn memory(name: &str) -> std::result::Result<String, String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !plain || name.len() > MAX_MEMORY_NAME {
        return Err(format!(
            "has an invalid name: write memory://, or memory://name with up to {MAX_MEMORY_NAME} letters, digits, \
             '-', '_' and '.'"
        ));
    }
    Ok(name.to_owned())
}

type Credentials = (Option<String>, Option<Secret>);

fn credentials(login: &str) -> std::result::Result<Credentials, String> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let some = |text: String| Some(text).filter(|t| !t.is_empty());
    Ok((some(decoded(user)?), some(decoded(password)?).map(Secret::new)))
}
