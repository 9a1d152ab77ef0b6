//! Calls that nobody waits for, each made by the process' thread at its time.

use std::sync::Arc;
use std::time::Instant;

use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::session::exchange::Exchange;

/// One of them.
pub trait Errand: Send + Sync {
    /// The call, as it is to be made now; none if there is nothing to do any more.
    fn call(&self) -> Option<Exchange>;
    /// How the call has ended.
    fn on_answer(&self, answer: Result<Answer>);
}

/// Those whose time has not come.
#[derive(Default)]
pub(super) struct Errands {
    all: Vec<(Instant, Arc<dyn Errand>)>,
}

impl Errands {
    /// Keeps one until then.
    pub(crate) fn add(&mut self, then: Instant, errand: Arc<dyn Errand>) {
        self.all.push((then, errand));
    }

    /// Those whose time has come.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Arc<dyn Errand>> {
        self.all.extract_if(.., |(then, _)| *then <= now).map(|(_, errand)| errand).collect()
    }

    /// When to look again.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        self.all.iter().map(|(then, _)| *then).min()
    }
}
