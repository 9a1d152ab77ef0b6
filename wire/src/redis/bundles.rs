//! Puts calls together that travel as one.

use super::pipelined::{Pipelined, PipelinedCall};

/// Fewer calls than this are cheaper apart.
const FEWEST: usize = 4;
/// More calls than this go in several bundles: the first are answered while the server works on the next.
const MOST: usize = 32;
/// So many kinds are gathered at a time.
const MOST_KINDS: usize = 8;

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
