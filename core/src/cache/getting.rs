//! Getting entries as machines: what is asked first, and what an answer is to its caller.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Got;
use super::lookup::Lookup;
use super::options::WhenAway;
use super::queue;
use super::target::CacheSpec;
use crate::cache::single_flight::{Look, Looked};
use wire::base::error::{Code, Error, Result};
use wire::call::answer::{Answer, Sink};
use wire::connection::subscription::HintChannel;
use wire::machine::{Driver, Machine, Next, Start, WaitPlace};
use wire::op::{Op, typed};
use wire::reactor::Cleanup;
use wire::session::exchange::Exchange;

impl CacheSpec {
    /// Describes a lookup of one entry, which waits for at most `wait`.
    pub fn get(self: &Arc<CacheSpec>, key: &[u8], wait: Option<Duration>) -> Result<Op<Got>> {
        Ok(Op::machine(Box::new(self.lookup(key, wait)?)))
    }
}

impl Machine for Lookup {
    fn start(&mut self, driver: Driver) -> Start {
        self.here = driver == Driver::Caller;
        if driver == Driver::Process { Start::Enter } else { Start::Ask(self.exchange()) }
    }

    fn on_answer(&mut self, answer: Result<Answer>) -> Next<Answer> {
        match self.read(answer) {
            Next::Done(got) => Next::Done(got.map(Answer::new)),
            Next::Listen => Next::Listen,
            Next::Rest(until) => Next::Rest(until),
        }
    }

    fn on_end(&mut self, result: &Result<Answer>) {
        match result.as_ref().map(Answer::get) {
            Ok(Some(got)) => self.count_result(Ok(got)),
            Ok(None) => {}
            Err(error) => self.count_result(Err(error)),
        }
    }

    fn enter(self: Box<Self>, id: u64, sink: &Arc<dyn Sink>) {
        queue::enter(*self, id, sink);
    }

    fn place(&self) -> Option<WaitPlace> {
        let spec = &self.target.spec;
        Some(WaitPlace {
            session: spec.session.clone(),
            prefix: spec.wake_prefix.clone(),
            slot: self.slot(),
            topic: self.target.topic(),
            until: self.until,
        })
    }

    fn listen_at(&mut self, channel: Option<HintChannel>) {
        Lookup::listen_at(self, channel);
    }

    fn ask(&mut self) -> Option<Exchange> {
        Some(self.exchange())
    }

    fn outlasts(&mut self, error: &Error) -> Option<Instant> {
        Lookup::outlasts(self, error)
    }

    fn on_failure(&mut self, error: Error) -> Result<Answer> {
        Lookup::on_failure(self, error).map(Answer::new)
    }

    fn on_wait_over(&mut self) -> Result<Answer> {
        Lookup::on_wait_over(self).map(Answer::new)
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
    Waits(Op<Got>),
}

/// One look at several keys.
pub(super) struct LookMany {
    spec: Arc<CacheSpec>,
    lookups: Vec<Lookup>,
}

impl LookMany {
    pub fn new(spec: &Arc<CacheSpec>, keys: &[&[u8]], wait: Option<Duration>) -> Result<LookMany> {
        let lookups = keys.iter().map(|key| spec.lookup(key, wait)).collect::<Result<_>>()?;
        Ok(LookMany { spec: spec.clone(), lookups })
    }

    /// The question.
    fn ask(&mut self) -> Exchange {
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
        Exchange::new(self.spec.session.clone(), Box::new(look), None)
    }

    /// Reads the answer: one part for each key, in their order.
    fn read(&mut self, answer: Result<Answer>) -> Result<Vec<Part>> {
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
                Next::Done(Ok(got)) => {
                    lookup.count_result(Ok(&got));
                    Part::Got(got)
                }
                Next::Done(Err(error)) if error.code() != Code::Timeout => {
                    lookup.count_result(Err(&error));
                    Part::Failed(error)
                }
                Next::Done(Err(_)) | Next::Listen | Next::Rest(_) => Part::Waits(Op::machine(Box::new(lookup))),
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

impl Machine for LookMany {
    fn start(&mut self, driver: Driver) -> Start {
        self.lookups.iter_mut().for_each(|lookup| lookup.here = driver == Driver::Caller);
        Start::Ask(self.ask())
    }

    fn on_answer(&mut self, answer: Result<Answer>) -> Next<Answer> {
        Next::Done(self.read(answer).map(Answer::new))
    }

    fn enter(mut self: Box<Self>, id: u64, sink: &Arc<dyn Sink>) {
        // It waits for nobody.
        let lost = Error::new(Code::Internal, "a look at several keys was to wait");
        sink.complete(vec![(id, self.read(Err(lost)).map(Answer::new))]);
    }
}

impl Drop for LookMany {
    fn drop(&mut self) {
        // Each lookup by itself would keep its thread waiting.
        let here = self.is_here();
        Cleanup::send_all(self.lookups.iter_mut().filter_map(Lookup::take_leave), here);
    }
}
