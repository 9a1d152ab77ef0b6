//! Calls on their way to the wire: those that wait for room on a link, in the order in which they came, and those that are put
//! together to travel as one.

use std::collections::VecDeque;
use std::time::Instant;

use super::pipelined::{Pipelined, PipelinedCall};

/// Fewer calls than this are cheaper apart.
const FEWEST: usize = 4;
/// More calls than this go in several bundles: the first are answered while the server works on the next.
const MOST: usize = 32;
/// So many kinds are gathered at a time.
const MOST_KINDS: usize = 8;

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

/// Calls of one kind.
type Gathered<T> = ((usize, u64), Vec<PipelinedCall<T>>);

/// Calls that wait for others of their kind. No call overtakes another about the same key.
pub(crate) struct Bundles<T> {
    /// Each kind of other keys.
    gathered: Vec<Gathered<T>>,
}

impl<T> Default for Bundles<T> {
    fn default() -> Self {
        Bundles { gathered: Vec::new() }
    }
}

impl<T> Bundles<T> {
    /// Takes a call, which is written now or with others; so many are still to come.
    pub(crate) fn put(&mut self, job: PipelinedCall<T>, to_come: usize, up: &mut Pipelined<T>) {
        let is_few = self.gathered.is_empty() && to_come + 1 < FEWEST;
        let Some(bundle) = job.0.bundle().filter(|_| !is_few && up.takes_bundles()) else {
            // It may be about any key.
            self.flush(up);
            return up.encode(job);
        };
        let (kind, stem) = (bundle.kind, bundle.stem);
        let at = self.gathered.iter().position(|(other, _)| *other == kind);
        let same_keys = |(_, jobs): &Gathered<T>| {
            jobs.first().and_then(|(first, _)| first.bundle()).is_some_and(|bundle| bundle.stem == stem)
        };
        if at.is_none()
            && let Some(at) = self.gathered.iter().position(same_keys)
        {
            write(self.gathered.remove(at).1, up);
        }
        let Some(at) = at else {
            if self.gathered.len() == MOST_KINDS {
                write(self.gathered.remove(0).1, up);
            }
            return self.gathered.push((kind, vec![job]));
        };
        self.gathered[at].1.push(job);
        if self.gathered[at].1.len() == MOST {
            write(self.gathered.swap_remove(at).1, up);
        }
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self, up: &mut Pipelined<T>) {
        self.gathered.drain(..).for_each(|(_, jobs)| write(jobs, up));
    }
}

fn write<T>(jobs: Vec<PipelinedCall<T>>, up: &mut Pipelined<T>) {
    if jobs.len() < FEWEST {
        jobs.into_iter().for_each(|job| up.encode(job));
    } else {
        up.encode_together(jobs);
    }
}
