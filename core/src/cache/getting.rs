//! A `get` that was described but not yet made.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::lookup::{Lookup, LookupStep};
use super::options::WhenAway;
use super::queue;
use super::target::CacheSpec;
use super::{Got, blocking};
use crate::cache::single_flight::{Look, Looked};
use wire::base::error::{Code, Error, Result};
use wire::call::answer::Answer;
use wire::call::sink::Sink;
use wire::op::{Op, typed};
use wire::reactor::{Cleanup, completion};

/// A described `get`, or the beginning of a run. Dropped, it asks nothing.
#[must_use = "nothing happens until it is run, awaited or submitted"]
pub struct Getting {
    pub(super) lookup: Lookup,
}

impl Getting {
    /// Gets it on this thread alone, and waits there as long as was said.
    ///
    /// # Errors
    /// As [`Cache::get`](crate::Cache::get) says.
    pub fn run(self) -> Result<Got> {
        self.run_interruptibly(&mut || false)
    }

    /// As [`run`](Getting::run), asking `interrupted` about 20 times a second; true ends it with an `internal` error.
    ///
    /// # Errors
    /// As [`run`](Getting::run).
    pub fn run_interruptibly(self, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
        blocking::get(self.lookup, interrupted)
    }

    /// As [`run_interruptibly`](Getting::run_interruptibly), but if it has to wait, the process' thread waits for it: one
    /// subscription for all threads.
    ///
    /// # Errors
    /// As [`run`](Getting::run).
    pub fn run_among_threads(self, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
        blocking::get_among_threads(self.lookup, interrupted)
    }

    /// The first question, for drivers that make calls themselves; [`after`](Getting::after) reads its answer.
    pub fn ask(&mut self) -> Op<Answer> {
        let look = self.lookup.ask();
        Op::new(&self.lookup.target.spec.session, Box::new(look), None)
    }

    /// Reads the answer to [`ask`](Getting::ask): the result, or what is to be [`submit`](Getting::submit)ted, since there is
    /// nothing yet and another loads it.
    pub fn after(mut self, answer: Result<Answer>) -> std::result::Result<Result<Got>, Box<Getting>> {
        match self.lookup.on_answer(answer) {
            LookupStep::Done(done) => {
                self.lookup.count_result(done.as_ref());
                Ok(done)
            }
            LookupStep::Listen | LookupStep::Rest(_) => Err(Box::new(self)),
        }
    }

    /// Hands it to the process' thread; its answer, a [`Got`], comes to `sink` under this number.
    /// [`driver::cancel`](wire::driver::cancel) takes it back.
    pub fn submit(self, id: u64, sink: &Arc<dyn Sink>) {
        queue::enter(self.lookup, id, sink);
    }
}

impl IntoFuture for Getting {
    type Output = Result<Got>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Got>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { typed(completion::ask_for(|sink| self.submit(0, sink)).await) })
    }
}

/// What was found about one of several keys.
#[derive(Debug)]
pub enum Part {
    /// A value, or the lease to load one.
    Got(Got),
    /// Its last loader has failed.
    Failed(Error),
    /// Another loads it. To be run when what is to be loaded here was loaded: two callers who wait for each other would both
    /// be late.
    Waits(Getting),
}

/// A described [`get_many`](crate::Cache::get_many): one look at all keys.
#[must_use = "nothing happens until it is run, awaited or submitted"]
pub struct GettingMany {
    spec: Arc<CacheSpec>,
    pub(super) lookups: Vec<Lookup>,
}

impl GettingMany {
    pub(super) fn new(spec: Arc<CacheSpec>, keys: &[&[u8]], wait: Option<Duration>) -> Result<GettingMany> {
        let lookups = keys.iter().map(|key| spec.lookup(key, wait)).collect::<Result<_>>()?;
        Ok(GettingMany { spec, lookups })
    }

    /// Looks on this thread, and waits for nobody.
    ///
    /// # Errors
    /// As [`Cache::get_many`](crate::Cache::get_many) says.
    pub fn run(self) -> Result<Vec<Part>> {
        self.run_interruptibly(&mut || false)
    }

    /// As [`run`](GettingMany::run), asking `interrupted` about 20 times a second; true ends it with an `internal` error.
    ///
    /// # Errors
    /// As [`run`](GettingMany::run).
    pub fn run_interruptibly(mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Vec<Part>> {
        self.lookups.iter_mut().for_each(|lookup| lookup.here = true);
        let answer = self.ask().run_interruptibly(interrupted);
        self.after(answer)
    }

    /// The question, for drivers that make calls themselves; [`after`](GettingMany::after) reads its answer.
    pub fn ask(&mut self) -> Op<Answer> {
        let id = self.lookups.first().map(|lookup| lookup.id).unwrap_or_default();
        let looks: Vec<Look> = (self.lookups.iter_mut())
            .map(|lookup| {
                lookup.id = id;
                lookup.ask()
            })
            .collect();
        let entries = self.lookups.iter().map(|lookup| lookup.target.keys.clone()).collect();
        let shown = format!("{} keys of {}", self.lookups.len(), self.spec.shown).into();
        let look = Look {
            id,
            ttl: self.spec.lease,
            luck: looks.into_iter().flat_map(|look| look.luck).collect(),
            load_when_away: self.spec.when_away == WhenAway::Load,
            ..Look::only(entries, shown, self.spec.feature())
        };
        Op::new(&self.spec.session, Box::new(look), None)
    }

    /// Reads the answer to [`ask`](GettingMany::ask): one part for each key, in their order.
    ///
    /// # Errors
    /// That of the answer.
    pub fn after(mut self, answer: Result<Answer>) -> Result<Vec<Part>> {
        // An error may be that of a later one of several calls: what the others have brought is given back.
        let looked: Vec<Looked> = typed(answer)
            .inspect_err(|error| self.lookups.iter().for_each(|lookup| lookup.count_result(Err(error))))?;
        if looked.len() != self.lookups.len() {
            return Err(Error::new(Code::Internal, "an answer for other keys came back"));
        }
        let (here, mut cleanups) = (self.is_here(), Vec::new());
        let part = |(mut lookup, looked): (Lookup, Looked)| {
            let next = lookup.on_looked(looked);
            cleanups.extend(lookup.take_leave());
            match next {
                LookupStep::Done(Ok(got)) => {
                    lookup.count_result(Ok(&got));
                    Part::Got(got)
                }
                LookupStep::Done(Err(error)) if error.code() == Code::Timeout => Part::Waits(Getting { lookup }),
                LookupStep::Done(Err(error)) => {
                    lookup.count_result(Err(&error));
                    Part::Failed(error)
                }
                LookupStep::Listen | LookupStep::Rest(_) => Part::Waits(Getting { lookup }),
            }
        };
        let parts = std::mem::take(&mut self.lookups).into_iter().zip(looked).map(part).collect();
        Cleanup::send_all(cleanups, here);
        Ok(parts)
    }

    fn is_here(&self) -> bool {
        self.lookups.first().is_some_and(|lookup| lookup.here)
    }
}

impl Drop for GettingMany {
    fn drop(&mut self) {
        // Each lookup by itself would keep its thread waiting.
        let here = self.is_here();
        Cleanup::send_all(self.lookups.iter_mut().filter_map(Lookup::take_leave), here);
    }
}

impl std::fmt::Debug for Getting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Getting").field("of", &self.lookup.target.shown).finish()
    }
}

impl IntoFuture for GettingMany {
    type Output = Result<Vec<Part>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Vec<Part>>> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let answer = self.ask().await;
            self.after(answer)
        })
    }
}
