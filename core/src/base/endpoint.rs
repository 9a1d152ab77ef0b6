//! Where the state is kept: the URL, taken apart and checked.

mod seeds;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::base::error::{Error, Result, cut, shown};
pub(crate) use seeds::{HostMap, Seeds};

/// The longest name of a memory, in bytes.
const MAX_MEMORY_NAME: usize = 255;

/// A password. Prints as `***`, whoever prints it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    /// `ca` is a PEM file to trust instead of the system's.
    Tls {
        host: String,
        port: u16,
        ca: Option<PathBuf>,
    },
    Unix {
        path: PathBuf,
    },
}

/// One Redis server, with what it takes to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub address: Address,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub database: u32,
}

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The memory of this name in this process; the empty name is that of `memory://`.
    Memory(String),
    Redis(Server),
    Cluster(Seeds),
}

impl Server {
    /// Its host and port; none of a socket in the file system.
    pub fn place(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => Some((host, *port)),
            Address::Unix { .. } => None,
        }
    }

    /// A peer's error, without the password should it be there.
    pub fn scrubbed<'a>(&self, said: &'a str) -> Cow<'a, str> {
        match &self.password {
            Some(Secret(password)) if said.contains(&**password) => said.replace(&**password, "***").into(),
            _ => said.into(),
        }
    }

    /// What a peer said, fit to be shown: nothing of it that may quote the login.
    pub fn quoted(&self, said: &str) -> Option<String> {
        let Some(password) = &self.password else { return Some(shown(said.as_bytes())) };
        // The rest may hold the password, or a part of it, in one guise or another.
        let word = said.split_whitespace().next()?.trim_matches('"');
        let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.'));
        let (word, password) = (word.to_ascii_lowercase(), password.0.to_ascii_lowercase());
        let tells = password.contains(&word) || word.contains(&password);
        (is_plain && !word.is_empty() && word.len() <= 12 && !tells).then(|| format!("{}…", word.to_ascii_uppercase()))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp { host, port } | Address::Tls { host, port, .. } if host.contains(':') => {
                write!(f, "[{host}]:{port}")
            }
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => write!(f, "{host}:{port}"),
            Address::Unix { path } => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Memory(name) => write!(f, "memory://{name}"),
            Endpoint::Redis(server) => server.fmt(f),
            Endpoint::Cluster(seeds) => seeds.fmt(f),
        }
    }
}

/// The URL without what may be a password: everything before the last `@` but the scheme, the query, a scheme that is
/// none of those people use, and a place that is no host with a port, or no path.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
        // Without a scheme it may be the password alone, but not if it has a port.
        let is_place = url.contains(':') && host_and_port(url).is_ok();
        return if is_place { cut(url) } else { "***".into() };
    };
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("***@", rest));
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?***"));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let is_sound = match scheme {
        "unix" => place.starts_with('/') && !place.contains(['%', '#', ':']),
        "memory" => place.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')),
        _ => is_authority(scheme, authority) && !authority.contains('%') && database_of(database, false).is_ok(),
    };
    // An '@' that was encoded has no login before it.
    let place = if is_sound && !url.contains("%40") { place } else { "***" };
    cut(&format!("{scheme}://{login}{place}{query}"))
}

/// Whether this is a host with a port, or several where the scheme takes several.
fn is_authority(scheme: &str, authority: &str) -> bool {
    match scheme.ends_with("+cluster") {
        true => authority.split(',').all(|host| host_and_port(host).is_ok()),
        false => host_and_port(authority).is_ok(),
    }
}

/// Whether a message may show a scheme: what stands there instead may be anything.
fn is_scheme(text: &str) -> bool {
    text.len() <= 16 && text.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'+' | b'-' | b'.'))
}

impl Endpoint {
    /// A peer's error, without the password should it be there.
    pub fn scrubbed<'a>(&self, said: &'a str) -> Cow<'a, str> {
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
            (Endpoint::Redis(one), Endpoint::Redis(other)) => one.address == other.address,
            (Endpoint::Cluster(one), Endpoint::Cluster(other)) => {
                one.servers.iter().any(|seed| other.servers.iter().any(|other| seed.address == other.address))
            }
            (Endpoint::Memory(one), Endpoint::Memory(other)) => one == other,
            _ => false,
        }
    }

    /// Parses `redis://`, `rediss://`, `unix://`, `redis+cluster://`, `rediss+cluster://` and `memory://` URLs.
    pub fn parse(url: &str) -> Result<Endpoint> {
        Self::parse_parts(url).map_err(|problem| Error::invalid(format!("url \"{}\" {problem}", redacted(url))))
    }

    fn parse_parts(url: &str) -> std::result::Result<Endpoint, String> {
        const FORM: &str = "write it as redis://[user:password@]host[:port][/database]";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(format!("has no scheme: {FORM}"));
        };
        match scheme {
            "memory" => return memory(rest).map(Endpoint::Memory),
            "redis" | "rediss" | "unix" | "redis+cluster" | "rediss+cluster" => {}
            "redis+sentinel" => {
                return Err(format!("needs {scheme}, which this version does not support: use redis:// to one server"));
            }
            other => {
                let known = if is_scheme(other) { format!(" \"{other}\"") } else { String::new() };
                return Err(format!("has the unknown scheme{known}: use redis, rediss, unix, redis+cluster or memory"));
            }
        }
        // The login first, and nothing of it in a message: a password with a bare '/' or '?' must not be read as a host.
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        if login.is_some_and(|login| login.contains(['/', '?', '#'])) {
            return Err("has a '/', '?' or '#' before its last '@': percent-encode them in user and password".into());
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, password) = login.map_or(Ok((None, None)), credentials)?;
        let mut options = Options::parse(query)?;
        // Whether what stands where a database should cannot be the end of a password whose '@' was forgotten.
        if scheme.ends_with("+cluster") {
            if login.is_some_and(|login| login.contains('@')) {
                return Err(
                    "has more than one '@': give the login once, before the first server, and write @ in it as %40"
                        .into(),
                );
            }
            let ca = options.take("ca").map(PathBuf::from);
            if ca.is_some() && scheme != "rediss+cluster" {
                return Err("has ca= without TLS: use rediss+cluster://".into());
            }
            let server = |host, port| {
                let address = match scheme {
                    "rediss+cluster" => Address::Tls { host, port, ca: ca.clone() },
                    _ => Address::Tcp { host, port },
                };
                Server { address, user: user.clone(), password: password.clone(), database: 0 }
            };
            let seeds = Seeds::parse(place, &mut options, server)?;
            options.finish()?;
            return Ok(Endpoint::Cluster(seeds));
        }
        let mut is_apart = login.is_some();
        let (address, database) = if scheme == "unix" {
            if !place.starts_with('/') {
                return Err("has no absolute path: write it as unix:///run/redis.sock[?db=0]".into());
            }
            (Address::Unix { path: PathBuf::from(decoded(place)?) }, options.take("db").unwrap_or_default())
        } else {
            let (authority, path) = place.split_once('/').unwrap_or((place, ""));
            let (host, port) = host_and_port(authority)?;
            is_apart = !authority.contains(':') || login.is_some();
            let address = match (scheme, options.take("ca")) {
                ("rediss", ca) => Address::Tls { host, port, ca: ca.map(PathBuf::from) },
                (_, None) => Address::Tcp { host, port },
                (_, Some(_)) => return Err("has ca= without TLS: use rediss://".into()),
            };
            (address, path.to_owned())
        };
        options.finish()?;
        let database = database_of(&database, is_apart)?;
        Ok(Endpoint::Redis(Server { address, user, password, database }))
    }
}

/// The number of a database; 0 if none is given. A message shows what is none only if it is `apart` from what may be a login.
fn database_of(digits: &str, apart: bool) -> std::result::Result<u32, String> {
    if digits.is_empty() {
        return Ok(0);
    }
    let number = digits.parse().ok().filter(|number| *number < 1 << 16 && digits.bytes().all(|b| b.is_ascii_digit()));
    number.ok_or_else(|| {
        let is_plain =
            digits.len() <= 16 && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
        let shown = if apart && is_plain { digits } else { "***" };
        format!("has the database \"{shown}\", which is not a number: use 0 to 15")
    })
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
    let (user, password) = (decoded(user)?, decoded(password)?);
    if !user.is_empty() && password.is_empty() {
        return Err("has a user but no password: write user:password@, or :password@ for a password alone".into());
    }
    let some = |text: String| Some(text).filter(|t| !t.is_empty());
    Ok((some(user), some(password).map(Secret)))
}

fn host_and_port(authority: &str) -> std::result::Result<(String, u16), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']').ok_or("has a '[' without ']': write an IPv6 host as [::1]")?;
            match after {
                "" => (host, None),
                _ => (host, Some(after.strip_prefix(':').ok_or("has something odd after ']': write [::1]:6379")?)),
            }
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("has no host: write it as redis://127.0.0.1:6379".into());
    }
    let port = match port {
        None => 6379,
        Some(digits) => digits.parse::<u16>().ok().filter(|p| *p > 0).ok_or_else(|| {
            // What is no number, or a long one, may be a password whose '@' was forgotten, or encoded.
            let is_number = digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit());
            let shown = if is_number { digits } else { "***" };
            format!("has the port \"{shown}\", which is not one: use a number from 1 to 65535, and '@' after a login")
        })?,
    };
    let host = decoded(host)?;
    let is_v6 = authority.starts_with('[');
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_') || (is_v6 && matches!(c, ':' | '%'));
    if !host.chars().all(fits) {
        return Err("has an invalid host: write it as redis://127.0.0.1:6379, with '@' after a login".into());
    }
    Ok((host, port))
}

/// Options of others that a message may show: what stands there instead may be the end of a password.
const KNOWN_OPTIONS: [&str; 15] = [
    "ca",
    "db",
    "database",
    "ssl",
    "tls",
    "ssl_cert_reqs",
    "timeout",
    "socket_timeout",
    "username",
    "password",
    "user",
    "auth",
    "prefix",
    "protocol",
    "host_map",
];

struct Options<'a>(Vec<(&'a str, String)>);

impl<'a> Options<'a> {
    fn parse(query: &'a str) -> std::result::Result<Self, String> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((name, decoded(value)?))
        });
        pairs.collect::<std::result::Result<_, String>>().map(Options)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| *n == name)?;
        Some(self.0.remove(at).1)
    }

    fn finish(self) -> std::result::Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let known = if KNOWN_OPTIONS.contains(name) { format!(" \"{name}\"") } else { String::new() };
                Err(format!(
                    "has the unknown option{known}: rediss:// takes ca, unix:// takes db, redis+cluster:// takes host_map"
                ))
            }
        }
    }
}

fn decoded(text: &str) -> std::result::Result<String, String> {
    let bad = || "has a '%' that is not followed by two hexadecimal digits: write % as %25".to_owned();
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = after.get(..2).filter(|d| d.iter().all(u8::is_ascii_hexdigit)).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        out.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = &after[2..];
    }
    String::from_utf8(out).map_err(|_| "has bytes that are not UTF-8 behind its '%'".to_owned())
}
