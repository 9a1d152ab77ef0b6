//! A load from the first question to the last, of one key or of several: what to do next, and what follows from it. It does
//! no I/O and calls no function of the caller's: [`Loading::run`] or a loop does the one, a binding the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::getting::Part;
use super::ticket::{self, Ticket};
use super::{Got, Value};
use wire::base::error::{Code, Error, Result};
use wire::base::fork::generation;
use wire::call::answer::Answer;
use wire::op::{self, Op};

/// What the caller of a [`Loading`] does next.
#[derive(Debug)]
pub enum LoadStep {
    /// Make these calls, and give their answers to [`Loading::on_answers`].
    Ask(Vec<Op<Answer>>),
    /// Make the values of the keys at these places, and give them to [`Loading::loaded`]; or say by [`Loading::failed`] that
    /// there are none. Make the calls that come back, then ask again what is next.
    Load(Vec<usize>),
    /// Return these values, in the order of the keys. It is over.
    Done(Vec<Value>),
}

/// What the calls under way are for.
enum Asked {
    /// One key.
    Get(usize),
    /// All keys.
    Look,
    /// The end of the load.
    End,
}

/// A described `get`, `get_many` or beginning of a run, with the load that follows if it is this caller's. Dropped, it frees
/// the way for others.
pub struct Loading {
    values: Vec<Value>,
    /// What is next, if that is known already.
    due: Option<LoadStep>,
    asked: Asked,
    /// What others load, with the places of the keys.
    waits: VecDeque<(usize, Op<Got>)>,
    /// What is to be loaded here: the places, and the right to.
    missing: Vec<usize>,
    tickets: Vec<Ticket>,
    generation: u64,
    /// The caller's function has failed.
    is_failed: bool,
    /// Why one of the values was not stored.
    refused: Option<Error>,
    /// What the call fails with.
    error: Option<Error>,
    /// Nobody wants the values any more.
    is_left: bool,
}

impl Loading {
    fn new(first: Op<Answer>, asked: Asked) -> Loading {
        Loading {
            values: vec![None],
            due: Some(LoadStep::Ask(vec![first])),
            asked,
            waits: VecDeque::new(),
            missing: Vec::new(),
            tickets: Vec::new(),
            generation: generation(),
            is_failed: false,
            refused: None,
            error: None,
            is_left: false,
        }
    }

    /// What is to be done now.
    ///
    /// # Errors
    /// What the call fails with. It is over then.
    #[expect(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<LoadStep> {
        if let Some(due) = self.due.take() {
            return Ok(due);
        }
        if let Some(error) = self.error.take() {
            self.abandon();
            return Err(error);
        }
        // Nobody who is to load waits for another: two who wait for each other would both be late.
        Ok(match self.waits.pop_front() {
            Some((at, get)) => {
                self.asked = Asked::Get(at);
                LoadStep::Ask(vec![get.erased()])
            }
            None => LoadStep::Done(std::mem::take(&mut self.values)),
        })
    }

    /// Reads the answers to the calls under way, in the calls' order. Of those that end a load only the errors count.
    pub fn on_answers(&mut self, answers: Vec<Result<Answer>>) {
        let mut answers = answers.into_iter();
        match self.asked {
            Asked::Get(at) => {
                let got = answers.next().map_or_else(|| Err(unanswered()), op::typed);
                self.take(at, got.map_or_else(Part::Failed, Part::Got));
                self.load();
            }
            Asked::Look => {
                match answers.next().map_or_else(|| Err(unanswered()), op::typed::<Vec<Part>>) {
                    Ok(parts) => {
                        self.values.resize(parts.len(), None);
                        parts.into_iter().enumerate().for_each(|(at, part)| self.take(at, part));
                    }
                    Err(error) => self.error = Some(error),
                }
                self.load();
            }
            Asked::End => self.on_end(answers.find_map(Result::err)),
        }
    }

    fn take(&mut self, at: usize, part: Part) {
        match part {
            // Here a ticket is dropped that came too late.
            _ if self.is_left => {}
            Part::Got(Got::Found(seen)) => self.values[at] = seen.value,
            Part::Got(Got::Load(ticket)) => {
                self.missing.push(at);
                self.tickets.push(ticket);
            }
            Part::Failed(error) => self.error = self.error.take().or(Some(error)),
            Part::Waits(get) => self.waits.push_back((at, get)),
        }
    }

    fn load(&mut self) {
        if !self.missing.is_empty() {
            self.due = Some(LoadStep::Load(self.missing.clone()));
        }
    }

    /// Takes what the caller's function made, a value (none: there is no such thing) for each of the places, and returns the calls
    /// that store it: they are made to their end, whatever becomes of the caller. A value that is refused fails this
    /// call alone.
    #[must_use = "nothing is stored until the calls are made"]
    pub fn loaded(&mut self, loaded: Vec<Option<Vec<u8>>>) -> Vec<Op<Answer>> {
        for (at, value) in self.missing.iter().zip(&loaded) {
            self.values[*at] = value.clone().map(Arc::new);
        }
        let (fills, refused) = ticket::fills(self.tickets.iter().cloned().zip(loaded));
        self.refused = refused;
        self.missing.clear();
        self.end(fills)
    }

    /// Says that the caller's function failed, and returns the calls that free the way: they are made to their end. It is over
    /// then, and what to raise is the caller's own affair. With a text others get to know why; without one the next of them may
    /// load at once.
    #[must_use = "nobody is told until the calls are made"]
    pub fn failed(&mut self, error: Option<&str>) -> Vec<Op<Answer>> {
        // A child that was forked meanwhile has nothing to tell.
        let is_ours = self.generation == generation();
        let fails = self.tickets.iter().filter(|_| is_ours).map(|ticket| ticket.fail(error)).collect();
        self.is_failed = true;
        self.end(fails)
    }

    fn end(&mut self, calls: Vec<Op<bool>>) -> Vec<Op<Answer>> {
        self.asked = Asked::End;
        calls.into_iter().map(Op::erased).collect()
    }

    fn on_end(&mut self, error: Option<Error>) {
        let tickets = std::mem::take(&mut self.tickets);
        if self.is_failed {
            // The error of the function says more than that nobody could be told of it.
            ticket::forget_all(&tickets);
            return self.abandon();
        }
        ticket::leave_all(&tickets);
        // Of what was refused before anything was sent, the caller hears first.
        self.error = self.refused.take().or(error).or(self.error.take());
    }

    /// Frees the way for others. What still comes of a call is given back.
    pub fn abandon(&mut self) {
        self.is_left = true;
        self.due = None;
        self.waits.clear();
        self.missing.clear();
        self.tickets.clear();
    }

    /// Makes calls on this thread alone, and waits there; see [`Op::run_interruptibly`].
    pub fn run(&mut self, calls: Vec<Op<Answer>>, interrupted: &mut dyn FnMut() -> bool) {
        self.on_answers(op::run_all(calls, interrupted));
    }

    /// As [`run`](Loading::run), but the process' thread waits for others; see [`Op::run_among_threads`].
    pub fn run_among_threads(&mut self, mut calls: Vec<Op<Answer>>, interrupted: &mut dyn FnMut() -> bool) {
        let answers = match (calls.pop(), calls.is_empty()) {
            (Some(only), true) => vec![only.run_among_threads(interrupted)],
            (last, _) => op::run_all(calls.into_iter().chain(last).collect(), interrupted),
        };
        self.on_answers(answers);
    }

    /// Gets a key on this thread, or has `load` make it (none: there is no such thing) and stores that.
    ///
    /// # Errors
    /// As [`Cache::get`](crate::Cache::get), and whatever `load` fails with, which others get to know too.
    pub fn run_with<E: fmt::Display + From<Error>>(
        mut self,
        load: impl FnOnce() -> std::result::Result<Option<Vec<u8>>, E>,
    ) -> std::result::Result<Value, E> {
        let mut load = Some(load);
        loop {
            let calls = match self.next()? {
                LoadStep::Ask(calls) => calls,
                LoadStep::Done(mut values) => return Ok(values.pop().flatten()),
                LoadStep::Load(_) => match load.take().map_or(Ok(None), |load| load()) {
                    Ok(value) => self.loaded(vec![value]),
                    Err(error) => {
                        let told = self.failed(Some(&error.to_string()));
                        self.run(told, &mut || false);
                        return Err(error);
                    }
                },
            };
            self.run(calls, &mut || false);
        }
    }
}

impl From<Op<Got>> for Loading {
    fn from(get: Op<Got>) -> Loading {
        Loading::new(get.erased(), Asked::Get(0))
    }
}

impl From<Op<Vec<Part>>> for Loading {
    fn from(look: Op<Vec<Part>>) -> Loading {
        Loading::new(look.erased(), Asked::Look)
    }
}

fn unanswered() -> Error {
    Error::new(Code::Internal, "a load was given no answer")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Cache, CacheOptions, MAX_VALUE_BYTES};
    use super::*;
    use crate::client::{Client, Options};
    use wire::base::error::Code;

    fn cache(client: &Client, error_ttl: u64) -> Cache {
        client.cache("home", CacheOptions { error_ttl, ..CacheOptions::default() }).unwrap()
    }

    /// A client with a memory of its own: tests run beside each other.
    fn client(name: &str) -> Client {
        Client::new(Options { url: Some(format!("memory://loading-{name}")), ..Options::default() }).unwrap()
    }

    /// Does steps until the caller has something to do.
    fn until_due(loading: &mut Loading) -> Result<LoadStep> {
        loop {
            match loading.next()? {
                LoadStep::Ask(calls) => loading.run(calls, &mut || false),
                other => return Ok(other),
            }
        }
    }

    fn missing(loading: &mut Loading) -> Vec<usize> {
        match until_due(loading) {
            Ok(LoadStep::Load(places)) => places,
            other => panic!("{other:?}"),
        }
    }

    fn values(loading: &mut Loading) -> Vec<Option<Vec<u8>>> {
        match until_due(loading) {
            Ok(LoadStep::Done(values)) => values.into_iter().map(|value| value.map(|value| value.to_vec())).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn give(loading: &mut Loading, values: Vec<Option<Vec<u8>>>) {
        let step = loading.loaded(values);
        loading.run(step, &mut || false);
    }

    fn give_up(loading: &mut Loading, error: Option<&str>) {
        let step = loading.failed(error);
        loading.run(step, &mut || false);
    }

    fn get(cache: &Cache, key: &[u8]) -> Loading {
        cache.get(key, Duration::ZERO).unwrap().into()
    }

    #[test]
    fn what_one_loads_another_finds() {
        let client = client("found");
        let cache = cache(&client, 0);
        let mut first = get(&cache, b"x");
        assert_eq!(missing(&mut first), [0]);
        let late = until_due(&mut get(&cache, b"x")).unwrap_err();
        assert_eq!(late.code(), Code::Timeout, "another loads it");
        give(&mut first, vec![Some(b"1".to_vec())]);
        assert_eq!(values(&mut first), [Some(b"1".to_vec())]);
        assert_eq!(values(&mut get(&cache, b"x")), [Some(b"1".to_vec())]);
    }

    #[test]
    fn of_several_those_that_are_missing_are_loaded_before_anybody_is_waited_for() {
        let client = client("several");
        let cache = cache(&client, 0);
        assert!(cache.put(b"a", Some(b"A".to_vec())).unwrap().run().unwrap());
        let mut other = get(&cache, b"b");
        assert_eq!(missing(&mut other), [0]);
        let several: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let mut loading = Loading::from(cache.get_many(&several, Duration::ZERO).unwrap());
        assert_eq!(missing(&mut loading), [2, 3]);
        give(&mut loading, vec![Some(b"C".to_vec()), None]);
        other.abandon();
        assert_eq!(missing(&mut loading), [1], "the other has left its duty");
        give(&mut loading, vec![Some(b"B".to_vec())]);
        let expected = [Some(b"A".to_vec()), Some(b"B".to_vec()), Some(b"C".to_vec()), None];
        assert_eq!(values(&mut loading), expected);
    }

    #[test]
    fn others_get_to_know_why_a_load_failed_if_they_are_to() {
        let client = client("told");
        let cache = cache(&client, 1_000_000);
        let mut quiet = get(&cache, b"x");
        assert_eq!(missing(&mut quiet), [0]);
        give_up(&mut quiet, None);
        let mut loud = get(&cache, b"x");
        assert_eq!(missing(&mut loud), [0], "the way was free at once");
        give_up(&mut loud, Some("no such table"));
        let error = until_due(&mut get(&cache, b"x")).unwrap_err();
        assert!(error.code() == Code::LoadFailed && error.message().contains("no such table"), "{error}");
    }

    #[test]
    fn a_value_that_is_refused_fails_its_caller_alone() {
        let client = client("refused");
        let cache = cache(&client, 1_000_000);
        let several: [&[u8]; 2] = [b"x", b"y"];
        let mut loading = Loading::from(cache.get_many(&several, Duration::ZERO).unwrap());
        assert_eq!(missing(&mut loading), [0, 1]);
        give(&mut loading, vec![Some(vec![0; MAX_VALUE_BYTES + 1]), Some(b"Y".to_vec())]);
        assert_eq!(until_due(&mut loading).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(missing(&mut get(&cache, b"x")), [0], "the next may load at once");
        assert_eq!(values(&mut get(&cache, b"y")), [Some(b"Y".to_vec())]);
    }

    #[test]
    fn what_comes_to_one_who_has_left_is_given_back() {
        let client = client("left");
        let cache = cache(&client, 0);
        let mut loading = get(&cache, b"x");
        let Ok(LoadStep::Ask(calls)) = loading.next() else { panic!("nothing is asked") };
        let answers = op::run_all(calls, &mut || false);
        loading.abandon();
        loading.on_answers(answers);
        assert_eq!(missing(&mut get(&cache, b"x")), [0]);
    }
}
