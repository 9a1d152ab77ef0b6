//! Calls that nobody waits for: errands, each made by the process' thread at its time, and cleanups, which take back what a caller has
//! left on a server and does not want any more: a lease, a place in line.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::thread;
use crate::base::error::{Error, Result};
use crate::call::answer::Answer;
use crate::call::command::Command;
use crate::redis::batch;
use crate::session::Session;
use crate::session::exchange::Exchange;

/// What taking back may cost a caller, who waits for it.
pub const CLEAN_UP: Duration = Duration::from_millis(100);

/// The pause before the process' thread sends one again that failed; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A call that takes back; its answer is of no interest. What is left all the same ends by itself.
#[derive(Clone)]
pub struct Cleanup {
    /// The client's.
    pub(crate) session: Arc<Session>,
    command: Arc<dyn Fn() -> Box<dyn Command> + Send + Sync>,
    /// Until when the process' thread sends it again if it fails.
    until: Option<Instant>,
    pause: Duration,
}

impl Cleanup {
    /// Gives back by this command.
    pub fn new(session: &Arc<Session>, command: impl Command + Clone + 'static) -> Cleanup {
        let command = Arc::new(move || -> Box<dyn Command> { Box::new(command.clone()) });
        Cleanup { session: session.clone(), command, until: None, pause: FIRST_PAUSE }
    }

    /// The same, but on the process' thread it is sent again until it is answered, or for so many microseconds: then what it
    /// takes back is over by itself.
    pub fn again_until(self, ttl: u64) -> Cleanup {
        Cleanup { until: Some(Instant::now() + Duration::from_micros(ttl)), ..self }
    }

    /// What it does, whether or not its client is closed.
    pub(crate) fn exchange(&self) -> Exchange {
        Exchange::new(self.session.clone(), (self.command)(), None).parting()
    }

    /// Sends it on this thread, and waits for the answer for so long, the client's timeout at most.
    pub fn send_here(self, within: Duration) {
        batch::run_all(vec![self.exchange().within(within)], &mut || false);
    }

    /// Sends several calls of one client on this thread, which travel together, and waits a little for the answers.
    pub fn send_all_here(cleanups: impl IntoIterator<Item = Cleanup>) {
        let exchange = |cleanup: Cleanup| cleanup.exchange().within(CLEAN_UP);
        batch::run_all(cleanups.into_iter().map(exchange).collect(), &mut || false);
    }

    /// Sends it on this thread if that waits for its own calls, else on the process' thread.
    pub fn send(self, here: bool) {
        if here { Cleanup::send_all_here([self]) } else { self.send_in_background() }
    }

    /// As [`send`](Cleanup::send), of several calls of one client.
    pub fn send_all(cleanups: impl IntoIterator<Item = Cleanup>, here: bool) {
        if here {
            Cleanup::send_all_here(cleanups);
        } else {
            cleanups.into_iter().for_each(Cleanup::send_in_background);
        }
    }

    /// Asks the process' thread to send it.
    pub fn send_in_background(self) {
        thread::clean_up(self);
    }
}

/// Those that are to be sent again.
#[derive(Default)]
pub(super) struct Cleanups {
    all: Vec<(Instant, Cleanup)>,
}

impl Cleanups {
    /// Keeps one that failed, if it is of use to send it again.
    pub(crate) fn failed(&mut self, leave: Cleanup, error: &Error) {
        let next = Instant::now() + leave.pause;
        if error.may_pass() && leave.until.is_some_and(|until| next < until) {
            let pause = (2 * leave.pause).min(LONGEST_PAUSE);
            self.all.push((next, Cleanup { pause, ..leave }));
        }
    }

    /// Those whose time has come.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Cleanup> {
        self.take_where(|then, _| then <= now)
    }

    /// Those of a client that is about to close, for a last time.
    pub(crate) fn take_of_client(&mut self, client: u64) -> Vec<Cleanup> {
        self.take_where(|_, cleanup| cleanup.session.engine().number == client)
    }

    /// When to look again.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        self.all.iter().map(|(then, _)| *then).min()
    }

    fn take_where(&mut self, fits: impl Fn(Instant, &Cleanup) -> bool) -> Vec<Cleanup> {
        self.all.extract_if(.., |(then, cleanup)| fits(*then, cleanup)).map(|(_, cleanup)| cleanup).collect()
    }
}

/// A call for which it is time at some moment.
pub trait Errand: Send + Sync {
    /// The call, as it is to be made now; none if there is nothing to do any more.
    fn call(&self) -> Option<Exchange>;
    /// How the call has ended.
    fn on_answer(&self, answer: Result<Answer>);
}

/// Those whose time has not come.
#[derive(Default)]
pub(super) struct Errands {
    all: Vec<(Instant, Arc<dyn Errand>)>,
}

impl Errands {
    /// Keeps one until then.
    pub(crate) fn add(&mut self, then: Instant, errand: Arc<dyn Errand>) {
        self.all.push((then, errand));
    }

    /// Those whose time has come.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Arc<dyn Errand>> {
        self.all.extract_if(.., |(then, _)| *then <= now).map(|(_, errand)| errand).collect()
    }

    /// When to look again.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        self.all.iter().map(|(then, _)| *then).min()
    }
}
