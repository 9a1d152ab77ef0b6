//! Those of one client in this process who wait for entries. Whoever is the first to be told, or whose rest is over, asks for
//! all who rest for the same entry. No I/O: what is to be sent, and who has an answer, is told to the desk.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Got;
use super::reader::{Next, Reader};
use crate::error::{Code, Error, Result};
use crate::exchange::Exchange;
use crate::lease::Channel;
use crate::operation::Answer;
use crate::store::redis::hub::Tag;

struct Waiter {
    reader: Reader,
    tag: Tag,
    /// What hints for it say.
    topic: Channel,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asking,
    /// The waiter of this number asks for it.
    Behind(u64),
    /// A subscription is being made.
    Deaf,
    Resting(Instant),
}

/// What readers want done.
pub(crate) enum Wish {
    /// Ask this for the reader of this number.
    Ask(u64, Exchange),
    /// Give an answer.
    Answer(Tag, Result<Answer>),
}

/// The readers of one client.
#[derive(Default)]
pub(crate) struct Readers {
    /// In the order in which they came.
    all: BTreeMap<u64, Waiter>,
    next: u64,
    /// Where hints are heard; none until the first needs it.
    channel: Option<Channel>,
    pub wishes: Vec<Wish>,
}

impl Readers {
    /// Takes a reader.
    pub fn enter(&mut self, reader: Reader, tag: Tag) {
        self.next += 1;
        let topic = reader.place.topic();
        // Whoever was told to wait joins those who do: they are listed, so a hint will come.
        let rest = self.all.values().find_map(|waiter| match waiter.stage {
            Stage::Resting(until) if waiter.topic == topic && reader.is_waiting() => Some(until.min(reader.until)),
            _ => None,
        });
        let stage = rest.map_or(Stage::Asking, Stage::Resting);
        self.all.insert(self.next, Waiter { reader, tag, topic, stage });
        if rest.is_none() {
            self.ask(self.next);
        }
    }

    /// Whether anybody waits for a hint to be heard.
    pub fn is_deaf(&self) -> bool {
        self.all.values().any(|waiter| waiter.stage == Stage::Deaf)
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Any of them, for what they have in common.
    pub fn any(&self) -> Option<&Reader> {
        self.all.values().next().map(|waiter| &waiter.reader)
    }

    /// The subscription was made, or made again: those who rested may have missed a hint.
    pub fn on_hearing(&mut self, channel: Channel) {
        self.channel = Some(channel);
        let numbers = self.numbers(|waiter| matches!(waiter.stage, Stage::Deaf | Stage::Resting(_)));
        self.ask_together(numbers);
    }

    /// No subscription could be made.
    pub fn on_deafness(&mut self, error: &Error) {
        self.channel = None;
        for number in self.numbers(|waiter| waiter.stage == Stage::Deaf) {
            let behind = self.behind(number);
            [number].into_iter().chain(behind).for_each(|number| self.end(number, Err(error.clone())));
        }
    }

    /// The subscription has gone.
    pub fn on_silence(&mut self) {
        self.channel = None;
    }

    /// Something happened to an entry.
    pub fn on_hint(&mut self, topic: &Channel) {
        let told = |waiter: &Waiter| waiter.topic == *topic && matches!(waiter.stage, Stage::Resting(_));
        let numbers = self.numbers(told);
        self.ask_together(numbers);
    }

    /// The answer for a reader, and for those behind it.
    pub fn on_answer(&mut self, number: u64, answer: Result<Answer>) {
        // Whoever asked may have left; those behind it have asked again.
        let Some(waiter) = self.all.get_mut(&number) else { return };
        match waiter.reader.on_answer(answer) {
            Next::Listen => match self.channel {
                Some(_) => self.ask(number),
                None => waiter.stage = Stage::Deaf,
            },
            Next::Rest(until) => {
                waiter.stage = Stage::Resting(until);
                for behind in self.behind(number) {
                    if let Some(waiter) = self.all.get_mut(&behind) {
                        waiter.stage = Stage::Resting(until.min(waiter.reader.until));
                    }
                }
            }
            Next::Done(done) => {
                let behind = self.behind(number);
                let theirs = match &done {
                    Ok(Got::Found(seen)) => Some(Ok(Answer::Got(Got::Found(seen.clone())))),
                    Err(error) if error.code() == Code::LoadFailed => Some(Err(error.clone())),
                    _ => None,
                };
                self.end(number, done.map(Answer::Got));
                match theirs {
                    Some(answer) => behind.into_iter().for_each(|number| self.end(number, answer.clone())),
                    None => self.ask_together(behind),
                }
            }
        }
    }

    /// Takes back those whose callers don't wait any more.
    pub fn cancel(&mut self, is_it: impl Fn(&Tag) -> bool) {
        for number in self.numbers(|waiter| is_it(&waiter.tag)) {
            self.leave(number, Error::new(Code::Closed, "the call was taken back by its caller"));
        }
    }

    /// Does what is due.
    pub fn turn(&mut self, now: Instant) {
        // Who asks is answered in its own time.
        for number in self.numbers(|waiter| waiter.stage != Stage::Asking && waiter.reader.until <= now) {
            let late = self.all.get(&number).map(|waiter| waiter.reader.late());
            late.into_iter().for_each(|late| self.leave(number, late));
        }
        let due = self.numbers(|waiter| matches!(waiter.stage, Stage::Resting(until) if until <= now));
        self.ask_together(due);
    }

    /// When to turn again if nothing else happens.
    pub fn next_turn(&self) -> Option<Instant> {
        let due = |waiter: &Waiter| match waiter.stage {
            Stage::Asking => None,
            Stage::Resting(until) => Some(until.min(waiter.reader.until)),
            Stage::Behind(_) | Stage::Deaf => Some(waiter.reader.until),
        };
        self.all.values().filter_map(due).min()
    }

    /// Ends everybody's wait: the client was closed.
    pub fn close(&mut self) {
        for number in self.numbers(|_| true) {
            self.end(number, Err(Error::new(Code::Closed, "the client was closed while this waited for a value")));
        }
    }

    fn numbers(&self, fits: impl Fn(&Waiter) -> bool) -> Vec<u64> {
        self.all.iter().filter(|(_, waiter)| fits(waiter)).map(|(number, _)| *number).collect()
    }

    fn behind(&self, number: u64) -> Vec<u64> {
        self.numbers(|waiter| waiter.stage == Stage::Behind(number))
    }

    /// Has the first of each entry ask, and the others wait for its answer.
    fn ask_together(&mut self, numbers: Vec<u64>) {
        let mut first: BTreeMap<Channel, u64> = BTreeMap::new();
        for number in numbers {
            let Some(waiter) = self.all.get_mut(&number) else { continue };
            match first.get(&waiter.topic) {
                Some(leader) => {
                    // Only who is deaf may have others behind it: they go along.
                    let had_others = std::mem::replace(&mut waiter.stage, Stage::Behind(*leader)) == Stage::Deaf;
                    for other in if had_others { self.behind(number) } else { Vec::new() } {
                        if let Some(waiter) = self.all.get_mut(&other) {
                            waiter.stage = Stage::Behind(*leader);
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
        let channel = self.channel;
        let Some(waiter) = self.all.get_mut(&number) else { return };
        if let Some(channel) = channel {
            waiter.reader.hear_at(channel);
        }
        waiter.stage = Stage::Asking;
        self.wishes.push(Wish::Ask(number, waiter.reader.exchange()));
    }

    /// Ends one that has no answer for those behind it.
    fn leave(&mut self, number: u64, error: Error) {
        let behind = self.behind(number);
        self.end(number, Err(error));
        self.ask_together(behind);
    }

    fn end(&mut self, number: u64, answer: Result<Answer>) {
        if let Some(waiter) = self.all.remove(&number) {
            self.wishes.push(Wish::Answer(waiter.tag, answer));
        }
    }
}
