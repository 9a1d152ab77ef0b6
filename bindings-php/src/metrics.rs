//! `Quotalock\metrics()` and `Quotalock\prometheus()`: what was counted.

use ext_php_rs::boxed::ZBox;
use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendHashTable, Zval};
use quotalock::metrics::{self, Metric, Sample, SampleValue};

use crate::property::{self, Bytes};
use crate::record::list;

/// What was counted until now, by this process and those that count with it.
#[php_function]
#[php(name = "Quotalock\\metrics")]
pub fn counted() -> ZBox<ZendHashTable> {
    // Cannot fail: the table is ours.
    let mut list = ZendHashTable::new();
    for metric in &metrics::snapshot().metrics {
        let _ = list.push(of_metric(metric));
    }
    list
}

/// The same as text that Prometheus reads.
#[php_function]
#[php(name = "Quotalock\\prometheus")]
pub fn prometheus() -> Bytes {
    Bytes(metrics::prometheus().into_bytes())
}

/// What the module registers.
pub fn entries() -> [FunctionBuilder<'static>; 2] {
    [wrap_function!(counted), wrap_function!(prometheus)]
}

fn of_metric(metric: &Metric) -> Zval {
    array([
        ("name", property::text(metric.name)),
        ("help", property::text(metric.help)),
        ("kind", property::text(metric.kind.as_str())),
        ("samples", list(&metric.samples, of_sample)),
    ])
}

fn of_sample(sample: &Sample) -> Zval {
    let labels = array(sample.labels.iter().map(|(name, value)| (*name, property::text(value.as_str()))));
    match &sample.value {
        SampleValue::Number(number) => array([("labels", labels), ("value", property::int(*number))]),
        SampleValue::Histogram(histogram) => array([
            ("labels", labels),
            ("buckets", list(&histogram.buckets, of_bucket)),
            ("sum", number(histogram.sum)),
            ("count", property::int(histogram.count())),
        ]),
    }
}

fn of_bucket((bound, count): &(f64, u64)) -> Zval {
    list(&[number(*bound), property::int(*count)], Zval::shallow_clone)
}

fn array(members: impl IntoIterator<Item = (&'static str, Zval)>) -> Zval {
    let mut table = ZendHashTable::new();
    for (name, value) in members {
        // Cannot fail: the table is ours.
        let _ = table.insert(name, value);
    }
    let mut array = Zval::new();
    array.set_hashtable(table);
    array
}

fn number(number: f64) -> Zval {
    let mut value = Zval::new();
    value.set_double(number);
    value
}
