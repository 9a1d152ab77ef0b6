//! What a caller gets when Redis cannot answer: as its client's `on_error` says.

use super::Exchange;
use crate::base::error::{Error, Result};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::command::OnError;

/// The earliest retry that a denial as the fallback advises, in microseconds: a server in trouble is not asked in a storm.
const SOONEST: u64 = 100_000;

impl Exchange {
    /// The answer in place of Redis', or the error if there is none.
    pub(super) fn fall_back(&self, error: Error, retry_after: u64) -> Result<Answer> {
        let Some(around) = self.command.around() else { return Err(error) };
        if let Some(answer) = around.without_redis(&error) {
            return Ok(answer);
        }
        let fallback = |source| around.fallback(source, retry_after.max(SOONEST));
        let answer = match self.session.on_error {
            OnError::Raise => None,
            OnError::Open => fallback(Source::Open),
            OnError::Closed => fallback(Source::Closed),
            OnError::Local if around.may_run_locally() => match self.session.stand_in {
                Some(stand_in) => {
                    let (time, steady) = (self.session.test_time.get(), self.session.steady_time());
                    match stand_in.run(&*self.command, time, steady)? {
                        Some(mut reply) => Some(self.read(&mut reply, Source::Local)?),
                        // It counts more than there is room for.
                        None => fallback(Source::Local),
                    }
                }
                None => None,
            },
            OnError::Local => None,
        };
        answer.ok_or(error)
    }
}
