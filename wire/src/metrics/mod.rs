//! Counters of what this process and its relatives do: by names that developers choose, never by key.
//!
//! They lie in one table of a fixed size, in memory that is shared with forked processes, or in a file that processes of all
//! languages name. Nothing here waits, and a process that is killed anywhere leaves what all others go on with: see
//! [ADR 24](../../docs/adr/0024-metrics.md).

mod breakers;
mod counted;
mod exposition;
mod snapshot;
mod stripes;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use breakers::{BreakerGauge, Trouble, breaker_gauge};
pub(crate) use counted::count_call;
pub use counted::{
    AcquisitionResult, DecisionCounters, Feature, LoadCounters, LoadKind, LoadResult, TAKE_RESULTS, TakeCounters,
    count_acquisition, count_healed_lock, count_hold,
};
pub use exposition::prometheus;
pub use snapshot::{Histogram, Metric, MetricKind, Sample, SampleValue, Snapshot, snapshot};
pub use table::{METRICS_FILE_VARIABLE, METRICS_VARIABLE, file, prepare, shared_by, table};
