//! Counters of what this process and its relatives do: by names that developers choose, never by key.
//!
//! They lie in one table of a fixed size, in memory that is shared with forked processes, or in a file that processes of all
//! languages name.

pub use wire::metrics::{
    Feature, Histogram, LoadCounters, METRICS_FILE_VARIABLE, METRICS_VARIABLE, Metric, MetricKind, Sample, SampleValue,
    Snapshot, file, prepare, prometheus, shared_by, snapshot,
};
