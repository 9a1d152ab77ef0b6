//! What became of acquisitions of locks and of what was held. Locks have many names, so they are counted together.

use std::time::Duration;

use super::calls::Feature;
use super::histogram::{HISTOGRAM, OF_LOCKS, observe};
use super::process::table;
use super::stripes;

/// Where the histogram of waits begins.
pub(super) const WAITS: usize = Feature::ALL.len() * HISTOGRAM;
/// Where that of holds begins.
pub(super) const HOLDS: usize = WAITS + HISTOGRAM;
/// Where acquisitions are counted, by result.
pub(super) const ACQUISITIONS: usize = HOLDS + HISTOGRAM;
pub(super) const LOST: usize = ACQUISITIONS + AcquisitionResult::ALL.len();
pub(super) const RELEASED: usize = LOST + 1;
/// Where the locks are counted whose value was not ours, and was replaced.
pub(super) const HEALED: usize = RELEASED + 1;
const _: () = assert!(HEALED < super::layout::FIXED);

/// How an acquisition ended that was not given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquisitionResult {
    /// It was granted.
    Acquired,
    /// It was not granted in its time.
    Refused,
    /// It failed.
    Error,
}

impl AcquisitionResult {
    /// Every result, in the order of the documentation.
    pub(crate) const ALL: [AcquisitionResult; 3] =
        [AcquisitionResult::Acquired, AcquisitionResult::Refused, AcquisitionResult::Error];

    /// The text of its label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AcquisitionResult::Acquired => "acquired",
            AcquisitionResult::Refused => "refused",
            AcquisitionResult::Error => "error",
        }
    }
}

/// An acquisition ended after so long.
pub fn count_acquisition(result: AcquisitionResult, took: Duration) {
    let Some(table) = table() else { return };
    stripes::add(table.fixed(), ACQUISITIONS + result as usize, 1);
    if result != AcquisitionResult::Error {
        observe(table.fixed(), WAITS, &OF_LOCKS, took);
    }
}

/// What was held for so long is lost, or released.
pub fn count_hold(is_lost: bool, held: Duration) {
    let Some(table) = table() else { return };
    stripes::add(table.fixed(), if is_lost { LOST } else { RELEASED }, 1);
    observe(table.fixed(), HOLDS, &OF_LOCKS, held);
}

/// The value of a lock was not ours, and was replaced.
pub fn count_healed_lock() {
    table().iter().for_each(|table| stripes::add(table.fixed(), HEALED, 1));
}
