//! A grant that counts only once replicas have it.

use std::time::Duration;

use super::{Acks, Exchange, Step};
use crate::base::error::{Code, Error};
use crate::call::answer::Answer;

impl Exchange {
    /// The same, but a grant counts only once so many replicas have it. Needs a connection of its own, since the question to
    /// the replicas holds up all behind it: the blocking driver's.
    pub fn acked_by(mut self, replicas: u32, patience: Duration, is_grant: fn(&Answer) -> bool) -> Exchange {
        self.replicas = (replicas > 0).then_some(Acks { replicas, patience, is_grant });
        self
    }

    /// Whether it must have a connection of its own.
    pub fn is_solitary(&self) -> bool {
        self.replicas.is_some()
    }

    /// How many replicas are to be asked about before this step is taken.
    pub(crate) fn wanted_acks(&self, step: &Step) -> Option<(u32, Duration)> {
        let Acks { replicas, patience, is_grant } = self.replicas?;
        matches!(step, Step::Done(Ok(answer)) if is_grant(answer)).then_some((replicas, patience))
    }

    /// What is to be done after so many replicas have said that they have it.
    pub(crate) fn on_acks(&self, acks: u64, step: Step) -> Step {
        match self.replicas {
            Some(Acks { replicas: wanted, patience, .. }) if acks < u64::from(wanted) => {
                let (ms, server) = (patience.as_millis(), self.server());
                let message = format!(
                    "{acks} of {wanted} replicas of {server} had it within {ms} ms: check them, or ask for fewer"
                );
                Step::Done(Err(Error::new(Code::NotAcquired, message)))
            }
            _ => step,
        }
    }
}
