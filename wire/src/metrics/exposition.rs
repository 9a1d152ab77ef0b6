//! What was counted as text that Prometheus reads: its exposition format 0.0.4.

use std::fmt::Write;

use super::snapshot::{Histogram, Metric, Sample, SampleValue, Snapshot, snapshot};

/// The [`snapshot`] as text for Prometheus, to be served as `text/plain; version=0.0.4; charset=utf-8`. Empty where counting is off.
pub fn prometheus() -> String {
    text(&snapshot())
}

pub(super) fn text(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    for metric in snapshot.metrics.iter().filter(|metric| !metric.samples.is_empty()) {
        // A `String` takes all that is written.
        let _ = write_metric(&mut out, metric);
    }
    out
}

fn write_metric(out: &mut String, metric: &Metric) -> std::fmt::Result {
    let Metric { name, help, kind, samples } = metric;
    writeln!(out, "# HELP {name} {help}")?;
    writeln!(out, "# TYPE {name} {}", kind.as_str())?;
    for Sample { labels, value } in samples {
        match value {
            SampleValue::Number(number) => write_line(out, name, "", labels, None, *number)?,
            SampleValue::Histogram(histogram) => write_histogram(out, name, labels, histogram)?,
        }
    }
    Ok(())
}

fn write_histogram(out: &mut String, name: &str, labels: &Labels, histogram: &Histogram) -> std::fmt::Result {
    for (bound, count) in &histogram.buckets {
        let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
        write_line(out, name, "_bucket", labels, Some(&bound), *count)?;
    }
    write_line(out, name, "_sum", labels, None, histogram.sum)?;
    write_line(out, name, "_count", labels, None, histogram.count())
}

type Labels = [(&'static str, String)];

fn write_line(
    out: &mut String,
    name: &str,
    suffix: &str,
    labels: &Labels,
    bound: Option<&str>,
    value: impl std::fmt::Display,
) -> std::fmt::Result {
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str())).chain(bound.map(|bound| ("le", bound)));
    let labels: Vec<String> = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    writeln!(out, "{name}{suffix}{labels} {value}")
}

/// The value of a label as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
