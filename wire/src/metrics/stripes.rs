//! Counters that several processors count in at once: each thread adds to its own stripe, a reader sums. And histograms of such
//! counters: how long things took, in buckets that are the same in every process.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::base::fork;

/// How many there are of each counter.
pub(super) const STRIPES: usize = 8;

/// `W` counters, a line of the processor's cache or several in each stripe.
pub(super) type Stripes<const W: usize> = [[AtomicU64; W]; STRIPES];

thread_local! {
    /// The number of this thread; 0 is none yet.
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

/// The stripe of this thread. Processes that were forked from one have different ones, as have threads of a process.
#[inline]
fn own() -> usize {
    let thread = match THREAD.get() {
        0 => number_thread(),
        thread => thread,
    };
    (thread + fork::process()) % STRIPES
}

#[cold]
fn number_thread() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    THREAD.set(number);
    number
}

/// Adds to a counter.
#[inline]
pub(super) fn add<const W: usize>(stripes: &Stripes<W>, at: usize, number: u64) {
    if let Some(counter) = stripes[own()].get(at) {
        counter.fetch_add(number, Ordering::Relaxed);
    }
}

/// All counters, summed over the stripes.
pub(super) fn sums<const W: usize>(stripes: &Stripes<W>) -> [u64; W] {
    std::array::from_fn(|at| stripes.iter().fold(0_u64, |sum, own| sum.wrapping_add(own[at].load(Ordering::Relaxed))))
}

/// Words of a histogram: its buckets, one for what is longer, and the sum in microseconds.
pub(super) const HISTOGRAM: usize = 24;
/// Where the sum is.
const SUM: usize = HISTOGRAM - 1;

/// What a histogram's buckets end with, in microseconds.
pub(super) type Bounds = [u64];

/// Counts one that took so long in the histogram that begins there.
pub(super) fn observe<const W: usize>(stripes: &Stripes<W>, start: usize, bounds: &Bounds, took: Duration) {
    let micros = took.as_micros() as u64;
    let bucket = bounds.iter().position(|bound| micros <= *bound).unwrap_or(bounds.len());
    add(stripes, start + bucket, 1);
    add(stripes, start + SUM, micros);
}

/// How many there are for each bound and beyond, and their sum in microseconds, of the words of a histogram.
pub(super) fn read(words: &[u64], bounds: &Bounds) -> (Vec<u64>, u64) {
    (words[..=bounds.len()].to_vec(), words[SUM])
}
