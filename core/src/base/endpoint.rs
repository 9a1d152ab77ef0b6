//! Where the state is kept: the URL, taken apart and checked.

mod options;
mod redacted;
mod seeds;
pub(crate) mod sentinels;
mod trusted;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use options::{Options, client_name, password_of, tls_files};
use sentinels::Watched;
use trusted::TrustedHosts;

use crate::base::credentials::{Password, PasswordProvider, Secret};
use crate::base::error::{Code, Error, Result, shown};
pub use redacted::redacted;
pub(crate) use seeds::{HostMap, Seeds};

/// The longest name of a memory, in bytes.
const MAX_MEMORY_NAME: usize = 255;
/// How the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    Tls {
        host: String,
        port: u16,
        files: TlsFiles,
    },
    Unix {
        path: PathBuf,
    },
    /// Where Sentinels say.
    Watched(Arc<Watched>),
}

impl Address {
    /// A host and a port, with TLS if there are its files.
    fn at(host: String, port: u16, files: Option<TlsFiles>) -> Address {
        match files {
            Some(files) => Address::Tls { host, port, files },
            None => Address::Tcp { host, port },
        }
    }
}

/// The PEM files of a TLS connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TlsFiles {
    /// What to trust instead of what the system trusts.
    pub ca: Option<PathBuf>,
    /// What to show to a server that wants to know who we are: the certificate, with those that vouch for it, and its key.
    pub shown: Option<(PathBuf, PathBuf)>,
}

/// One Redis server, with what it takes to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub address: Address,
    pub user: Option<String>,
    pub password: Option<Password>,
    pub database: u32,
    /// What the server's operator sees in `CLIENT LIST`.
    pub client_name: String,
    /// Where it may be, of what others say; none: anywhere.
    trusted: Option<TrustedHosts>,
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
    /// Its host and port; none of a socket in the file system, and of what Sentinels find.
    pub fn place(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => Some((host, *port)),
            Address::Unix { .. } | Address::Watched(_) => None,
        }
    }

    /// The same at another host and port.
    fn moved(&self, host: &str, port: u16) -> Server {
        let files = match &self.address {
            Address::Tls { files, .. } => Some(files.clone()),
            _ => None,
        };
        Server { address: Address::at(host.to_owned(), port, files), ..self.clone() }
    }

    /// Why no connection is made to it, and it gets no password, if its URL trusts other hosts alone.
    pub fn distrusted(&self) -> Option<Error> {
        let (trusted, (host, port)) = (self.trusted.as_ref()?, self.place()?);
        (!trusted.has(host, port)).then(|| {
            let message = format!(
                "{self}, which another server has named, is not among the trusted_hosts= of the url: no connection was made \
                 to it; add it if it is yours, or look who names it"
            );
            Error::new(Code::NotPermitted, message)
        })
    }

    /// Whether it is the same place, however one gets in.
    fn is_place_of(&self, other: &Server) -> bool {
        match (self.place(), other.place()) {
            (Some((one, port)), Some((other, other_port))) => one.eq_ignore_ascii_case(other) && port == other_port,
            _ => self.address == other.address,
        }
    }

    /// A peer's error, without the password should it be there.
    pub fn scrubbed<'a>(&self, said: &'a str) -> Cow<'a, str> {
        match self.password.as_ref().and_then(Password::known) {
            Some(password) if said.contains(&*password) => said.replace(&*password, "***").into(),
            _ => said.into(),
        }
    }

    /// What a peer said, fit to be shown: nothing of it that may quote the login.
    pub fn quoted(&self, said: &str) -> Option<String> {
        let Some(password) = &self.password else { return Some(shown(said.as_bytes())) };
        // The rest may hold the password, or a part of it, in one guise or another.
        let word = said.split_whitespace().next()?.trim_matches('"');
        let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.'));
        let (word, password) = (word.to_ascii_lowercase(), password.known()?.to_ascii_lowercase());
        let tells = password.contains(&word) || word.contains(&password);
        (is_plain && !word.is_empty() && word.len() <= 12 && !tells).then(|| format!("{}…", word.to_ascii_uppercase()))
    }

    /// The same with its address.
    pub fn at(&self, watched: &Watched, place: sentinels::Place) -> Server {
        Server { address: watched.address(place), ..self.clone() }
    }

    /// Whether it is where Sentinels say.
    pub fn is_watched(&self) -> bool {
        matches!(self.address, Address::Watched(_))
    }

    /// Where the user and the password come from, for a message.
    pub fn login_origin(&self) -> String {
        self.password.as_ref().map_or_else(|| "the url".into(), Password::origin)
    }
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

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp { host, port } | Address::Tls { host, port, .. } if host.contains(':') => {
                write!(f, "[{host}]:{port}")
            }
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => write!(f, "{host}:{port}"),
            Address::Unix { path } => write!(f, "unix:{}", path.display()),
            Address::Watched(watched) => match watched.last() {
                Some(place) => write!(f, "{} (primary {})", self.at(watched, place), watched.name),
                None => watched.fmt(f),
            },
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
        let mut options = Options::parse(query)?;
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
    let some = |text: String| Some(text).filter(|t| !t.is_empty());
    Ok((some(decoded(user)?), some(decoded(password)?).map(Secret::new)))
}

fn host_and_port(authority: &str, default_port: u16) -> std::result::Result<(String, u16), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']').ok_or("has a '[' without ']': write an IPv6 host as [::1]")?;
            match after {
                "" => (host, None),
                _ => (host, Some(after.strip_prefix(':').ok_or("has something odd after ']': write [::1]:6379")?)),
            }
        }
        None if authority.matches(':').count() > 1 => {
            return Err("has several ':' in a host: write IPv6 as [::1]:6379, and '@' after a login".into());
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("has no host: write it as redis://127.0.0.1:6379".into());
    }
    let port = match port {
        None => default_port,
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
