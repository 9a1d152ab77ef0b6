//! The subscriptions of all clients whose callers wait on the process' thread: one each, made when the first of them needs
//! it, kept until the client is closed, and made again when lost.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::Reactor;
use crate::base::error::{Code, Error, Result};
use crate::connection::deadline::CallDeadline;
use crate::connection::dial::on_thread;
use crate::connection::subscription::{Subscription, new_channel};
use crate::session::Session;

/// The pause before a subscription that was lost is made again.
const PAUSE: Duration = Duration::from_millis(50);

enum State {
    Opening(Receiver<Result<Subscription>>),
    Up(Subscription),
    /// It was lost; not to be made again before this.
    Lost(Instant),
}

struct ClientSubscription {
    session: Arc<Session>,
    prefix: Arc<[u8]>,
    state: State,
}

/// The subscriptions, by their client.
#[derive(Default)]
pub(crate) struct Subscriptions {
    all: HashMap<u64, ClientSubscription>,
}

impl Subscriptions {
    /// Makes those that are needed, and tells the reactor what was heard: true if there was anything. `ring` makes what wakes
    /// the process' thread.
    pub fn turn<F: FnOnce() + Send + 'static>(&mut self, reactor: &mut Reactor, ring: impl Fn() -> F) -> bool {
        let (now, mut any) = (Instant::now(), false);
        for (client, session, prefix) in reactor.unsubscribed() {
            match self.all.get(&client).map(|subscription| &subscription.state) {
                // Made for another guest, before this one was there.
                Some(State::Up(connection)) => {
                    reactor.on_subscription(client, Ok(connection.channel()));
                    any = true;
                }
                Some(State::Opening(_) | State::Lost(_)) => {}
                None => _ = self.all.insert(client, ClientSubscription::new(session, prefix, ring())),
            }
        }
        self.all.retain(|client, subscription| match &mut subscription.state {
            State::Opening(result) => {
                let opened = match result.try_recv() {
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => Err(Error::new(Code::Internal, "the subscribing thread died")),
                    Ok(opened) => opened,
                };
                any = true;
                reactor.on_subscription(*client, opened.as_ref().map(Subscription::channel).map_err(Clone::clone));
                let is_up = opened.is_ok();
                if let Ok(connection) = opened {
                    subscription.state = State::Up(connection);
                }
                is_up
            }
            State::Up(connection) => {
                let mut hints = Vec::new();
                let listened = connection.listen(&mut hints);
                any |= !hints.is_empty();
                reactor.on_hints(*client, &hints);
                if listened.is_err() {
                    subscription.state = State::Lost(now + PAUSE);
                }
                true
            }
            // Nobody waits: the next one who does has a new one made.
            State::Lost(_) if !reactor.has_waiters(*client) => {
                reactor.on_subscription_lost(*client);
                false
            }
            State::Lost(then) => {
                if *then <= now {
                    subscription.state = open(&subscription.session, &subscription.prefix, ring());
                }
                true
            }
        });
        any
    }

    /// A client was closed.
    pub fn close(&mut self, client: u64) {
        self.all.remove(&client);
    }

    /// What to watch for reading.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let up = |subscription: &ClientSubscription| {
            if let State::Up(connection) = &subscription.state { Some(connection.descriptor()) } else { None }
        };
        self.all.values().filter_map(up)
    }

    /// When to turn again if nothing else happens.
    pub fn next_turn(&self) -> Option<Instant> {
        let due = |subscription: &ClientSubscription| {
            if let State::Lost(then) = &subscription.state { Some(*then) } else { None }
        };
        self.all.values().filter_map(due).min()
    }
}

impl ClientSubscription {
    fn new(session: Arc<Session>, prefix: Arc<[u8]>, ring: impl FnOnce() + Send + 'static) -> ClientSubscription {
        ClientSubscription { state: open(&session, &prefix, ring), session, prefix }
    }
}

/// Begins to subscribe, on a thread that lives as long as the attempt.
fn open(session: &Arc<Session>, prefix: &Arc<[u8]>, ring: impl FnOnce() + Send + 'static) -> State {
    let (tell, result) = sync_channel(1);
    let (tell_failed, session, prefix) = (tell.clone(), session.clone(), prefix.clone());
    let spawned = on_thread("quotalock-subscription", move || {
        let open = || {
            let mut interrupted = || false;
            let deadline = Instant::now() + session.timeout;
            let node = session.any_node(deadline, &mut interrupted)?;
            let patience = CallDeadline::new(deadline, &mut interrupted);
            Subscription::open(&node.server, &prefix, new_channel()?, patience)
        };
        // Nobody listens any more if the client was closed meanwhile.
        let _ = tell.send(open());
        ring();
    });
    if let Err(error) = spawned {
        let _ = tell_failed.try_send(Err(error));
    }
    State::Opening(result)
}
