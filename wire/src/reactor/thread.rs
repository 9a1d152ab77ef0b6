//! One thread per process that drives links: for Rust's own futures, for what a loop cannot wait for itself, and for Node where it has no loop that we know.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::subscriptions::Subscriptions;
use super::{Cleanup, Errand, Guests, Reactor, Work};
use crate::base::error::{Code, Error, Result};
use crate::base::fork::ForkCell;
use crate::base::thread::on_thread;
use crate::call::answer::{Answer, Sink, Tag};
use crate::connection::wire::Failure;
use crate::machine::{Call, Driver, Settled, SharedCall, Start, Task};
use crate::redis::links::Links;
use crate::session::Session;
use crate::session::exchange::{Exchange, Step};

/// As many messages wait for the thread at most while it sleeps.
const MOST_UNHEARD: usize = 1_000;
/// Longer than anything that a thread could sleep past.
const FOREVER: Duration = Duration::from_secs(86_400);

struct Submission {
    client: u64,
    step: Step,
    exchange: Exchange,
    call: SharedCall<Tag>,
}

/// What handles have the thread do.
enum Message {
    /// Tell the guests of a client.
    Tell(Arc<Session>, Box<dyn FnOnce(&mut Guests) + Send>),
    /// Take something back.
    CleanUp(Cleanup),
    /// Do something then.
    Errand(Instant, Arc<dyn Errand>),
}

#[derive(Default)]
struct ThreadInbox {
    submissions: Vec<Submission>,
    closed: Vec<u64>,
    /// Each by its number, or all of a sink.
    cancelled: Vec<(Option<u64>, Arc<dyn Sink>)>,
    messages: Vec<Message>,
    /// Whether the thread was told already that something is here.
    told: bool,
    /// Until when the thread sleeps at the latest, if it does.
    asleep_until: Option<Instant>,
}

struct ReactorThread {
    inbox: Mutex<ThreadInbox>,
    bell: UnixStream,
}

/// Empty until the first call, and again after a failed start: the next call tries once more.
static THREAD: ForkCell<Mutex<Option<Arc<ReactorThread>>>> = ForkCell::new();

impl ReactorThread {
    /// The thread of this process, if it was started.
    fn awake() -> Option<Arc<ReactorThread>> {
        THREAD.get().and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn get() -> Result<Arc<ReactorThread>> {
        let mut slot = THREAD.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(thread) => Ok(thread.clone()),
            None => Ok(slot.insert(ReactorThread::start()?).clone()),
        }
    }

    fn start() -> Result<Arc<ReactorThread>> {
        let failed =
            |e| Error::new(Code::Unavailable, format!("no socket pair could be made ({e}): raise the process' limits"));
        let (bell, wakes) = UnixStream::pair().map_err(failed)?;
        for end in [&bell, &wakes] {
            end.set_nonblocking(true).map_err(failed)?;
        }
        let thread = Arc::new(ReactorThread { inbox: Mutex::default(), bell });
        let on_duty = thread.clone();
        on_thread("quotalock", move || {
            // A panic ends the calls under way (their tags answer); the next ones find the thread at work again.
            while catch_unwind(AssertUnwindSafe(|| work(&on_duty, &wakes))).is_err() {}
        })?;
        Ok(thread)
    }

    fn post(&self, what: impl FnOnce(&mut ThreadInbox)) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        what(&mut inbox);
        if !std::mem::replace(&mut inbox.told, true) {
            drop(inbox);
            self.ring();
        }
    }

    fn send(&self, message: Message) {
        self.post(|inbox| inbox.messages.push(message));
    }

    /// As [`send`](ReactorThread::send), but the thread is not woken for it if it wakes by `latest` anyway.
    fn send_by(&self, latest: Instant, message: Message) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.messages.push(message);
        let is_late = inbox.asleep_until.is_some_and(|until| until > latest) || inbox.messages.len() >= MOST_UNHEARD;
        if is_late && !std::mem::replace(&mut inbox.told, true) {
            drop(inbox);
            self.ring();
        }
    }

    /// Says until when it sleeps; false if something has come that it was not woken for.
    fn go_to_sleep(&self, due: Option<Instant>) -> bool {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        if !inbox.messages.is_empty() {
            return false;
        }
        inbox.asleep_until = Some(due.unwrap_or_else(|| Instant::now() + FOREVER));
        true
    }

    fn ring(&self) {
        // A full pipe means that the thread has been rung for already.
        let _ = (&self.bell).write(&[1]);
    }
}

/// Submits calls under numbers of the caller's. Returns those that were answered at once (from memory, or by the failure
/// policy); the others come to `sink`.
pub(crate) fn submit(calls: Vec<(u64, Call)>, sink: &Arc<dyn Sink>) -> Vec<(u64, Result<Answer>)> {
    let mut answered = Vec::new();
    let mut submissions = Vec::with_capacity(calls.len());
    for (id, call) in calls {
        let (mut exchange, machine) = match call {
            Call::One(exchange) => (exchange, None),
            Call::Several(task) => {
                do_alone(id, sink, task);
                continue;
            }
            Call::Machine(mut machine) => match machine.start(Driver::Process) {
                Start::Ask(exchange) => (exchange, Some(machine)),
                Start::Enter => {
                    machine.enter(id, sink);
                    continue;
                }
                Start::Block => {
                    do_alone(id, sink, move || machine.block(&mut || false));
                    continue;
                }
                Start::Done(answer) => {
                    answered.push((id, answer));
                    continue;
                }
            },
        };
        match (exchange.start(), machine) {
            (Step::Done(answer), machine) => answered.extend(settle(SharedCall { tag: id, machine }, answer, sink)),
            (step, machine) => {
                let client = exchange.session().engine().number;
                let call = SharedCall { tag: Tag::new(id, sink), machine };
                submissions.push(Submission { client, step, exchange, call });
            }
        }
    }
    if submissions.is_empty() {
        return answered;
    }
    match ReactorThread::get() {
        Ok(thread) => thread.post(|inbox| inbox.submissions.append(&mut submissions)),
        Err(error) => {
            for Submission { mut exchange, call, .. } in submissions {
                let SharedCall { tag, machine } = call;
                let (_, id) = tag.into_parts();
                let answer = match exchange.on_failure(Failure::NotSent(error.clone())) {
                    Step::Done(answer) => answer,
                    Step::Send | Step::Sleep(_) | Step::Discover => Err(error.clone()),
                };
                answered.extend(settle(SharedCall { tag: id, machine }, answer, sink));
            }
        }
    }
    answered
}

/// Reads the answer of a call that needed no connection; none if it waits for others now.
fn settle(call: SharedCall<u64>, answer: Result<Answer>, sink: &Arc<dyn Sink>) -> Option<(u64, Result<Answer>)> {
    match call.settle(answer) {
        Settled::Done(id, answer) => Some((id, answer)),
        Settled::Waits(id, machine) => {
            machine.enter(id, sink);
            None
        }
    }
}

/// Takes back a call that was submitted and is not answered yet: its answer, an error, comes to `sink` without delay. What
/// was sent to Redis may still be done, but a `wait` goes on no further.
pub fn cancel(id: u64, sink: &Arc<dyn Sink>) {
    if let Some(thread) = ReactorThread::awake() {
        thread.post(|inbox| inbox.cancelled.push((Some(id), sink.clone())));
    }
}

/// As [`cancel`], of every call of a sink.
pub fn cancel_all(sink: &Arc<dyn Sink>) {
    if let Some(thread) = ReactorThread::awake() {
        thread.post(|inbox| inbox.cancelled.push((None, sink.clone())));
    }
}

/// Does something on a thread of its own; its answer comes to `sink` under this number.
pub(crate) fn do_alone(id: u64, sink: &Arc<dyn Sink>, work: impl FnOnce() -> Result<Answer> + Send + 'static) {
    let tag = Tag::new(id, sink);
    // Without a thread the tag is dropped, and answers so.
    let _ = on_thread("quotalock-several", move || tag.answer(work()));
}

/// Hangs up for the client whose engine has this number; calls under way end with `closed`.
pub(crate) fn hang_up(number: u64) {
    if let Some(thread) = ReactorThread::awake() {
        thread.post(|inbox| inbox.closed.push(number));
    }
}

/// Tells the guests of a client something whose answer comes to `sink`, under this number.
pub fn request(
    session: &Arc<Session>,
    id: u64,
    sink: &Arc<dyn Sink>,
    tell: impl FnOnce(&mut Guests, Tag) + Send + 'static,
) {
    let tag = Tag::new(id, sink);
    match ReactorThread::get() {
        Ok(thread) => thread.send(Message::Tell(session.clone(), Box::new(move |guests| tell(guests, tag)))),
        Err(error) => tag.answer(Err(error)),
    }
}

/// Tells the guests of a client something; the thread is not woken for it if it wakes by `latest` anyway. Without a thread (the
/// system gave none) it tells nobody.
pub fn notify_by(latest: Instant, session: &Arc<Session>, tell: impl FnOnce(&mut Guests) + Send + 'static) {
    if let Ok(thread) = ReactorThread::get() {
        thread.send_by(latest, Message::Tell(session.clone(), Box::new(tell)));
    }
}

/// Tells the guests of a client something, if there is a thread that may want to know.
pub fn notify_if_awake(session: &Arc<Session>, tell: impl FnOnce(&mut Guests) + Send + 'static) {
    if let Some(thread) = ReactorThread::awake() {
        thread.send(Message::Tell(session.clone(), Box::new(tell)));
    }
}

/// Asks the thread to take something back.
pub(super) fn clean_up(cleanup: Cleanup) {
    if let Ok(thread) = ReactorThread::get() {
        thread.send(Message::CleanUp(cleanup));
    }
}

/// Has the thread run an errand at its time. Without a thread (the system gave none) nobody does.
pub fn run_errand(then: Instant, errand: Arc<dyn Errand>) {
    if let Ok(thread) = ReactorThread::get() {
        thread.send_by(then, Message::Errand(then, errand));
    }
}

fn work(thread: &Arc<ReactorThread>, bell: &UnixStream) {
    let mut links: HashMap<u64, Links<SharedCall<Tag>>> = HashMap::new();
    let mut reactor = Reactor::default();
    let mut subscriptions = Subscriptions::default();
    // The sockets that are ready.
    let mut ready: Vec<RawFd> = Vec::new();
    let make = || {
        let thread = thread.clone();
        // A caller that goes away takes its call back itself.
        Links::new(Arc::new(move || thread.ring()), Arc::new(|_: &SharedCall<Tag>| true))
    };
    loop {
        let ThreadInbox { submissions, closed, cancelled, messages, told: _, asleep_until: _ } =
            std::mem::take(&mut *thread.inbox.lock().unwrap_or_else(PoisonError::into_inner));
        for Submission { client, step, exchange, call } in submissions {
            links.entry(client).or_insert_with(make).submit(step, exchange, call);
        }
        for message in messages {
            match message {
                Message::Tell(session, tell) => reactor.tell(&session, tell),
                Message::CleanUp(cleanup) => reactor.clean_up(cleanup),
                Message::Errand(then, errand) => reactor.errands.add(then, errand),
            }
        }
        for client in closed {
            reactor.close(client);
            subscriptions.close(client);
            if let Some(mut link) = links.remove(&client) {
                // What was held or asked for is taken back before the connection goes.
                let sink = reactor.sink();
                for (mut exchange, number) in reactor.take_out(client) {
                    let step = exchange.start();
                    link.submit(step, exchange, SharedCall::plain(Tag::new(number, &sink)));
                }
                link.flush();
                link.close();
                deliver(&mut link);
            }
        }
        for (id, sink) in cancelled {
            let is_it = |tag: &Tag| tag.is(id, &sink);
            let is_its = |call: &SharedCall<Tag>| is_it(&call.tag);
            while let Some(call) = links.values_mut().find_map(|link| link.cancel(is_its)) {
                call.tag.answer(Err(Error::new(Code::Closed, "the caller gave up the call")));
            }
            reactor.cancel(&is_it);
        }
        let now = Instant::now();
        reactor.turn(now);
        // What was heard may let a waiter ask.
        let ring = || {
            let thread = thread.clone();
            move || thread.ring()
        };
        if subscriptions.turn(&mut reactor, ring) {
            reactor.turn(now);
        }
        let sink = reactor.sink();
        for (number, work) in reactor.out.drain(..) {
            let tag = Tag::new(number, &sink);
            match work {
                Work::Task(task) => do_beside(thread, task, tag),
                Work::Call(mut exchange) => {
                    let step = exchange.start();
                    let client = exchange.session().engine().number;
                    links.entry(client).or_insert_with(make).submit(step, exchange, SharedCall::plain(tag));
                }
            }
        }
        for link in links.values_mut() {
            link.turn_ready(&ready, now);
            deliver(link);
        }
        if reactor.has_answers() {
            ready.clear();
            continue;
        }
        let due =
            links.values().filter_map(Links::next_turn).chain(reactor.next_turn()).chain(subscriptions.next_turn());
        let due = due.min();
        if thread.go_to_sleep(due) {
            ready = rest(&links, &subscriptions, due, bell);
        } else {
            ready.clear();
        }
    }
}

/// Does something on a thread of its own; the reactor waits for its answer.
fn do_beside(thread: &Arc<ReactorThread>, task: Task, tag: Tag) {
    let thread = thread.clone();
    // Without a thread the tag is dropped, and answers so.
    let _ = on_thread("quotalock-task", move || {
        tag.answer(task());
        thread.ring();
    });
}

fn deliver(link: &mut Links<SharedCall<Tag>>) {
    let mut batch: Vec<(u64, Result<Answer>)> = Vec::new();
    let mut to: Option<Arc<dyn Sink>> = None;
    for (call, answer) in link.take_done() {
        let (tag, answer) = match call.settle(answer) {
            Settled::Done(tag, answer) => (tag, answer),
            Settled::Waits(tag, machine) => {
                let (sink, id) = tag.into_parts();
                machine.enter(id, &sink);
                continue;
            }
        };
        let (sink, id) = tag.into_parts();
        if let Some(other) = to.take_if(|other| !Arc::ptr_eq(other, &sink)) {
            other.complete(std::mem::take(&mut batch));
        }
        to.get_or_insert(sink);
        batch.push((id, answer));
    }
    if let Some(sink) = to {
        sink.complete(batch);
    }
}

/// Sleeps until a socket is ready, the bell rings, or something is due. Returns the sockets that are ready.
fn rest(
    links: &HashMap<u64, Links<SharedCall<Tag>>>,
    subscriptions: &Subscriptions,
    due: Option<Instant>,
    bell: &UnixStream,
) -> Vec<RawFd> {
    let entry = |fd, writing: bool| libc::pollfd {
        fd,
        events: if writing { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN },
        revents: 0,
    };
    let mut entries = vec![entry(bell.as_raw_fd(), false)];
    entries.extend(links.values().flat_map(Links::sockets).map(|socket| entry(socket.descriptor, socket.writable)));
    let sockets = entries.len();
    entries.extend(subscriptions.descriptors().map(|descriptor| entry(descriptor, false)));
    let ms = due.map_or(-1, |then| {
        let left = then.saturating_duration_since(Instant::now());
        // Rounded up: waking a little before the time would only spin.
        left.as_micros().div_ceil(1_000).min(60_000) as libc::c_int
    });
    // SAFETY: the entries are valid and alive during the call; an interrupted or failed call is a turn without news.
    unsafe {
        libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, ms);
    }
    if entries[0].revents != 0 {
        let mut rings = [0; 64];
        // Rings are only a hint: what they were for is in the inbox.
        let _ = (&mut &*bell).read(&mut rings);
    }
    entries[1..sockets].iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect()
}
