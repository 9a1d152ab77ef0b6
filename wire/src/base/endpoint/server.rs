//! A server of a URL, with what it takes to log in; and a primary that Sentinels know by a name, with where it was found last.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::trusted::TrustedHosts;
use crate::base::credentials::Password;
use crate::base::error::{Code, Error, shown};
use crate::base::fork::ForkCell;

/// What a Sentinel said a moment ago need not be asked again: many callers may want a connection at once.
const FRESH: Duration = Duration::from_millis(50);

/// Between two calls news is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Who lost its Sentinel looks for another one no more often than this.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// How the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Tcp {
        /// Its name or IP address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A host and a port, with TLS.
    Tls {
        /// Its name or IP address.
        host: String,
        /// Its port.
        port: u16,
        /// Its certificates.
        files: TlsFiles,
    },
    /// A socket of this machine.
    Unix {
        /// Its file.
        path: PathBuf,
    },
    /// Where Sentinels say.
    Watched(Arc<SentinelPrimary>),
}

impl Address {
    /// A host and a port, with TLS if there are its files.
    pub(super) fn at(host: String, port: u16, files: Option<TlsFiles>) -> Address {
        match files {
            Some(files) => Address::Tls { host, port, files },
            None => Address::Tcp { host, port },
        }
    }
}

/// The PEM files of a TLS connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TlsFiles {
    /// What to trust instead of what the system trusts.
    pub ca: Option<PathBuf>,
    /// What to show to a server that wants to know who we are: the certificate, with those that vouch for it, and its key.
    pub shown: Option<(PathBuf, PathBuf)>,
}

/// One Redis server, with what it takes to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub address: Address,
    /// Who logs in; none: the default user.
    pub user: Option<String>,
    /// How it logs in; none: not at all.
    pub password: Option<Password>,
    /// The number of its database.
    pub database: u32,
    /// What the server's operator sees in `CLIENT LIST`.
    pub client_name: String,
    /// Where it may be, of what others say; none: anywhere.
    pub(super) trusted: Option<TrustedHosts>,
}

impl Server {
    /// Its host and port; none of a socket in the file system, and of what Sentinels find.
    pub(crate) fn place(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => Some((host, *port)),
            Address::Unix { .. } | Address::Watched(_) => None,
        }
    }

    /// The same at another host and port.
    pub(super) fn moved(&self, host: &str, port: u16) -> Server {
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
    pub(super) fn is_place_of(&self, other: &Server) -> bool {
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
    pub(crate) fn quoted(&self, said: &str) -> Option<String> {
        let Some(password) = &self.password else { return Some(shown(said.as_bytes())) };
        // The rest may hold the password, or a part of it, in one guise or another.
        let word = said.split_whitespace().next()?.trim_matches('"');
        let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.'));
        let (word, password) = (word.to_ascii_lowercase(), password.known()?.to_ascii_lowercase());
        let tells = password.contains(&word) || word.contains(&password);
        (is_plain && !word.is_empty() && word.len() <= 12 && !tells).then(|| format!("{}…", word.to_ascii_uppercase()))
    }

    /// The same with its address.
    pub fn at(&self, watched: &SentinelPrimary, place: HostPort) -> Server {
        Server { address: watched.address(place), ..self.clone() }
    }

    /// Whether it is where Sentinels say.
    pub(crate) fn is_watched(&self) -> bool {
        matches!(self.address, Address::Watched(_))
    }

    /// Where the user and the password come from, for a message.
    pub fn login_origin(&self) -> String {
        self.password.as_ref().map_or_else(|| "the url".into(), Password::origin)
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

/// What hears a Sentinel's news. It never blocks.
pub(crate) trait SentinelListener: Send {
    /// Where the primary has gone, if there is news. The error ends the ear.
    fn listen(&mut self) -> std::io::Result<Option<HostPort>>;
}

/// Whether a Sentinel is listened to.
#[derive(Default)]
enum Hearing {
    /// Not before the primary was found.
    #[default]
    Never,
    Ear(Box<dyn SentinelListener>),
    /// No more, since then.
    Deaf(Instant),
}

/// A host and a port.
pub(crate) type HostPort = (String, u16);

/// A primary that Sentinels watch.
pub struct SentinelPrimary {
    /// What the Sentinels call it.
    pub name: String,
    /// The Sentinels, in the URL's order.
    pub sentinels: Vec<Server>,
    /// How to speak TLS with it, if it does.
    files: Option<TlsFiles>,
    found: ForkCell<PrimaryLocation>,
    base: Instant,
}

/// What this process knows of it.
#[derive(Default)]
struct PrimaryLocation {
    place: Mutex<Option<(HostPort, Instant)>>,
    /// Why the server that was named is not the primary, or not for us, in the search that is under way or was last.
    refused: Mutex<Option<Error>>,
    /// Counts the places.
    epoch: AtomicU64,
    /// The Sentinel that answered last.
    first: AtomicUsize,
    hearing: Mutex<Hearing>,
    /// The microsecond after `base` in which it was listened last.
    looked: AtomicU64,
}

impl SentinelPrimary {
    /// A primary of this name, which was not looked for yet.
    pub(super) fn new(name: String, sentinels: Vec<Server>, files: Option<TlsFiles>) -> SentinelPrimary {
        SentinelPrimary { name, sentinels, files, found: ForkCell::new(), base: Instant::now() }
    }

    fn location(&self) -> &PrimaryLocation {
        self.found.get_or_init(|| {
            let found = PrimaryLocation::default();
            // Processes begin with different ones, and so share them.
            let seed = std::process::id() as usize;
            found.first.store(seed % self.sentinels.len().max(1), Ordering::Relaxed);
            found
        })
    }

    fn lock_location(&self) -> MutexGuard<'_, Option<(HostPort, Instant)>> {
        self.location().place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it was found last.
    pub(crate) fn last(&self) -> Option<HostPort> {
        self.lock_location().as_ref().map(|(place, _)| place.clone())
    }

    /// Where it was found a moment ago.
    pub(crate) fn just_found(&self) -> Option<HostPort> {
        self.lock_location().as_ref().filter(|(_, then)| then.elapsed() < FRESH).map(|(place, _)| place.clone())
    }

    /// It was found here, and says itself that it is the primary.
    pub(crate) fn is_at(&self, place: HostPort) -> u64 {
        let mut last = self.lock_location();
        if last.as_ref().is_none_or(|(known, _)| *known != place) {
            self.location().epoch.fetch_add(1, Ordering::Relaxed);
        }
        *last = Some((place, Instant::now()));
        self.epoch()
    }

    /// Notes why the server that was named was refused; none when a search begins.
    pub(crate) fn refuses(&self, error: Option<Error>) {
        *self.location().refused.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Why the server that was named was refused last.
    pub(crate) fn refused(&self) -> Option<Error> {
        self.location().refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// This is to be listened to from now on.
    pub(crate) fn hears(&self, ear: Box<dyn SentinelListener>) {
        *self.hearing() = Hearing::Ear(ear);
    }

    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.location().hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a Sentinel said meanwhile. True if there is none to listen to, and the caller is to find one.
    pub(crate) fn listen(&self) -> bool {
        let found = self.location();
        let (now, looked) = (self.base.elapsed().as_micros() as u64, found.looked.load(Ordering::Relaxed));
        let is_due = now.saturating_sub(looked) >= LOOK_EVERY.as_micros() as u64;
        if !is_due || found.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        let mut hearing = self.hearing();
        match &mut *hearing {
            Hearing::Never => false,
            Hearing::Deaf(then) if then.elapsed() < LISTEN_AGAIN => false,
            Hearing::Deaf(then) => {
                *then = Instant::now();
                true
            }
            Hearing::Ear(ear) => match ear.listen() {
                Ok(None) => false,
                Ok(Some(place)) => {
                    drop(hearing);
                    self.is_said_to_be_at(place);
                    false
                }
                Err(_) => {
                    *hearing = Hearing::Deaf(Instant::now());
                    true
                }
            },
        }
    }

    /// A Sentinel says that it is here: connections to another place are of no use any more.
    pub(crate) fn is_said_to_be_at(&self, place: HostPort) {
        let mut last = self.lock_location();
        if last.as_ref().is_some_and(|(known, _)| *known != place) {
            self.location().epoch.fetch_add(1, Ordering::Relaxed);
            let now = Instant::now();
            *last = Some((place, now.checked_sub(FRESH).unwrap_or(now)));
        }
    }

    /// It is not where it was, or not what it was.
    pub(crate) fn is_lost(&self) {
        if let Some((_, then)) = &mut *self.lock_location() {
            *then = then.checked_sub(FRESH).unwrap_or(*then);
        }
    }

    /// Counts the places where it was found.
    pub(crate) fn epoch(&self) -> u64 {
        self.found.get().map_or(0, |found| found.epoch.load(Ordering::Relaxed))
    }

    /// The Sentinels, as numbers of the list: first the one that answered last.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.location().first.load(Ordering::Relaxed), self.sentinels.len());
        (0..count).map(move |at| (first + at) % count)
    }

    /// This Sentinel answered.
    pub(crate) fn answered(&self, number: usize) {
        self.location().first.store(number, Ordering::Relaxed);
    }

    /// This Sentinel did not: another one is asked first.
    pub(crate) fn passed_over(&self, number: usize) {
        let next = (number + 1) % self.sentinels.len().max(1);
        let _ = self.location().first.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How it is reached at a place.
    pub(crate) fn address(&self, (host, port): HostPort) -> Address {
        Address::at(host, port, self.files.clone())
    }

    /// The hosts and ports of the Sentinels.
    pub(crate) fn places(&self) -> String {
        self.sentinels.iter().map(Server::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl PartialEq for SentinelPrimary {
    fn eq(&self, other: &SentinelPrimary) -> bool {
        // Those that share a Sentinel ask about the same primary.
        let shares = |one: &Server| other.sentinels.iter().any(|other| one.is_place_of(other));
        self.name == other.name && self.sentinels.iter().any(shares)
    }
}

impl Eq for SentinelPrimary {}

impl fmt::Debug for SentinelPrimary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("name", &self.name).field("sentinels", &self.sentinels).finish_non_exhaustive()
    }
}

impl fmt::Display for SentinelPrimary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "primary {} of the Sentinels {}", self.name, self.places())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Endpoint;
    use super::*;

    fn server(url: &str) -> Server {
        match Endpoint::parse(url, None).unwrap() {
            Endpoint::Redis(server) => server,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn a_message_of_a_server_is_shown_without_the_password() {
        let said = |url, text| server(url).scrubbed(text).into_owned();
        assert_eq!(said("redis://:s3cret@host", "ERR no s3cret, s3cret"), "ERR no ***, ***");
        assert_eq!(said("redis://:s3cret@host", "ERR no"), "ERR no");
        assert_eq!(said("redis://host", "ERR no s3cret"), "ERR no s3cret");
    }

    #[test]
    fn the_sentinel_that_answered_last_is_asked_first() {
        let sentinels = ["redis://a:1", "redis://b:1", "redis://c:1"].map(server).into();
        let primary = SentinelPrimary::new("main".into(), sentinels, None);
        let order = || primary.order().collect::<Vec<_>>();
        let first = order()[0];
        assert_eq!(order(), [first, (first + 1) % 3, (first + 2) % 3], "each process has a first one of its own");
        primary.answered(0);
        primary.passed_over(0);
        assert_eq!(order(), [1, 2, 0]);
        primary.answered(2);
        primary.passed_over(1);
        assert_eq!(order(), [2, 0, 1], "another was asked first by then");
        primary.passed_over(2);
        assert_eq!(order(), [0, 1, 2]);
    }

    #[test]
    fn a_primary_elsewhere_begins_an_epoch() {
        let primary = SentinelPrimary::new("main".into(), vec![server("redis://a:1")], None);
        let found = |host: &str| primary.is_at((host.to_owned(), 1));
        let first = found("b");
        assert_eq!((found("b"), found("c"), found("b")), (first, first + 1, first + 2));
        assert_eq!((primary.last(), primary.just_found()), (Some(("b".into(), 1)), Some(("b".into(), 1))));
    }

    #[test]
    fn primaries_of_one_name_that_share_a_sentinel_are_one() {
        let primary = |name: &str, hosts: &[&str]| {
            let sentinels = hosts.iter().map(|host| server(&format!("redis://{host}:1"))).collect();
            SentinelPrimary::new(name.into(), sentinels, None)
        };
        assert!(primary("main", &["a", "b"]) == primary("main", &["c", "B"]));
        assert!(primary("main", &["a", "b"]) != primary("main", &["c", "d"]));
        assert!(primary("main", &["a"]) != primary("other", &["a"]));
    }

    #[test]
    fn what_a_server_says_is_quoted_without_what_may_be_the_login() {
        let quoted = |url, text| server(url).quoted(text);
        assert_eq!(quoted("redis://host", "ERR no").as_deref(), Some("ERR no"));
        for (text, expected) in [
            ("HTTP/1.1 400 Bad Request", Some("HTTP/1.1…")),
            ("s3cret no", None),
            ("xs3cretx no", None),
            ("a+b no", None),
            ("", None),
            ("\"\" no", None),
            ("longer-than-12 no", None),
            ("exactly12345 no", Some("EXACTLY12345…")),
            ("exactly123456 no", None),
        ] {
            assert_eq!(quoted("redis://:s3cret@host", text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_memory_has_a_short_and_plain_name() {
        let is_taken = |name: &str| Endpoint::parse(&format!("memory://{name}"), None).is_ok();
        let long = "x".repeat(super::super::MAX_MEMORY_NAME);
        assert!(is_taken("") && is_taken("a-b_c.9") && is_taken(&long));
        assert!(!is_taken("a b") && !is_taken(&format!("{long}x")));
    }
}
