//! Calls that wait for room on a link, in the order in which they came.

use std::collections::VecDeque;
use std::time::Instant;

use super::pipelined::PipelinedCall;

/// Calls not yet put on the wire. Of ten thousand that wait for a slow server, those whose time is over are found
/// without looking at the others.
pub(crate) struct SendQueue<T> {
    jobs: VecDeque<PipelinedCall<T>>,
    /// Whether calls were sent again: then they are not in the order of their deadlines.
    unordered: bool,
}

impl<T> Default for SendQueue<T> {
    fn default() -> Self {
        SendQueue { jobs: VecDeque::new(), unordered: false }
    }
}

impl<T> SendQueue<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn push(&mut self, job: PipelinedCall<T>) {
        let last = self.jobs.back().map(|(exchange, _)| exchange.deadline());
        self.unordered = last.is_some_and(|last| self.unordered || last > job.0.deadline());
        self.jobs.push_back(job);
    }

    pub(crate) fn pop(&mut self) -> Option<PipelinedCall<T>> {
        self.jobs.pop_front()
    }

    /// The call with the most time left.
    pub(crate) fn latest(&self) -> Option<&PipelinedCall<T>> {
        self.jobs.iter().max_by_key(|(exchange, _)| exchange.deadline())
    }

    /// When the first caller's time is over.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let mut deadlines = self.jobs.iter().map(|(exchange, _)| exchange.deadline());
        if self.unordered { deadlines.min() } else { deadlines.next() }
    }

    /// Takes the calls whose time is over.
    pub(crate) fn take_late(&mut self, now: Instant) -> VecDeque<PipelinedCall<T>> {
        let late = |(exchange, _): &PipelinedCall<T>| exchange.deadline() <= now;
        if !self.unordered {
            return self.jobs.drain(..self.jobs.partition_point(late)).collect();
        }
        let (taken, kept) = self.take_all().into_iter().partition(late);
        self.jobs = kept;
        taken
    }

    /// Takes the first call that fits.
    pub(crate) fn take_first(&mut self, fits: impl Fn(&PipelinedCall<T>) -> bool) -> Option<PipelinedCall<T>> {
        self.jobs.remove(self.jobs.iter().position(fits)?)
    }

    /// Keeps the calls that fit.
    pub(crate) fn retain(&mut self, fits: impl Fn(&PipelinedCall<T>) -> bool) {
        self.jobs.retain(fits);
    }

    /// Takes all calls.
    pub(crate) fn take_all(&mut self) -> VecDeque<PipelinedCall<T>> {
        std::mem::take(&mut self.jobs)
    }
}
