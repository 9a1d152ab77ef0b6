//! A primary that Sentinels know by a name: the URL that says so, and where it was found last.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::options::{Options, password_of};
use super::{Address, Server, TlsFiles, database_of, decoded, host_and_port};
use crate::base::credentials::Secret;
use crate::base::error::Error;
use crate::base::fork::ForkCell;

/// The port of a Sentinel unless another is given.
const PORT: u16 = 26_379;
/// The longest name of a primary, in bytes.
const MAX_NAME: usize = 255;
/// What a Sentinel said a moment ago need not be asked again: many callers may want a connection at once.
const FRESH: Duration = Duration::from_millis(50);

/// Between two calls news is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Who lost its Sentinel looks for another one no more often than this.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// What hears a Sentinel's news. It never blocks.
pub(crate) trait Ear: Send {
    /// Where the primary has gone, if there is news. The error ends the ear.
    fn listen(&mut self) -> std::io::Result<Option<Place>>;
}

/// Whether a Sentinel is listened to.
#[derive(Default)]
enum Hearing {
    /// Not before the primary was found.
    #[default]
    Never,
    Ear(Box<dyn Ear>),
    /// No more, since then.
    Deaf(Instant),
}

/// A host and a port.
pub(crate) type Place = (String, u16);

/// A primary that Sentinels watch.
pub(crate) struct Watched {
    /// What the Sentinels call it.
    pub name: String,
    pub sentinels: Vec<Server>,
    /// How to speak TLS with it, if it does.
    files: Option<TlsFiles>,
    found: ForkCell<Found>,
    base: Instant,
}

/// What this process knows of it.
#[derive(Default)]
struct Found {
    place: Mutex<Option<(Place, Instant)>>,
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

impl Watched {
    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let found = Found::default();
            // Processes begin with different ones, and so share them.
            let seed = std::process::id() as usize;
            found.first.store(seed % self.sentinels.len().max(1), Ordering::Relaxed);
            found
        })
    }

    fn place(&self) -> MutexGuard<'_, Option<(Place, Instant)>> {
        self.found().place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it was found last.
    pub fn last(&self) -> Option<Place> {
        self.place().as_ref().map(|(place, _)| place.clone())
    }

    /// Where it was found a moment ago.
    pub fn just_found(&self) -> Option<Place> {
        self.place().as_ref().filter(|(_, then)| then.elapsed() < FRESH).map(|(place, _)| place.clone())
    }

    /// It was found here, and says itself that it is the primary.
    pub fn is_at(&self, place: Place) -> u64 {
        let mut last = self.place();
        if last.as_ref().is_none_or(|(known, _)| *known != place) {
            self.found().epoch.fetch_add(1, Ordering::Relaxed);
        }
        *last = Some((place, Instant::now()));
        self.epoch()
    }

    /// Notes why the server that was named was refused; none when a search begins.
    pub fn refuses(&self, error: Option<Error>) {
        *self.found().refused.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Why the server that was named was refused last.
    pub fn refused(&self) -> Option<Error> {
        self.found().refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// This is to be listened to from now on.
    pub fn hears(&self, ear: Box<dyn Ear>) {
        *self.hearing() = Hearing::Ear(ear);
    }

    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.found().hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a Sentinel said meanwhile. True if there is none to listen to, and the caller is to find one.
    pub fn listen(&self) -> bool {
        let found = self.found();
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
    pub fn is_said_to_be_at(&self, place: Place) {
        let mut last = self.place();
        if last.as_ref().is_some_and(|(known, _)| *known != place) {
            self.found().epoch.fetch_add(1, Ordering::Relaxed);
            let now = Instant::now();
            *last = Some((place, now.checked_sub(FRESH).unwrap_or(now)));
        }
    }

    /// It is not where it was, or not what it was.
    pub fn is_lost(&self) {
        if let Some((_, then)) = &mut *self.place() {
            *then = then.checked_sub(FRESH).unwrap_or(*then);
        }
    }

    /// Counts the places where it was found.
    pub fn epoch(&self) -> u64 {
        self.found.get().map_or(0, |found| found.epoch.load(Ordering::Relaxed))
    }

    /// The Sentinels, as numbers of the list: first the one that answered last.
    pub fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.found().first.load(Ordering::Relaxed), self.sentinels.len());
        (0..count).map(move |at| (first + at) % count)
    }

    /// This Sentinel answered.
    pub fn answered(&self, number: usize) {
        self.found().first.store(number, Ordering::Relaxed);
    }

    /// This Sentinel did not: another one is asked first.
    pub fn passed_over(&self, number: usize) {
        let next = (number + 1) % self.sentinels.len().max(1);
        let _ = self.found().first.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How it is reached at a place.
    pub fn address(&self, (host, port): Place) -> Address {
        Address::at(host, port, self.files.clone())
    }

    /// The hosts and ports of the Sentinels.
    pub fn places(&self) -> String {
        self.sentinels.iter().map(Server::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Watched) -> bool {
        // Those that share a Sentinel ask about the same primary.
        let shares = |one: &Server| other.sentinels.iter().any(|other| one.is_place_of(other));
        self.name == other.name && self.sentinels.iter().any(shares)
    }
}

impl Eq for Watched {}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("name", &self.name).field("sentinels", &self.sentinels).finish_non_exhaustive()
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "primary {} of the Sentinels {}", self.name, self.places())
    }
}

/// Whether a message may show this as the place of a URL.
pub(super) fn is_place(authority: &str, path: &str) -> bool {
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    let hosts = authority.split(',').all(|host| !host.contains('%') && host_and_port(host, PORT).is_ok());
    hosts && (name.is_empty() || is_name(name)) && database_of(database, false).is_ok()
}

fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

/// The primary that a URL names, and its database.
pub(super) fn parse(
    scheme: &str,
    place: &str,
    files: Option<TlsFiles>,
    client_name: &str,
    options: &mut Options<'_>,
) -> std::result::Result<(Watched, String), String> {
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    let hosts: Vec<Place> =
        authority.split(',').map(|host| host_and_port(host, PORT)).collect::<std::result::Result<_, _>>()?;
    if name.is_empty() {
        return Err(format!("names no primary: write it as {scheme}://host:{PORT},host:{PORT}/mymaster"));
    }
    if !is_name(name) {
        return Err(format!(
            "has an invalid name of a primary: use up to {MAX_NAME} letters, digits, '-', '_' and '.'"
        ));
    }
    let user = options.take("sentinel_user");
    let password = password_of(
        options.take("sentinel_password").filter(|text| !text.is_empty()).map(Secret::new),
        options.take("sentinel_password_file"),
        "sentinel_password_file",
        None,
    )?;
    if user.is_some() && password.is_none() {
        return Err("has a sentinel_user= but no sentinel_password= or sentinel_password_file=: give one".into());
    }
    let sentinel = |(host, port)| Server {
        address: Address::at(host, port, files.clone()),
        user: user.clone(),
        password: password.clone(),
        database: 0,
        client_name: client_name.to_owned(),
        trusted: None,
    };
    let sentinels = hosts.into_iter().map(sentinel).collect::<Vec<_>>();
    Ok((
        Watched { name: decoded(name)?, sentinels, files, found: ForkCell::new(), base: Instant::now() },
        database.to_owned(),
    ))
}
