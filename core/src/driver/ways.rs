//! The two ways of the calls that are made on one loop: connections that the loop watches itself, and the process' thread.
//!
//! The loop's own way takes no thread's attention, so a call that is alone is answered soonest. Of many calls the thread relieves
//! the loop: it writes, reads and understands them on another core. So each client goes over the loop until more than
//! [`MOST`] of its calls are under way at once, and back when for [`CALM`] batches there were no more than [`FEW`].
//!
//! Calls of a client reach its server in the order of their batches: where they go another way than those before, they are held
//! until those are answered. That takes a part of their time, but no more than a quarter: one server of many that is silent must
//! not keep the calls of the others.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Interest, LoopLink};
use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::call::sink::Sink;
use crate::op::Op;
use crate::reactor::thread;
use crate::session::call::Call;
use crate::session::exchange::Exchange;

/// As many calls of a client go over the loop at once.
const MOST: usize = 32;
/// As few are a reason to come back to the loop,
const FEW: usize = 16;
/// in so many batches one after another.
const CALM: u32 = 32;

/// Takes the calls of one loop, and sends each the better way.
pub struct Ways {
    link: LoopLink<LoopCall>,
    /// By the numbers of their engines.
    clients: HashMap<u64, Traffic>,
    /// What was answered beside the link.
    done: Vec<(u64, Result<Answer>)>,
}

/// A call on the loop.
struct LoopCall {
    id: u64,
    client: u64,
    /// Whether others wait for its answer before they go the other way.
    counts: bool,
}

/// The calls of one client.
struct Traffic {
    by_thread: bool,
    on_loop: usize,
    on_thread: Arc<AtomicUsize>,
    /// What waits to go the other way, and until when at most.
    held: Vec<DelayedCall>,
    held_until: Instant,
    /// How many batches in a row were small.
    calm: u32,
    /// What counts the answers for a sink, for each that there is.
    counters: Vec<(Arc<dyn Sink>, Arc<dyn Sink>)>,
}

struct DelayedCall {
    id: u64,
    exchange: Exchange,
    sink: Arc<dyn Sink>,
}

/// Counts answers on their way to a sink.
struct Counter {
    under_way: Arc<AtomicUsize>,
    sink: Arc<dyn Sink>,
}

impl Sink for Counter {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        self.under_way.fetch_sub(answers.len(), Ordering::Relaxed);
        self.sink.complete(answers);
    }
}

impl Traffic {
    fn new() -> Traffic {
        Traffic {
            by_thread: false,
            on_loop: 0,
            on_thread: Arc::default(),
            held: Vec::new(),
            held_until: Instant::now(),
            calm: 0,
            counters: Vec::new(),
        }
    }

    /// Chooses the way of so many more calls.
    fn choose(&mut self, new: usize) {
        let under_way = self.on_loop + self.on_thread.load(Ordering::Relaxed) + self.held.len() + new;
        self.calm = if under_way > FEW { 0 } else { self.calm.saturating_add(1) };
        self.by_thread = if self.by_thread { self.calm < CALM } else { under_way > MOST };
    }

    /// Whether nothing is under way on the other way.
    fn is_free(&self) -> bool {
        if self.by_thread { self.on_loop == 0 } else { self.on_thread.load(Ordering::Relaxed) == 0 }
    }

    fn is_due(&self, now: Instant) -> bool {
        !self.held.is_empty() && (self.is_free() || self.held_until <= now)
    }

    /// What counts the answers that go to this sink.
    fn counter(&mut self, sink: &Arc<dyn Sink>) -> Arc<dyn Sink> {
        if let Some((_, counter)) = self.counters.iter().find(|(known, _)| Arc::ptr_eq(known, sink)) {
            return counter.clone();
        }
        let counter: Arc<dyn Sink> = Arc::new(Counter { under_way: self.on_thread.clone(), sink: sink.clone() });
        self.counters.push((sink.clone(), counter.clone()));
        counter
    }
}

impl Ways {
    /// Makes the ways of a loop; nothing is connected before the first call.
    ///
    /// # Errors
    /// `unavailable` if the process has no descriptors left.
    pub fn new() -> Result<Ways> {
        let link = LoopLink::new(|_| true)?;
        link.follow_clients();
        Ok(Ways { link, clients: HashMap::new(), done: Vec::new() })
    }

    /// Submits calls under numbers of the caller's. Their answers come by [`take_done`](Ways::take_done), or to `sink` from
    /// another thread. To be followed by a [`flush`](Ways::flush) in the same turn of the loop.
    pub fn submit(&mut self, calls: Vec<(u64, Op<Answer>)>, sink: &Arc<dyn Sink>) {
        let mut exchanges = Vec::with_capacity(calls.len());
        let mut several = Vec::new();
        for (id, op) in calls {
            match op.into_call() {
                Call::One(exchange) => exchanges.push((id, exchange)),
                call @ Call::Several(_) => several.push((id, call)),
            }
        }
        if !several.is_empty() {
            self.done.append(&mut thread::submit(several, sink));
        }
        let mut exchanges = exchanges.into_iter().peekable();
        while let Some((_, first)) = exchanges.peek() {
            let session = first.session().clone();
            // Nearly always all of them.
            let mut same = Vec::with_capacity(exchanges.len());
            while let Some(next) = exchanges.next_if(|(_, next)| Arc::ptr_eq(next.session(), &session)) {
                same.push(next);
            }
            if session.endpoint.is_memory() || session.is_closed() {
                for (id, mut exchange) in same {
                    let step = exchange.start();
                    self.link.submit_started(step, exchange, LoopCall { id, client: 0, counts: false });
                }
                continue;
            }
            let client = session.engine().number;
            let traffic = self.clients.entry(client).or_insert_with(Traffic::new);
            traffic.choose(same.iter().filter(|(_, exchange)| !exchange.waits()).count());
            if traffic.held.is_empty() {
                traffic.held_until = Instant::now() + session.timeout / 4;
            }
            traffic.held.extend(same.into_iter().map(|(id, exchange)| DelayedCall {
                id,
                exchange,
                sink: sink.clone(),
            }));
            if traffic.is_free() {
                self.go(client);
            }
        }
        self.take_answers();
    }

    /// Sends what was held for a client on its way.
    fn go(&mut self, client: u64) {
        let Some(traffic) = self.clients.get_mut(&client) else { return };
        let held = std::mem::take(&mut traffic.held);
        if !traffic.by_thread {
            for DelayedCall { id, mut exchange, .. } in held {
                let counts = !exchange.waits();
                traffic.on_loop += usize::from(counts);
                let step = exchange.start();
                self.link.submit_started(step, exchange, LoopCall { id, client, counts });
            }
            return;
        }
        let mut held = held.into_iter().peekable();
        while let Some(first) = held.peek() {
            let (sink, waits) = (first.sink.clone(), first.exchange.waits());
            let mut same = Vec::with_capacity(held.len());
            while let Some(next) = held.next_if(|next| Arc::ptr_eq(&next.sink, &sink) && next.exchange.waits() == waits)
            {
                same.push((next.id, Call::One(next.exchange)));
            }
            let answered = if waits {
                thread::submit(same, &sink)
            } else {
                traffic.on_thread.fetch_add(same.len(), Ordering::Relaxed);
                let answered = thread::submit(same, &traffic.counter(&sink));
                traffic.on_thread.fetch_sub(answered.len(), Ordering::Relaxed);
                answered
            };
            self.done.extend(answered);
        }
    }

    /// Sends on what was held and may go now.
    fn go_on(&mut self) {
        let now = Instant::now();
        let due: Vec<u64> =
            self.clients.iter().filter(|(_, traffic)| traffic.is_due(now)).map(|(client, _)| *client).collect();
        for client in due {
            let held = self.clients.get_mut(&client).into_iter().flat_map(|traffic| &mut traffic.held);
            held.filter(|held| !held.exchange.waits()).for_each(|held| held.exchange.hurry(now));
            self.go(client);
        }
    }

    /// Writes what was submitted, or dials for it, and sends on what was held. To be called after calls were submitted, and
    /// after a sink had answers.
    pub fn flush(&mut self) -> Interest {
        if self.holds() {
            self.go_on();
        }
        let interest = self.link.flush();
        self.after(interest)
    }

    /// Reads, writes and expires whatever is due. To be called when the time for it has come.
    pub fn turn(&mut self) -> Interest {
        let interest = self.link.turn();
        self.after(interest)
    }

    /// The same, when a socket is ready.
    pub fn turn_ready(&mut self, descriptor: RawFd) -> Interest {
        let interest = self.link.turn_ready(descriptor);
        self.after(interest)
    }

    /// The same, when [`wake_fd`](Ways::wake_fd) is ready.
    pub fn wake(&mut self) -> Interest {
        let interest = self.link.wake();
        let gone = self.link.take_parted();
        for client in gone {
            if let Some(traffic) = self.clients.remove(&client) {
                self.done.extend(traffic.held.into_iter().map(|held| (held.id, Err(super::closed()))));
            }
        }
        self.after(interest)
    }

    /// Has the loop watch nothing any more: it is about to end.
    pub fn leave(&mut self) -> Interest {
        self.link.leave()
    }

    /// A descriptor to watch for as long as the ways live; when it is readable, call [`wake`](Ways::wake).
    pub fn wake_fd(&self) -> RawFd {
        self.link.wake_fd()
    }

    /// What was answered since the last time.
    pub fn take_done(&mut self) -> Vec<(u64, Result<Answer>)> {
        std::mem::take(&mut self.done)
    }

    /// Whether anything was answered since the last time.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes back a call. It is still answered, and soon: here, or to the sink it was submitted with.
    pub fn cancel(&mut self, id: u64, sink: &Arc<dyn Sink>) {
        let given_up = || Err(Error::new(Code::Closed, "the caller gave up the call"));
        if let Some(mark) = self.link.cancel(|mark| mark.id == id) {
            self.answered(&mark);
            self.done.push((id, given_up()));
            return;
        }
        for traffic in self.clients.values_mut() {
            if let Some(at) = traffic.held.iter().position(|held| held.id == id) {
                traffic.held.remove(at);
                self.done.push((id, given_up()));
                return;
            }
            if let Some((_, counter)) = traffic.counters.iter().find(|(known, _)| Arc::ptr_eq(known, sink)) {
                thread::cancel(id, counter);
            }
        }
        thread::cancel(id, sink);
    }

    /// Takes what the link has answered, and sees what may go on.
    fn after(&mut self, mut interest: Interest) -> Interest {
        self.take_answers();
        if !self.holds() {
            return interest;
        }
        self.go_on();
        let later = self.link.flush();
        self.take_answers();
        interest.changes.extend(later.changes);
        interest.next_turn = later.next_turn;
        let held = self.clients.values().filter(|traffic| !traffic.held.is_empty());
        let until = held.map(|traffic| traffic.held_until.saturating_duration_since(Instant::now())).min();
        interest.next_turn = [interest.next_turn, until].into_iter().flatten().min();
        interest
    }

    fn take_answers(&mut self) {
        for (mark, answer) in self.link.take_done() {
            self.answered(&mark);
            self.done.push((mark.id, answer));
        }
    }

    fn answered(&mut self, mark: &LoopCall) {
        if mark.counts
            && let Some(traffic) = self.clients.get_mut(&mark.client)
        {
            traffic.on_loop = traffic.on_loop.saturating_sub(1);
        }
    }

    /// Whether calls wait to go another way than those before them: flush when a sink had answers.
    pub fn holds(&self) -> bool {
        self.clients.values().any(|traffic| !traffic.held.is_empty())
    }
}
