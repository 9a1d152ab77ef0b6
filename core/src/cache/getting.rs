//! A `get` that was described but not yet made.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::options::WhenAway;
use super::place::Spec;
use super::reader::{Next, Reader};
use super::readers;
use super::{Got, blocking};
use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::call::sink::Sink;
use crate::op::{Op, typed};
use crate::reactor::{Leave, completion};
use crate::state::single_flight::{Look, Looked, Progress};

/// A described `get`, or the beginning of a run. Dropped, it asks nothing.
#[must_use = "nothing happens until it is run, awaited or submitted"]
pub struct Getting {
    pub(super) reader: Reader,
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
        blocking::get(self.reader, interrupted)
    }

    /// As [`run_interruptibly`](Getting::run_interruptibly), but if it has to wait, the process' thread waits for it: one
    /// subscription for all threads.
    ///
    /// # Errors
    /// As [`run`](Getting::run).
    pub fn run_among_threads(self, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
        blocking::get_among_threads(self.reader, interrupted)
    }

    /// The first question, for drivers that make calls themselves; [`after`](Getting::after) reads its answer.
    pub fn ask(&mut self) -> Op<Answer> {
        let look = self.reader.ask();
        Op::of(&self.reader.place.spec.shared, Box::new(look))
    }

    /// Reads the answer to [`ask`](Getting::ask): the result, or what is to be [`submit`](Getting::submit)ted, since there is
    /// nothing yet and another loads it.
    pub fn after(mut self, answer: Result<Answer>) -> std::result::Result<Result<Got>, Box<Getting>> {
        match self.reader.on_answer(answer) {
            Next::Done(done) => Ok(done),
            Next::Listen | Next::Rest(_) => Err(Box::new(self)),
        }
    }

    /// Hands it to the process' thread; its answer, a [`Got`], comes to `sink` under this number.
    /// [`driver::cancel`](crate::driver::cancel) takes it back.
    pub fn submit(self, id: u64, sink: &Arc<dyn Sink>) {
        readers::enter(self.reader, id, sink);
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
    spec: Arc<Spec>,
    pub(super) readers: Vec<Reader>,
}

impl GettingMany {
    pub(super) fn new(spec: Arc<Spec>, keys: &[&[u8]], wait: Option<Duration>) -> Result<GettingMany> {
        let readers = keys.iter().map(|key| spec.reader(key, wait)).collect::<Result<_>>()?;
        Ok(GettingMany { spec, readers })
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
        self.readers.iter_mut().for_each(|reader| reader.here = true);
        let answer = self.ask().run_interruptibly(interrupted);
        self.after(answer)
    }

    /// The question, for drivers that make calls themselves; [`after`](GettingMany::after) reads its answer.
    pub fn ask(&mut self) -> Op<Answer> {
        let id = self.readers.first().map(|reader| reader.id).unwrap_or_default();
        let looks: Vec<Look> = (self.readers.iter_mut())
            .map(|reader| {
                reader.id = id;
                reader.ask()
            })
            .collect();
        let look = Look {
            entries: self.readers.iter().map(|reader| reader.place.keys.clone()).collect(),
            id,
            ttl: self.spec.lease,
            channel: None,
            luck: looks.into_iter().flat_map(|look| look.luck).collect(),
            load_when_away: self.spec.when_away == WhenAway::Load,
            value_only: false,
            shown: format!("{} keys of {}", self.readers.len(), self.spec.shown).into(),
            progress: Progress::default(),
        };
        Op::of(&self.spec.shared, Box::new(look))
    }

    /// Reads the answer to [`ask`](GettingMany::ask): one part for each key, in their order.
    ///
    /// # Errors
    /// That of the answer.
    pub fn after(mut self, answer: Result<Answer>) -> Result<Vec<Part>> {
        let looked: Vec<Looked> = typed(answer).inspect_err(|error| {
            self.readers.iter_mut().for_each(|reader| reader.on_error(error));
        })?;
        if looked.len() != self.readers.len() {
            return Err(Error::new(Code::Internal, "an answer for other keys came back"));
        }
        let (here, mut leaves) = (self.is_here(), Vec::new());
        let part = |(mut reader, looked): (Reader, Looked)| {
            let next = reader.on_looked(looked);
            leaves.extend(reader.take_leave());
            match next {
                Next::Done(Ok(got)) => Part::Got(got),
                Next::Done(Err(error)) if error.code() == Code::Timeout => Part::Waits(Getting { reader }),
                Next::Done(Err(error)) => Part::Failed(error),
                Next::Listen | Next::Rest(_) => Part::Waits(Getting { reader }),
            }
        };
        let parts = std::mem::take(&mut self.readers).into_iter().zip(looked).map(part).collect();
        Leave::send_all(leaves, here);
        Ok(parts)
    }

    fn is_here(&self) -> bool {
        self.readers.first().is_some_and(|reader| reader.here)
    }
}

impl Drop for GettingMany {
    fn drop(&mut self) {
        // Each reader by itself would keep its thread waiting.
        let here = self.is_here();
        Leave::send_all(self.readers.iter_mut().filter_map(Reader::take_leave), here);
    }
}

impl std::fmt::Debug for Getting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Getting").field("of", &self.reader.place.shown).finish()
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
