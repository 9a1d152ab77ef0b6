//! How long things took, in buckets that are the same in every process.

use std::time::Duration;

use super::stripes::{self, Stripes};

/// Words of a histogram: its buckets, one for what is longer, and the sum in microseconds.
pub(super) const HISTOGRAM: usize = 24;
/// Where the sum is.
const SUM: usize = HISTOGRAM - 1;

/// What a histogram's buckets end with, in microseconds.
pub(super) type Bounds = [u64];

/// Of calls.
pub(super) const OF_CALLS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];
/// Of waits and holds.
pub(super) const OF_LOCKS: [u64; 17] = [
    1_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    900_000_000,
    3_600_000_000,
];

/// Counts one that took so long in the histogram that begins there.
pub(super) fn observe<const W: usize>(stripes: &Stripes<W>, start: usize, bounds: &Bounds, took: Duration) {
    let micros = took.as_micros() as u64;
    let bucket = bounds.iter().position(|bound| micros <= *bound).unwrap_or(bounds.len());
    stripes::add(stripes, start + bucket, 1);
    stripes::add(stripes, start + SUM, micros);
}

/// How many there are for each bound and beyond, and their sum in microseconds, of the words of a histogram.
pub(super) fn read(words: &[u64], bounds: &Bounds) -> (Vec<u64>, u64) {
    (words[..=bounds.len()].to_vec(), words[SUM])
}
