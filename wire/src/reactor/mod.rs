//! What the process' thread does besides carrying calls: it looks after its [`Guest`]s, who wait for locks and for entries of
//! caches, takes back what callers have left, and runs [`Errand`]s. It hands commands to the thread's links and takes their answers.

pub(crate) mod completion;
mod errands;
pub mod partings;
mod subscriptions;
pub mod thread;
mod wait_stage;

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use crate::base::error::{Error, Result};
use crate::call::answer::{Answer, Sink, Tag};
use crate::call::hint::AttemptId;
use crate::connection::subscription::HintChannel;
use crate::machine::Task;
use crate::redis::{batch, blocking};
use crate::session::Session;
use crate::session::exchange::Exchange;

pub use errands::{CLEAN_UP, Cleanup, Errand};
use errands::{Cleanups, Errands};
pub use wait_stage::{IN_MEMORY, LONGEST_REST, Outage, WaitStage, longest_rest};

/// What somebody needs a subscription for: the client, what channels' names begin with, and the slot.
pub type Need = (Arc<Session>, Arc<[u8]>, u16);

/// Those of one client who wait for one kind of thing, and what else has to be done for them in time. No I/O: what is to be
/// sent, and who has an answer, it tells by [`Action`]s.
pub trait Guest: Any + Send {
    /// Whether there is nothing that it has to do, or expects.
    fn is_idle(&self) -> bool;
    /// Who needs a subscription.
    fn unsubscribed(&self) -> Vec<Need>;
    /// The slots in which somebody waits.
    fn slots(&self) -> HashSet<u16>;
    /// The subscription in a slot was made, or made again, or elsewhere: those who rested may have missed a hint.
    fn on_subscribed(&mut self, slot: u16, ear: HintChannel);
    /// No subscription could be made in a slot.
    fn on_not_subscribed(&mut self, slot: u16, error: &Error);
    /// The subscription in a slot has gone.
    fn on_subscription_lost(&mut self, slot: u16);
    /// A hint has come.
    fn on_hint(&mut self, id: &AttemptId);
    /// The answer to what it asked under this number.
    fn on_answer(&mut self, number: u64, answer: Result<Answer>);
    /// Does what is due.
    fn turn(&mut self, now: Instant);
    /// When to turn again if nothing else happens.
    fn next_turn(&self) -> Option<Instant>;
    /// Takes back those whose callers don't wait any more.
    fn cancel(&mut self, is_it: &dyn Fn(&Tag) -> bool);
    /// Ends everybody's wait, and has taken back what may be held: the client was closed.
    fn close(&mut self);
    /// What it wants done since the last time.
    fn take_actions(&mut self) -> Vec<Action>;
}

/// What a guest wants done.
pub enum Action {
    /// Do this; its answer comes back under this number, which the guest gives to nothing else.
    Ask(u64, Work),
    /// Send this; the answer is of no interest.
    CleanUp(Cleanup),
    /// As [`CleanUp`](Action::CleanUp), but it was just tried, and failed so.
    CleanUpLater(Cleanup, Error),
    /// Give an answer.
    Answer(Tag, Result<Answer>),
}

/// Work that takes its time.
pub enum Work {
    /// A call for the client's connection.
    Call(Exchange),
    /// Something for a thread of its own.
    Task(Task),
}

/// The guests of one client, one of each type.
pub struct Guests {
    session: Weak<Session>,
    all: Vec<Box<dyn Guest>>,
}

impl Guests {
    fn new(session: &Arc<Session>) -> Guests {
        Guests { session: Arc::downgrade(session), all: Vec::new() }
    }

    /// The guest of this type, which is made if there is none.
    pub fn of<G: Guest + Default>(&mut self) -> Option<&mut G> {
        if self.get::<G>().is_none() {
            self.all.push(Box::new(G::default()));
        }
        self.get()
    }

    /// The guest of this type.
    pub fn get<G: Guest>(&mut self) -> Option<&mut G> {
        self.all.iter_mut().find_map(|guest| {
            let any: &mut dyn Any = &mut **guest;
            any.downcast_mut()
        })
    }

    /// The guest in this place; places do not change.
    fn at(&mut self, place: usize) -> Option<&mut dyn Guest> {
        self.all.get_mut(place).map(|guest| &mut **guest)
    }

    fn iter(&self) -> impl Iterator<Item = &dyn Guest> {
        self.all.iter().map(|guest| &**guest)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Guest>> {
        self.all.iter_mut()
    }

    /// Whether nobody will come to them any more, and nothing is left to do.
    fn are_gone(&self) -> bool {
        let is_open = self.session.upgrade().is_some_and(|session| !session.is_closed());
        !is_open && self.all.iter().all(|guest| guest.is_idle())
    }
}

/// What an answer is for.
enum Pending {
    /// For the guest of a client, in a place, under a number of its own.
    Guest(u64, usize, u64),
    CleanUp(Cleanup),
    Errand(Arc<dyn Errand>),
    /// For nobody.
    Part,
}

/// Where the answers of the reactor's own commands are left.
#[derive(Default)]
struct Tray {
    answers: Mutex<Vec<(u64, Result<Answer>)>>,
}

impl Sink for Tray {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }
}

/// All that the thread does for guests. Clients go by the numbers of their engines.
#[derive(Default)]
struct Reactor {
    clients: HashMap<u64, Guests>,
    cleanups: Cleanups,
    errands: Errands,
    pending: HashMap<u64, Pending>,
    next: u64,
    tray: Arc<Tray>,
    /// What is to be done elsewhere now, each with the number that its answer comes back under.
    out: Vec<(u64, Work)>,
}

impl Reactor {
    /// Where the answers to what it sends must go.
    fn sink(&self) -> Arc<dyn Sink> {
        self.tray.clone()
    }

    /// Tells the guests of a client something.
    fn tell(&mut self, session: &Arc<Session>, tell: impl FnOnce(&mut Guests)) {
        let client = session.engine().number;
        tell(self.clients.entry(client).or_insert_with(|| Guests::new(session)));
        self.act_for(client);
    }

    /// A client was closed: what was held, asked for or is being released is taken back beside its connection, which goes
    /// at once.
    fn close(&mut self, client: u64) {
        let mut leaves = self.cleanups.take_of_client(client);
        leaves.extend(self.pending.values().filter_map(|pending| match pending {
            Pending::CleanUp(leave) if leave.session.engine().number == client => Some(leave.clone()),
            _ => None,
        }));
        let guests = self.clients.get_mut(&client).into_iter().flat_map(Guests::iter_mut);
        let actions: Vec<Action> = guests
            .flat_map(|guest| {
                guest.close();
                guest.take_actions()
            })
            .collect();
        for action in actions {
            match action {
                Action::CleanUp(leave) | Action::CleanUpLater(leave, _) => leaves.push(leave),
                Action::Answer(tag, answer) => tag.answer(answer),
                // Nobody waits any more.
                Action::Ask(..) => {}
            }
        }
        if !leaves.is_empty() {
            let take_back = move || {
                batch::run_all(leaves.iter().map(Cleanup::exchange).collect(), &mut || false);
                Ok(Answer::new(true))
            };
            self.dispatch(Work::Task(Box::new(take_back)), Pending::Part);
        }
    }

    /// The calls of this client among what is to be sent, with their numbers.
    fn take_out(&mut self, client: u64) -> Vec<(Exchange, u64)> {
        let mut taken = Vec::new();
        for (number, work) in std::mem::take(&mut self.out) {
            match work {
                Work::Call(exchange) if exchange.session().engine().number == client => taken.push((exchange, number)),
                work => self.out.push((number, work)),
            }
        }
        taken
    }

    /// Takes back what its caller does not wait for any more.
    fn cancel(&mut self, is_it: &dyn Fn(&Tag) -> bool) {
        self.clients.values_mut().flat_map(Guests::iter_mut).for_each(|guest| guest.cancel(is_it));
    }

    /// Which clients' guests need a subscription, and where.
    fn unsubscribed(&self) -> Vec<(u64, Need)> {
        let needs = |(client, guests): (&u64, &Guests)| {
            let client = *client;
            guests.iter().flat_map(Guest::unsubscribed).map(move |need| (client, need)).collect::<Vec<_>>()
        };
        self.clients.iter().flat_map(needs).collect()
    }

    /// Whether there are answers that no turn has looked at.
    fn has_answers(&self) -> bool {
        !self.tray.answers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The slots in which somebody of a client waits.
    fn slots(&self, client: u64) -> HashSet<u16> {
        self.clients.get(&client).into_iter().flat_map(Guests::iter).flat_map(Guest::slots).collect()
    }

    /// A client's subscription in a slot was made, or failed.
    fn on_subscription(&mut self, client: u64, slot: u16, made: Result<HintChannel>) {
        self.each_of(client, |guest| match &made {
            Ok(ear) => guest.on_subscribed(slot, *ear),
            Err(error) => guest.on_not_subscribed(slot, error),
        });
    }

    /// A client's subscription in a slot has gone, and nobody waits there.
    fn on_subscription_lost(&mut self, client: u64, slot: u16) {
        self.each_of(client, |guest| guest.on_subscription_lost(slot));
    }

    /// Hints have come on a client's subscription.
    fn on_hints(&mut self, client: u64, hints: &[AttemptId]) {
        self.each_of(client, |guest| hints.iter().for_each(|id| guest.on_hint(id)));
    }

    fn each_of(&mut self, client: u64, tell: impl Fn(&mut dyn Guest)) {
        let guests = self.clients.get_mut(&client).into_iter().flat_map(Guests::iter_mut);
        guests.for_each(|guest| tell(&mut **guest));
    }

    /// Does all that is due and can be done without waiting; true if there is something to send.
    fn turn(&mut self, now: Instant) -> bool {
        let answers = std::mem::take(&mut *self.tray.answers.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, answer) in answers {
            if let Some(pending) = self.pending.remove(&number) {
                self.on_answer(pending, answer);
            }
        }
        self.cleanups.due(now).into_iter().for_each(|cleanup| self.clean_up(cleanup));
        for errand in self.errands.due(now) {
            if let Some(exchange) = errand.call() {
                self.dispatch(Work::Call(exchange), Pending::Errand(errand));
            }
        }
        let clients: Vec<u64> = self.clients.keys().copied().collect();
        for client in clients {
            self.each_of(client, |guest| guest.turn(now));
            self.act_for(client);
        }
        self.clients.retain(|_, guests| !guests.are_gone());
        !self.out.is_empty()
    }

    /// When to turn again if nothing else happens.
    fn next_turn(&self) -> Option<Instant> {
        let guests = self.clients.values().flat_map(Guests::iter).filter_map(Guest::next_turn);
        guests.chain(self.cleanups.next_turn()).chain(self.errands.next_turn()).min()
    }

    fn on_answer(&mut self, pending: Pending, answer: Result<Answer>) {
        match pending {
            Pending::Guest(client, place, number) => {
                if let Some(guest) = self.clients.get_mut(&client).and_then(|guests| guests.at(place)) {
                    guest.on_answer(number, answer);
                }
            }
            Pending::CleanUp(cleanup) => match answer {
                Err(error) if !cleanup.session.is_closed() => self.cleanups.failed(cleanup, &error),
                _ => {}
            },
            Pending::Errand(errand) => errand.on_answer(answer),
            Pending::Part => {}
        }
    }

    /// Does what the guests of a client want done.
    fn act_for(&mut self, client: u64) {
        let guests = self.clients.get_mut(&client).into_iter().flat_map(Guests::iter_mut).enumerate();
        let actions: Vec<(usize, Action)> = guests
            .flat_map(|(place, guest)| guest.take_actions().into_iter().map(move |action| (place, action)))
            .collect();
        for (place, action) in actions {
            match action {
                Action::Ask(number, work) => self.dispatch(work, Pending::Guest(client, place, number)),
                Action::CleanUp(cleanup) => self.clean_up(cleanup),
                Action::CleanUpLater(cleanup, error) => self.cleanups.failed(cleanup, &error),
                Action::Answer(tag, answer) => tag.answer(answer),
            }
        }
    }

    fn clean_up(&mut self, cleanup: Cleanup) {
        let exchange = cleanup.exchange();
        // The link of a closed client has gone, and another would stay.
        let work = match cleanup.session.is_closed() {
            true => Work::Task(Box::new(move || blocking::run(exchange, &mut || false))),
            false => Work::Call(exchange),
        };
        self.dispatch(work, Pending::CleanUp(cleanup));
    }

    fn dispatch(&mut self, work: Work, pending: Pending) {
        self.next += 1;
        self.pending.insert(self.next, pending);
        self.out.push((self.next, work));
    }
}
