//! Finding the primary that Sentinels watch, and connecting to it, within the caller's time.
//!
//! A Sentinel is asked, and another one if it takes too long or was wrong: a failover reaches them one after the other. The
//! server that is named has to say itself that it is the primary. While it does not, or does not answer, Sentinels are asked
//! on. The one that was asked last is listened to: the next call hears that the primary was replaced. A Sentinel tells that
//! before it demotes the old one, which goes on granting until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::deadline::{CallDeadline, interruption};
use super::direct::dial_as;
use super::greeting::Role;
use super::open::Connection;
use super::sentinel::{self, SentinelSubscription};
use crate::base::endpoint::Server;
use crate::base::endpoint::server::{HostPort, SentinelPrimary};
use crate::base::error::{Code, Error, Result};
use crate::base::random;
use crate::base::thread::on_thread;

/// The shortest time between two questions: many processes may search at once.
const PAUSE: Duration = Duration::from_millis(40);
/// As much is added at most, so that they do not ask in step.
const JITTER: Duration = Duration::from_millis(20);

/// What a thread of a search tells.
enum SearchEvent {
    /// A Sentinel where the primary is.
    Place(usize, Result<(HostPort, Option<SentinelSubscription>)>),
    /// A server that it lets us in.
    Dialed(HostPort, Result<Connection>),
}

/// Connects to the primary.
///
/// # Errors
/// That of the Sentinels if none of them names it, else that of the server which they name.
pub(super) fn dial(
    server: &Server,
    watched: &Arc<SentinelPrimary>,
    patience: &mut CallDeadline<'_>,
) -> Result<Connection> {
    let mut search = PrimarySearch::new(server, watched, patience.deadline);
    if let Some(place) = watched.just_found() {
        search.try_place(place)?;
        search.ask_at = Instant::now() + pause();
    }
    loop {
        if Instant::now() >= search.ask_at {
            search.ask_next()?;
        }
        let nap = search.ask_at.saturating_duration_since(Instant::now()).min(patience.slice());
        match search.told.recv_timeout(nap) {
            Ok(told) => {
                if let Some(connection) = search.hear(told)? {
                    return Ok(connection);
                }
                patience.look_up()
            }
            Err(RecvTimeoutError::Timeout) => patience.look_up(),
            Err(RecvTimeoutError::Disconnected) => Ok(()),
        }
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::Interrupted => interruption(),
            _ => search.gave_up(),
        })?;
        if Instant::now() >= search.deadline {
            return Err(search.gave_up());
        }
    }
}

/// The error of who does not wait any longer for a search, if the server that was named refused us.
pub(super) fn overdue(watched: &SentinelPrimary) -> Option<Error> {
    watched.refused().map(|error| away(watched, &error))
}

fn away(watched: &SentinelPrimary, why: &Error) -> Error {
    Error::new(Code::Unavailable, format!("the primary {} is unreachable: {}", watched.name, why.message()))
}

struct PrimarySearch<'a> {
    server: &'a Server,
    watched: &'a Arc<SentinelPrimary>,
    deadline: Instant,
    tell: Sender<SearchEvent>,
    told: Receiver<SearchEvent>,
    /// Tells the threads that nobody waits for them any more.
    over: Arc<AtomicBool>,
    /// The Sentinels in the order in which they are asked, and the one that is next.
    order: Vec<usize>,
    next: usize,
    /// When to ask.
    ask_at: Instant,
    /// By Sentinel: whether it owes an answer, and why it had none last.
    owes: Vec<bool>,
    errors: Vec<Option<Error>>,
    /// What was said last.
    said: Option<HostPort>,
    dialing: Vec<HostPort>,
    /// The server that refused us last, and why. One that only kept silent until the deadline does not replace its own reason.
    refused: Option<(HostPort, Error)>,
    /// Whether it was looked for where it was last, since nobody can say better.
    remembered: bool,
    /// What hears the news of the Sentinel that was asked last.
    ear: Option<SentinelSubscription>,
}

impl Drop for PrimarySearch<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The time until the next question.
fn pause() -> Duration {
    let [byte] = random::bytes::<1>().unwrap_or_default();
    PAUSE + JITTER * u32::from(byte) / 256
}

impl<'a> PrimarySearch<'a> {
    fn new(server: &'a Server, watched: &'a Arc<SentinelPrimary>, deadline: Instant) -> PrimarySearch<'a> {
        let (tell, told) = channel();
        let now = Instant::now();
        // A little earlier than the caller, so that the caller hears why.
        let margin = (deadline.saturating_duration_since(now) / 16).min(Duration::from_millis(20));
        let count = watched.sentinels.len();
        watched.refuses(None);
        PrimarySearch {
            server,
            watched,
            deadline: deadline.checked_sub(margin).unwrap_or(deadline),
            tell,
            told,
            over: Arc::default(),
            order: watched.order().collect(),
            next: 0,
            ask_at: now,
            owes: vec![false; count],
            errors: vec![None; count],
            said: None,
            dialing: Vec::new(),
            refused: None,
            remembered: false,
            ear: None,
        }
    }

    /// Asks the next Sentinel that owes no answer.
    fn ask_next(&mut self) -> Result<()> {
        self.ask_at = Instant::now() + pause();
        let count = self.order.len();
        let free = (0..count).map(|step| (self.next + step) % count).find(|at| !self.owes[self.order[*at]]);
        let Some(at) = free else { return Ok(()) };
        let number = self.order[at];
        self.next = (at + 1) % count;
        self.owes[number] = true;
        let (watched, name) = (self.watched.clone(), self.watched.name.clone());
        self.begin("quotalock-sentinel", move |patience| {
            SearchEvent::Place(number, sentinel::ask(&watched.sentinels[number], &name, patience))
        })
    }

    /// Connects to a server, unless that is under way.
    fn try_place(&mut self, place: HostPort) -> Result<()> {
        self.said = Some(place.clone());
        if self.dialing.contains(&place) {
            return Ok(());
        }
        self.dialing.push(place.clone());
        let server = self.server.at(self.watched, place.clone());
        self.begin("quotalock-dial", move |patience| {
            SearchEvent::Dialed(place, dial_as(&server, Role::Primary, patience))
        })
    }

    /// Does it on a thread of its own, for as long as the search may last.
    fn begin(
        &self,
        name: &str,
        work: impl FnOnce(&mut CallDeadline<'_>) -> SearchEvent + Send + 'static,
    ) -> Result<()> {
        let (tell, over, deadline) = (self.tell.clone(), self.over.clone(), self.deadline);
        on_thread(name, move || {
            let mut is_over = || over.load(Ordering::Relaxed);
            // Nobody listens any more if another was faster.
            let _ = tell.send(work(&mut CallDeadline::new(deadline, &mut is_over)));
        })
    }

    /// Takes what a thread tells; the connection, if that was it.
    fn hear(&mut self, told: SearchEvent) -> Result<Option<Connection>> {
        match told {
            SearchEvent::Place(number, Ok((place, ear))) => {
                self.ear = ear.or(self.ear.take());
                self.watched.answered(number);
                (self.owes[number], self.errors[number]) = (false, None);
                self.ask_at = Instant::now() + pause();
                self.try_place(place)?;
            }
            SearchEvent::Place(number, Err(error)) => {
                self.watched.passed_over(number);
                (self.owes[number], self.errors[number]) = (false, Some(error));
                match self.errors.iter().all(Option::is_some) {
                    true => self.nobody_knows()?,
                    // The next one at once.
                    false => self.ask_at = self.ask_at.min(Instant::now()),
                }
            }
            // Named before another was.
            SearchEvent::Dialed(place, Ok(_)) if self.said.as_ref() != Some(&place) => {
                self.dialing.retain(|at| *at != place)
            }
            SearchEvent::Dialed(place, Ok(mut connection)) => {
                connection.epoch = self.watched.is_at(place);
                self.ear.take().into_iter().for_each(|ear| self.watched.hears(Box::new(ear)));
                return Ok(Some(connection));
            }
            SearchEvent::Dialed(place, Err(error)) => {
                self.dialing.retain(|at| *at != place);
                self.watched.is_lost();
                if !matches!(error.code(), Code::Unavailable | Code::Timeout) {
                    return Err(error);
                }
                self.refuse(place, error);
                if self.errors.iter().all(Option::is_some) {
                    self.nobody_knows()?;
                }
            }
        }
        Ok(None)
    }

    /// Keeps why a server refused us, for the error of this search. A later connection to the same server is cut off by the
    /// deadline, at which it said nothing: what it said before is the reason.
    fn refuse(&mut self, place: HostPort, error: Error) {
        let said_more = |(before, why): &(HostPort, Error)| *before == place && why.code() == Code::Unavailable;
        if error.code() == Code::Timeout && self.refused.as_ref().is_some_and(said_more) {
            return;
        }
        self.watched.refuses(Some(error.clone()));
        self.refused = Some((place, error));
    }

    /// All Sentinels have failed: it may still be where it was.
    fn nobody_knows(&mut self) -> Result<()> {
        if !self.dialing.is_empty() {
            return Ok(());
        }
        match self.watched.last().filter(|_| !std::mem::replace(&mut self.remembered, true)) {
            Some(place) => self.try_place(place),
            None => Err(self.failed()),
        }
    }

    /// Why no Sentinel names the primary: what a person can mend first.
    fn failed(&self) -> Error {
        let rank = |error: &&Error| match error.code() {
            Code::InvalidArgument => 0,
            Code::NotPermitted => 1,
            Code::Internal => 2,
            Code::Unavailable => 3,
            _ => 4,
        };
        match self.errors.iter().flatten().min_by_key(rank) {
            Some(error) if rank(&error) < 3 => error.clone(),
            Some(error) if rank(&error) == 3 => Error::new(
                Code::Unavailable,
                format!(
                    "no Sentinel names the primary {} ({}): are they running at {}?",
                    self.watched.name,
                    error.message(),
                    self.watched.places()
                ),
            ),
            // All of them hang.
            _ => self.gave_up(),
        }
    }

    /// The time is over.
    fn gave_up(&self) -> Error {
        if let Some((_, error)) = &self.refused {
            return away(self.watched, error);
        }
        let name = &self.watched.name;
        let message = match &self.said {
            Some(place) => format!(
                "{} gave no answer to a new connection in time, and Sentinels name no other primary {name}: is it hanging, \
                 or is the timeout too short?",
                self.server.at(self.watched, place.clone())
            ),
            None => format!(
                "no Sentinel told in time where the primary {name} is: are they hanging at {}, or is the timeout too short?",
                self.watched.places()
            ),
        };
        Error::new(Code::Timeout, message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dial::overdue;
    use super::*;
    use crate::base::endpoint::{Address, Endpoint};

    #[test]
    fn who_does_not_wait_any_longer_hears_why_the_named_server_was_refused() {
        let Ok(Endpoint::Redis(server)) = Endpoint::parse("redis+sentinel://s.test/shop", None) else {
            panic!("a primary that is watched")
        };
        let Address::Watched(watched) = &server.address else { panic!("it is watched") };
        let soon = Instant::now() + Duration::from_secs(1);
        let mut search = PrimarySearch::new(&server, watched, soon);
        assert_eq!(overdue(&server).code(), Code::Timeout);
        let place = ("r.test".to_owned(), 6_379);
        let refused = SearchEvent::Dialed(place, Err(Error::new(Code::Unavailable, "r.test demands a certificate")));
        assert!(matches!(search.hear(refused), Ok(None)));
        for error in [overdue(&server), search.gave_up()] {
            assert_eq!(error.code(), Code::Unavailable);
            assert_eq!(error.message(), "the primary shop is unreachable: r.test demands a certificate");
        }
        // The deadline cut a connection to the same server off, which is no better reason; another server's silence is one.
        let silent = |port| {
            SearchEvent::Dialed(("r.test".to_owned(), port), Err(Error::new(Code::Timeout, "r.test keeps silent")))
        };
        for (port, why) in [(6_379, "r.test demands a certificate"), (6_380, "r.test keeps silent")] {
            assert!(matches!(search.hear(silent(port)), Ok(None)));
            for error in [overdue(&server), search.gave_up()] {
                assert_eq!(error.message(), format!("the primary shop is unreachable: {why}"));
            }
        }
        // The next search has reasons of its own.
        PrimarySearch::new(&server, watched, soon);
        assert_eq!(overdue(&server).code(), Code::Timeout);
    }
}
