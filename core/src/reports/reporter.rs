//! Who collects what a client decides in this process, and has the process' thread send it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use super::append::Append;
use super::buffer::{Buffer, Whose};
use super::redis_key;
use crate::limiter::decision::Decision;
use wire::base::error::{Code, Error, Result};
use wire::base::fork::ForkCell;
use wire::base::host;
use wire::call::answer::Answer;
use wire::reactor::{CLEAN_UP, Errand, thread};
use wire::redis::batch;
use wire::session::Session;
use wire::session::exchange::Exchange;

/// The time between two reports.
const EVERY: Duration = Duration::from_secs(1);
/// The time until the next one after the server has refused one for a reason that lasts, such as a right that is lacking.
const REST: Duration = Duration::from_secs(60);
/// An errand that was not run so long after its time never will be: the thread could not be started, or has failed.
const LATE: Duration = Duration::from_secs(5);

/// What a client has for its reports. After a fork the child begins with nothing.
pub(crate) struct Reporter {
    session: Weak<Session>,
    /// The Redis key of the reports.
    key: Vec<u8>,
    here: ForkCell<Mutex<Here>>,
}

/// What it has in this process.
struct Here {
    buffer: Option<Buffer>,
    /// When the errand is to be run that sends what the buffer has.
    due: Option<Instant>,
    /// How many reports could not be added since the last one that was.
    lost: u64,
    /// Not before then.
    rests_until: Option<Instant>,
    /// Whether somebody was told that reports are refused.
    is_told: bool,
}

/// All that have something to report in this process.
static ALL: ForkCell<Mutex<Vec<Weak<Reporter>>>> = ForkCell::new();

/// The language of this process.
static LANGUAGE: OnceBox<String> = OnceBox::new();

/// Says once for a process in which language the program is that reports; `rust` without this.
pub fn set_language(name: &str) {
    // The first one stays.
    let _ = LANGUAGE.set(Box::new(name.to_owned()));
}

/// Adds what clients of this process have not reported yet, and waits for it, a tenth of a second for each client at most: for
/// who is about to end the process. A client that is closed has done so by itself.
pub fn flush() {
    let all = ALL.get().map(|all| lock(all).clone()).unwrap_or_default();
    for reporter in all.iter().filter_map(Weak::upgrade) {
        if let Some(exchange) = reporter.take_report().map(|exchange| exchange.within(CLEAN_UP)) {
            batch::run_all(vec![exchange], &mut || false).into_iter().for_each(|answer| reporter.on_sent(answer));
        }
    }
}

impl Reporter {
    pub fn new(session: &Arc<Session>, prefix: &str) -> Reporter {
        Reporter { session: Arc::downgrade(session), key: redis_key(prefix), here: ForkCell::new() }
    }

    /// Takes note of a decision about a key, which is only asked for where it is needed. Never waits for I/O.
    pub fn decided<'k>(
        self: &Arc<Self>,
        whose: &Whose<'_>,
        key: impl FnOnce() -> Cow<'k, [u8]>,
        decided: std::result::Result<&Decision, &Error>,
    ) {
        let now = Instant::now();
        let here = self.here.get().unwrap_or_else(|| self.begin());
        let mut here = lock(here);
        here.buffer.get_or_insert_with(|| Buffer::new(now)).add(whose, key, decided, now);
        if here.due.is_some_and(|due| now < due + LATE) {
            return;
        }
        let rested = here.rests_until.take();
        let due = rested.map_or(now + EVERY, |rested| rested.max(now + EVERY));
        here.due = Some(due);
        drop(here);
        let session = if rested.is_none() { self.session.upgrade() } else { None };
        thread::run_errand(due, Arc::new(Sending { reporter: self.clone(), _session: session }));
    }

    fn begin(self: &Arc<Self>) -> &Mutex<Here> {
        let mut all = lock(ALL.get_or_init(Mutex::default));
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(self));
        let nothing = Here { buffer: None, due: None, lost: 0, rests_until: None, is_told: false };
        self.here.get_or_init(|| Mutex::new(nothing))
    }

    /// Whether an errand is too early, which was given while the call was under way that the server refused. What is decided
    /// next gives another, for the end of the rest.
    fn rests(&self) -> bool {
        let Some(mut here) = self.here.get().map(lock) else { return false };
        let rests = here.rests_until.is_some_and(|until| Instant::now() < until);
        if rests {
            here.due = None;
        }
        rests
    }

    /// The call that sends what there is; none if there is nothing.
    pub fn take_report(&self) -> Option<Exchange> {
        let session = self.session.upgrade()?;
        let mut here = lock(self.here.get()?);
        here.due = None;
        let (buffer, lost) = (here.buffer.take()?, here.lost);
        drop(here);
        let report = buffer.into_report(by(), lost, Instant::now());
        let append = Append::new(self.key.clone(), &report);
        // A client that is about to close sends its last one.
        Some(Exchange::new(session, Box::new(append), None).parting())
    }

    /// How a call has ended that sent some.
    fn on_sent(&self, answer: Result<Answer>) {
        let Some(mut here) = self.here.get().map(lock) else { return };
        let Err(error) = answer else {
            (here.lost, here.is_told) = (0, false);
            return;
        };
        here.lost += 1;
        if error.may_pass() || error.code() == Code::Closed {
            return;
        }
        here.rests_until = Some(Instant::now() + REST);
        if !std::mem::replace(&mut here.is_told, true) {
            tell(&error);
        }
    }
}

/// Sending what a client has decided until then.
struct Sending {
    reporter: Arc<Reporter>,
    /// A client that its callers have let go of lives on until it has reported, but for what rests.
    _session: Option<Arc<Session>>,
}

impl Errand for Sending {
    fn call(&self) -> Option<Exchange> {
        // One that was closed has sent its last one.
        self.reporter.session.upgrade().filter(|session| !session.is_closed())?;
        if self.reporter.rests() { None } else { self.reporter.take_report() }
    }

    fn on_answer(&self, answer: Result<Answer>) {
        self.reporter.on_sent(answer);
    }
}

/// Who reports: host, process, and which of our packages.
fn by() -> (String, u64, String) {
    let language = LANGUAGE.get().map_or("rust", String::as_str);
    (host::name(), u64::from(std::process::id()), format!("{language}/{}", env!("CARGO_PKG_VERSION")))
}

/// Tells whoever reads standard error why there are no reports: nobody waits for them who could be told.
fn tell(error: &Error) {
    let message = format!("quotalock: decisions are not reported, and nothing else is affected: {error}\n");
    // SAFETY: the bytes are valid for their length during the call. Not by Rust's own handle, which is locked: a child that is
    // forked meanwhile would wait for it for ever.
    unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len()) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
