//! What was counted, as JavaScript has it.

use std::collections::BTreeMap;

use napi_derive::napi;
use quotalock::metrics::{self, Metric, Sample, SampleValue};

/// One thing that is counted.
#[napi(object, object_from_js = false)]
pub struct MetricAnswer {
    /// As Prometheus is to call it.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// By their labels.
    pub samples: Vec<SampleAnswer>,
}

/// A number, or a histogram, with its labels.
#[napi(object, object_from_js = false)]
pub struct SampleAnswer {
    /// By name.
    pub labels: BTreeMap<String, String>,
    /// Of a counter or a gauge.
    pub value: Option<f64>,
    /// Of a histogram: bounds in seconds, and how many took no longer.
    pub buckets: Option<Vec<Vec<f64>>>,
    /// How long all of them took together, in seconds.
    pub sum: Option<f64>,
    /// How many there were.
    pub count: Option<f64>,
}

/// What was counted until now.
#[napi(catch_unwind)]
pub fn metrics() -> Vec<MetricAnswer> {
    metrics::snapshot().metrics.iter().map(of_metric).collect()
}

/// The same as text that Prometheus reads.
#[napi(catch_unwind)]
pub fn prometheus() -> String {
    metrics::prometheus()
}

fn of_metric(metric: &Metric) -> MetricAnswer {
    let samples = metric.samples.iter().map(of_sample).collect();
    MetricAnswer { name: metric.name, help: metric.help, kind: metric.kind.as_str(), samples }
}

fn of_sample(sample: &Sample) -> SampleAnswer {
    let labels = sample.labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let none = SampleAnswer { labels, value: None, buckets: None, sum: None, count: None };
    match &sample.value {
        SampleValue::Number(number) => SampleAnswer { value: Some(*number as f64), ..none },
        SampleValue::Histogram(histogram) => SampleAnswer {
            buckets: Some(histogram.buckets.iter().map(|(bound, count)| vec![*bound, *count as f64]).collect()),
            sum: Some(histogram.sum),
            count: Some(histogram.count() as f64),
            ..none
        },
    }
}
