//! Counters of what this process and its relatives do: by names that developers choose, never by key.
//!
//! They lie in one table of a fixed size, in memory that is shared with forked processes, or in a file that processes of all
//! languages name. Nothing here waits, and a process that is killed anywhere leaves what all others go on with: see
//! [ADR 24](../../docs/adr/0024-metrics.md).

mod breakers;
mod calls;
mod decisions;
mod exposition;
mod histogram;
mod layout;
mod loads;
mod locks;
mod process;
mod snapshot;
mod stripes;
mod table;
mod takes;
#[cfg(test)]
mod tests;

pub use calls::Feature;
pub use exposition::prometheus;
pub use loads::LoadCounters;
pub use process::{METRICS_FILE_VARIABLE, METRICS_VARIABLE, file, prepare, shared_by};
pub use snapshot::{Histogram, Metric, MetricKind, Sample, SampleValue, Snapshot, snapshot};

pub(crate) use breakers::{BreakerGauge, Trouble, breaker_gauge};
pub(crate) use calls::count_call;
pub use decisions::DecisionCounters;
pub use loads::{LoadKind, LoadResult};
pub use locks::{AcquisitionResult, count_acquisition, count_healed_lock, count_hold};
pub use process::table;
pub use takes::{TAKE_RESULTS, TakeCounters};
