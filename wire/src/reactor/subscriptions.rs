//! The subscriptions of all clients whose callers wait on the process' thread: one for each server that tells somebody, made when
//! the first needs it and made again when lost. That of one server is kept until the client is closed; those of a cluster are given
//! up when nobody has waited there for a while.

use std::collections::{HashMap, HashSet};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::Reactor;
use crate::base::error::{Code, Error, Result};
use crate::base::thread::on_thread;
use crate::connection::deadline::CallDeadline;
use crate::connection::subscription::{HintChannel, News, Subscription};
use crate::session::Session;
use crate::session::node::Node;

/// The pause before a subscription that was lost is made again.
const PAUSE: Duration = Duration::from_millis(50);
/// How often those of a cluster are looked after; one that nobody has needed twice is given up.
const SWEEP: Duration = Duration::from_secs(10);
/// So many slots a subscription may listen in that nobody needs.
const SPARE: usize = 256;
/// So often a server is asked to tell of a slot, until a waiter takes what it has.
const HOPS: u32 = 4;

/// A client, and the number of a server; 0 while that is not known.
type SubscriptionKey = (u64, u64);

/// A new connection, and its server.
type OpenedSubscription = (Arc<Node>, Subscription);

enum ListenerState {
    Opening(Receiver<Result<OpenedSubscription>>),
    Up(Box<Subscription>),
}

/// A subscription, and where it is.
struct Listener {
    session: Arc<Session>,
    prefix: Arc<[u8]>,
    node: Option<Arc<Node>>,
    state: ListenerState,
    /// Whether nobody needed it at the last sweep.
    is_spare: bool,
}

/// A slot in which somebody waits who hears nothing yet, or nothing any more.
struct Want {
    session: Arc<Session>,
    prefix: Arc<[u8]>,
    /// Not to be met before this.
    from: Instant,
    /// Whether somebody rests there who heard of it before.
    is_lost: bool,
    hops: u32,
}

/// The subscriptions of all clients.
#[derive(Default)]
pub(crate) struct Subscriptions {
    all: HashMap<SubscriptionKey, Listener>,
    wants: HashMap<(u64, u16), Want>,
    sweep: Option<Instant>,
}

impl Subscriptions {
    /// Makes those that are needed, and tells the reactor what was heard: true if there was anything. `ring` makes what wakes
    /// the process' thread.
    pub(crate) fn turn<F: FnOnce() + Send + 'static>(&mut self, reactor: &mut Reactor, ring: impl Fn() -> F) -> bool {
        let now = Instant::now();
        for (client, (session, prefix, slot)) in reactor.unsubscribed() {
            let want = Want { session, prefix, from: now, is_lost: false, hops: 0 };
            self.wants.entry((client, slot)).or_insert(want);
        }
        let mut any = false;
        for place in self.all.keys().copied().collect::<Vec<_>>() {
            any |= self.hear(place, reactor, now);
        }
        if self.sweep.is_some_and(|then| then <= now) {
            self.sweep(reactor, now);
        }
        any | self.meet_wants(reactor, now, ring)
    }

    /// Hears what one has to say; true if that was anything.
    fn hear(&mut self, place: SubscriptionKey, reactor: &mut Reactor, now: Instant) -> bool {
        let Some(listener) = self.all.get_mut(&place) else { return false };
        let connection = match &mut listener.state {
            ListenerState::Up(connection) => connection,
            ListenerState::Opening(result) => {
                let opened = match result.try_recv() {
                    Err(TryRecvError::Empty) => return false,
                    Err(TryRecvError::Disconnected) => Err(Error::new(Code::Internal, "the subscribing thread died")),
                    Ok(opened) => opened,
                };
                self.on_opened(place, opened, reactor, now);
                return true;
            }
        };
        let mut news = Vec::new();
        let listened = connection.listen(&mut news);
        let (session, node) = (listener.session.clone(), listener.node.clone());
        let mut hints = Vec::new();
        for each in &news {
            match each {
                News::Hint(id) => hints.push(*id),
                News::Moved(slot) => self.on_lost(place, HashSet::from([*slot]), reactor, now),
                News::Refused(slot, text) => {
                    node.iter().for_each(|node| session.on_refused_slot(*slot, node, text));
                }
            }
        }
        reactor.on_hints(place.0, &hints);
        if listened.is_err() {
            self.give_up(place, reactor, now + PAUSE);
        }
        !hints.is_empty()
    }

    fn on_opened(
        &mut self,
        place: SubscriptionKey,
        opened: Result<OpenedSubscription>,
        reactor: &mut Reactor,
        now: Instant,
    ) {
        let Some(mut listener) = self.all.remove(&place) else { return };
        let client = place.0;
        match opened {
            Ok((node, connection)) => {
                // The search, or a server that sent it on, may have led elsewhere.
                let at = (client, node.number);
                (listener.node, listener.state) = (Some(node), ListenerState::Up(Box::new(connection)));
                if listener.session.is_cluster() {
                    self.sweep.get_or_insert(now + SWEEP);
                }
                self.all.entry(at).or_insert(listener);
            }
            Err(error) => {
                let is_its = |slot: u16| place.1 == teller(&listener.session, slot).map_or(0, |node| node.number);
                let failed: Vec<u16> =
                    self.wants.keys().filter(|(of, slot)| *of == client && is_its(*slot)).map(|key| key.1).collect();
                for slot in failed {
                    self.wants.remove(&(client, slot));
                    reactor.on_subscription(client, slot, Err(error.clone()));
                }
            }
        }
    }

    /// A subscription hears of these slots no more: who waits there is to be told elsewhere, from this moment on.
    fn on_lost(&mut self, place: SubscriptionKey, slots: HashSet<u16>, reactor: &mut Reactor, from: Instant) {
        let Some(listener) = self.all.get(&place) else { return };
        let (client, waited) = (place.0, reactor.slots(place.0));
        for slot in slots {
            if waited.contains(&slot) {
                let (session, prefix) = (listener.session.clone(), listener.prefix.clone());
                let want = Want { session, prefix, from, is_lost: true, hops: 0 };
                self.wants.entry((client, slot)).or_insert(want);
            } else {
                reactor.on_subscription_lost(client, slot);
            }
        }
    }

    /// Closes a connection; who waits there has another made, from this moment on.
    fn give_up(&mut self, place: SubscriptionKey, reactor: &mut Reactor, from: Instant) {
        let slots = match self.all.get(&place) {
            Some(Listener { state: ListenerState::Up(connection), .. }) => connection.slots().collect(),
            _ => HashSet::new(),
        };
        self.on_lost(place, slots, reactor, from);
        self.all.remove(&place);
    }

    /// Sees to those who wait and hear nothing; true if somebody was told.
    fn meet_wants<F: FnOnce() + Send + 'static>(
        &mut self,
        reactor: &mut Reactor,
        now: Instant,
        ring: impl Fn() -> F,
    ) -> bool {
        let mut any = false;
        for key in self.wants.keys().copied().collect::<Vec<_>>() {
            any |= self.meet(key, reactor, now, &ring);
        }
        any
    }

    fn meet<F: FnOnce() + Send + 'static>(
        &mut self,
        (client, slot): (u64, u16),
        reactor: &mut Reactor,
        now: Instant,
        ring: &impl Fn() -> F,
    ) -> bool {
        let Some(want) = self.wants.get_mut(&(client, slot)).filter(|want| want.from <= now) else { return false };
        // Nobody waits: the next one who does has a new one made.
        if std::mem::take(&mut want.is_lost) && !reactor.slots(client).contains(&slot) {
            self.wants.remove(&(client, slot));
            reactor.on_subscription_lost(client, slot);
            return false;
        }
        let (session, prefix) = (want.session.clone(), want.prefix.clone());
        let node = teller(&session, slot);
        let place = (client, node.as_ref().map_or(0, |node| node.number));
        match self.all.get_mut(&place).map(|listener| &mut listener.state) {
            None => {
                let state = open(&session, &prefix, slot, ring());
                self.all.insert(place, Listener { session, prefix, node, state, is_spare: false });
                false
            }
            Some(ListenerState::Opening(_)) => false,
            Some(ListenerState::Up(connection)) => match connection.ear(slot) {
                Some(ear) if session.is_near(slot, ear) || want.hops >= HOPS => {
                    connection.note(slot);
                    self.on_near(client, slot, ear, reactor);
                    true
                }
                None if connection.is_pending(slot) => {
                    if now < want.from + session.timeout {
                        return false;
                    }
                    self.give_up(place, reactor, now + PAUSE);
                    self.wants.remove(&(client, slot));
                    let server = node.map_or_else(|| session.endpoint.to_string(), |node| node.server.to_string());
                    let message = format!("{server} did not confirm a subscription in time: check the server");
                    reactor.on_subscription(client, slot, Err(Error::new(Code::Timeout, message)));
                    true
                }
                _ => {
                    (want.hops, want.from) = (want.hops + 1, now);
                    let mut interrupted = || true;
                    // Nothing so short waits to be written, if the server is there at all.
                    let mut patience = CallDeadline::new(now, &mut interrupted);
                    let channel = session.slot_channel(slot, &prefix);
                    if channel.is_err() || channel.is_ok_and(|c| connection.request(slot, c, &mut patience).is_err()) {
                        self.give_up(place, reactor, now + PAUSE);
                    }
                    false
                }
            },
        }
    }

    /// Somebody waits in a slot, and is told from now on.
    fn on_near(&mut self, client: u64, slot: u16, ear: HintChannel, reactor: &mut Reactor) {
        self.wants.remove(&(client, slot));
        for ((of, _), listener) in &mut self.all {
            if let ListenerState::Up(connection) = &mut listener.state
                && *of == client
                && ear.node.is_some_and(|node| node > 0 && node != connection.node())
            {
                connection.forget(slot);
            }
        }
        reactor.on_subscription(client, slot, Ok(ear));
    }

    /// Gives up those of clusters that nobody needs, and those that listen in many more slots than anybody needs.
    fn sweep(&mut self, reactor: &mut Reactor, now: Instant) {
        let mut needed: HashMap<u64, HashSet<u16>> = HashMap::new();
        let mut over = Vec::new();
        for ((client, node), listener) in &mut self.all {
            let ListenerState::Up(connection) = &listener.state else { continue };
            if !listener.session.is_cluster() {
                continue;
            }
            let slots = needed.entry(*client).or_insert_with(|| reactor.slots(*client));
            let used = connection.slots().filter(|slot| slots.contains(slot)).count();
            let was_spare = std::mem::replace(&mut listener.is_spare, used == 0);
            if used == 0 && was_spare || connection.width() > 2 * used + SPARE {
                over.push((*client, *node));
            }
        }
        over.into_iter().for_each(|place| self.give_up(place, reactor, now));
        self.sweep = self.all.values().any(|listener| listener.session.is_cluster()).then(|| now + SWEEP);
    }

    /// A client was closed.
    pub(crate) fn close(&mut self, client: u64) {
        self.all.retain(|(of, _), _| *of != client);
        self.wants.retain(|(of, _), _| *of != client);
    }

    /// What to watch for reading.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let up = |listener: &Listener| {
            if let ListenerState::Up(connection) = &listener.state { Some(connection.descriptor()) } else { None }
        };
        self.all.values().filter_map(up)
    }

    /// When to turn again if nothing else happens.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        let now = Instant::now();
        // What is being opened ends by itself.
        let late = |want: &Want| (want.from + want.session.timeout).max(now + PAUSE);
        let due = |want: &Want| if want.from > now { want.from } else { late(want) };
        self.wants.values().map(due).chain(self.sweep).min()
    }
}

/// The server that tells those who wait in a slot, if it is known.
fn teller(session: &Session, slot: u16) -> Option<Arc<Node>> {
    session.engine().route.teller(slot).ok().flatten()
}

/// Begins to subscribe, on a thread that lives as long as the attempt.
fn open(session: &Arc<Session>, prefix: &Arc<[u8]>, slot: u16, ring: impl FnOnce() + Send + 'static) -> ListenerState {
    let (tell, result) = sync_channel(1);
    let (tell_failed, session, prefix) = (tell.clone(), session.clone(), prefix.clone());
    let spawned = on_thread("quotalock-subscription", move || {
        let deadline = Instant::now() + session.timeout;
        // Nobody listens any more if the client was closed meanwhile.
        let _ = tell.send(session.subscribe(slot, &prefix, deadline, &mut || false));
        ring();
    });
    if let Err(error) = spawned {
        let _ = tell_failed.try_send(Err(error));
    }
    ListenerState::Opening(result)
}
