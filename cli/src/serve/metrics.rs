//! `/metrics`, for Prometheus.

use super::live::Shown;
use super::writes::Writes;

/// What is known, as Prometheus reads it.
pub fn text(_shown: &Shown, writes: &Writes) -> String {
    format!("# TYPE quotalock_serve_writes_total counter\nquotalock_serve_writes_total {}\n", writes.done())
}
