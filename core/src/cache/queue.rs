//! Those of one client in this process who wait for entries. The first that is told, or whose rest is over, asks for
//! all who rest for the same entry. No I/O: what is to be sent, and who has an answer, it tells by actions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::Got;
use super::lookup::Lookup;
use wire::base::error::{Code, Error, Result};
use wire::call::answer::{Answer, Sink, Tag};
use wire::call::hint::Channel;
use wire::connection::subscription::HintChannel;
use wire::machine::Next;
use wire::reactor::{Action, Guest, Need, WaitStage, Work, thread};

struct QueuedLookup {
    lookup: Lookup,
    tag: Tag,
    /// What hints for it say.
    topic: Channel,
    /// Behind another, it waits for that one's answer.
    stage: WaitStage<u64>,
}

/// What the answer of one who asked is to those behind it.
enum Theirs {
    /// The same.
    Answer(Result<Got>),
    /// Redis has none, for this reason; to ask once more for each would only make them late.
    Failure(Error),
    /// It was about who asked alone.
    Nothing,
}

impl Theirs {
    /// Of what an answer came to, and how the question failed.
    fn of(done: &Result<Got>, failed: Option<Error>) -> Theirs {
        match (done, failed) {
            (_, Some(error)) => Theirs::Failure(error),
            (Ok(Got::Found(_)), _) => Theirs::Answer(done.clone()),
            (Err(error), _) if error.code() == Code::LoadFailed => Theirs::Answer(done.clone()),
            _ => Theirs::Nothing,
        }
    }
}

/// Asks the process' thread for an entry; the answer, a [`Got`], comes to `sink` under this number.
pub(super) fn enter(lookup: Lookup, id: u64, sink: &Arc<dyn Sink>) {
    let session = lookup.target.spec.session.clone();
    thread::request(&session, id, sink, |guests, tag| {
        if let Some(queue) = guests.of::<CacheQueue>() {
            queue.enter(lookup, tag);
        }
    });
}

/// The lookups of one client that wait.
#[derive(Default)]
pub(crate) struct CacheQueue {
    /// In the order in which they came.
    all: BTreeMap<u64, QueuedLookup>,
    next: u64,
    /// Where hints are heard, by slot; of one server all are in slot 0.
    ears: HashMap<u16, HintChannel>,
    actions: Vec<Action>,
}

impl Guest for CacheQueue {
    fn is_idle(&self) -> bool {
        self.all.is_empty()
    }

    fn unsubscribed(&self) -> Vec<Need> {
        let need = |waiter: &QueuedLookup| {
            let spec = &waiter.lookup.target.spec;
            (spec.session.clone(), spec.wake_prefix.clone(), waiter.lookup.slot())
        };
        self.all.values().filter(|waiter| waiter.stage.is_unsubscribed()).map(need).collect()
    }

    fn slots(&self) -> HashSet<u16> {
        self.all.values().map(|waiter| waiter.lookup.slot()).collect()
    }

    fn on_subscribed(&mut self, slot: u16, ear: HintChannel) {
        self.ears.insert(slot, ear);
        let numbers = self.numbers(|waiter| waiter.stage.lacks_hints() && waiter.lookup.slot() == slot);
        self.ask_together(numbers);
    }

    fn on_not_subscribed(&mut self, slot: u16, error: &Error) {
        self.ears.remove(&slot);
        for number in self.numbers(|waiter| waiter.stage.is_unsubscribed() && waiter.lookup.slot() == slot) {
            match self.all.get_mut(&number).and_then(|waiter| waiter.lookup.outlasts(error)) {
                Some(until) => self.rest(number, until),
                None => {
                    let behind = self.behind(number);
                    [number].into_iter().chain(behind).for_each(|number| self.fail(number, error));
                }
            }
        }
    }

    fn on_subscription_lost(&mut self, slot: u16) {
        self.ears.remove(&slot);
    }

    fn on_hint(&mut self, topic: &Channel) {
        let about = self.all.iter_mut().filter(|(_, waiter)| waiter.topic == *topic);
        let numbers = about.filter_map(|(number, waiter)| waiter.stage.on_hint().then_some(*number)).collect();
        self.ask_together(numbers);
    }

    fn on_answer(&mut self, number: u64, answer: Result<Answer>) {
        // The caller that asked may have left; the callers behind it have asked again.
        let Some(waiter) = self.all.get_mut(&number) else { return };
        let failed = answer.as_ref().err().cloned();
        match waiter.lookup.read(answer) {
            Next::Listen => match self.ears.get(&waiter.lookup.slot()) {
                Some(ear) if waiter.lookup.is_near(*ear) => self.ask(number),
                _ => waiter.stage = WaitStage::Unsubscribed,
            },
            Next::Rest(until) if !waiter.stage.rest(until) => self.ask(number),
            Next::Rest(until) => self.rest(number, until),
            Next::Done(done) => {
                let behind = self.behind(number);
                let theirs = Theirs::of(&done, failed);
                self.end(number, done.map(Answer::new));
                let others = behind.into_iter().filter(|number| !self.share(*number, &theirs)).collect();
                self.ask_together(others);
            }
        }
    }

    fn turn(&mut self, now: Instant) {
        // A caller that asks is answered in its own time.
        for number in self.numbers(|waiter| !waiter.stage.is_asking() && waiter.lookup.until <= now) {
            let over = self.all.get(&number).map(|waiter| waiter.lookup.on_wait_over());
            over.into_iter().for_each(|over| self.drop_waiter(number, over));
        }
        let due = self.numbers(|waiter| waiter.stage.is_rested(now));
        self.ask_together(due);
    }

    fn next_turn(&self) -> Option<Instant> {
        let due = |waiter: &QueuedLookup| waiter.stage.due(waiter.lookup.until);
        self.all.values().filter_map(due).min()
    }

    fn cancel(&mut self, is_it: &dyn Fn(&Tag) -> bool) {
        for number in self.numbers(|waiter| is_it(&waiter.tag)) {
            self.drop_waiter(number, Err(Error::new(Code::Closed, "the caller gave up the call")));
        }
    }

    fn close(&mut self) {
        for number in self.numbers(|_| true) {
            if let Some(cleanup) = self.all.get_mut(&number).and_then(|waiter| waiter.lookup.take_leave()) {
                self.actions.push(Action::CleanUp(cleanup));
            }
            self.end(number, Err(Error::new(Code::Closed, "the client was closed during the wait for a value")));
        }
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

impl CacheQueue {
    /// Takes a lookup.
    pub fn enter(&mut self, lookup: Lookup, tag: Tag) {
        self.next += 1;
        let topic = lookup.target.topic();
        // A caller that was told to wait joins the waiting ones: they are listed, so a hint will come.
        let rest = self.all.values().find_map(|waiter| match waiter.stage {
            WaitStage::Resting(until) if waiter.topic == topic && lookup.is_waiting() => Some(until.min(lookup.until)),
            _ => None,
        });
        let stage = rest.map_or(WaitStage::ASKS, WaitStage::Resting);
        self.all.insert(self.next, QueuedLookup { lookup, tag, topic, stage });
        if rest.is_none() {
            self.ask(self.next);
        }
    }

    /// Lets one rest, and those behind it, which now know what it knows.
    fn rest(&mut self, number: u64, until: Instant) {
        let behind = self.behind(number);
        let Some(outage) = self.all.get(&number).map(|waiter| waiter.lookup.outage()) else { return };
        for resting in [number].into_iter().chain(behind) {
            if let Some(waiter) = self.all.get_mut(&resting) {
                waiter.lookup.learn(&outage);
                waiter.stage = WaitStage::Resting(until.min(waiter.lookup.until));
            }
        }
    }

    /// Gives one who waited for another's answer what that is to it; false if that is nothing.
    fn share(&mut self, number: u64, theirs: &Theirs) -> bool {
        match theirs {
            Theirs::Answer(answer) => self.end(number, answer.clone().map(Answer::new)),
            Theirs::Failure(error) => self.fail(number, error),
            Theirs::Nothing => return false,
        }
        true
    }

    /// Ends one for whom Redis has no answer.
    fn fail(&mut self, number: u64, error: &Error) {
        if let Some(answer) = self.all.get(&number).map(|waiter| waiter.lookup.on_failure(error.clone())) {
            self.end(number, answer.map(Answer::new));
        }
    }

    fn numbers(&self, fits: impl Fn(&QueuedLookup) -> bool) -> Vec<u64> {
        self.all.iter().filter(|(_, waiter)| fits(waiter)).map(|(number, _)| *number).collect()
    }

    fn behind(&self, number: u64) -> Vec<u64> {
        self.numbers(|waiter| waiter.stage == WaitStage::Behind(number))
    }

    /// Lets the first of each entry ask, and the others wait for its answer.
    fn ask_together(&mut self, numbers: Vec<u64>) {
        let mut first: BTreeMap<Channel, u64> = BTreeMap::new();
        for number in numbers {
            let Some(waiter) = self.all.get_mut(&number) else { continue };
            match first.get(&waiter.topic) {
                Some(leader) => {
                    // Only who has no subscription may have others behind it: they go along.
                    let had_others = std::mem::replace(&mut waiter.stage, WaitStage::Behind(*leader)).is_unsubscribed();
                    for other in if had_others { self.behind(number) } else { Vec::new() } {
                        if let Some(waiter) = self.all.get_mut(&other) {
                            waiter.stage = WaitStage::Behind(*leader);
                        }
                    }
                }
                None => {
                    first.insert(waiter.topic, number);
                    self.ask(number);
                }
            }
        }
    }

    fn ask(&mut self, number: u64) {
        let Some(waiter) = self.all.get_mut(&number) else { return };
        waiter.lookup.listen_at(self.ears.get(&waiter.lookup.slot()).copied());
        waiter.stage = WaitStage::ASKS;
        self.actions.push(Action::Ask(number, Work::Call(waiter.lookup.exchange())));
    }

    /// Ends one that has no answer for those behind it.
    fn drop_waiter(&mut self, number: u64, over: Result<Got>) {
        let behind = self.behind(number);
        self.end(number, over.map(Answer::new));
        self.ask_together(behind);
    }

    fn end(&mut self, number: u64, answer: Result<Answer>) {
        if let Some(waiter) = self.all.remove(&number) {
            match answer.as_ref().map(Answer::get) {
                Ok(Some(got)) => waiter.lookup.count_result(Ok(got)),
                Ok(None) => {}
                Err(error) => waiter.lookup.count_result(Err(error)),
            }
            self.actions.push(Action::Answer(waiter.tag, answer));
        }
    }
}

#[cfg(test)]
mod tests;
