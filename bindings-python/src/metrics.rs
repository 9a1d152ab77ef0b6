//! What was counted, as Python has it.

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quotalock::Result;
use quotalock::metrics::{self, Metric, Sample, SampleValue};

/// Makes the memory for denials and that for counters, and warns of files that they cannot be in.
pub fn share_memory(py: Python<'_>) -> PyResult<()> {
    let file = quotalock::deny_cache_file();
    let denials = quotalock::prepare_deny_cache(quotalock::DEFAULT_DENY_CACHE_KB, file.as_deref());
    let warn = |made: Result<()>| {
        let Err(problem) = made else { return Ok(()) };
        let message = std::ffi::CString::new(problem.message()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
    };
    warn(denials).and(warn(metrics::prepare(metrics::file().as_deref())))
}

/// What was counted until now, by this process and those that count with it: a dict for each metric.
#[pyfunction(name = "metrics")]
pub fn counted(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    metrics::snapshot().metrics.iter().map(|metric| of_metric(py, metric)).collect()
}

/// The same as text that Prometheus reads.
#[pyfunction]
pub fn prometheus() -> String {
    metrics::prometheus()
}

fn of_metric<'py>(py: Python<'py>, metric: &Metric) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", metric.name)?;
    dict.set_item("help", metric.help)?;
    dict.set_item("kind", metric.kind.as_str())?;
    let samples = metric.samples.iter().map(|sample| of_sample(py, sample)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("samples", PyList::new(py, samples)?)?;
    Ok(dict)
}

fn of_sample<'py>(py: Python<'py>, sample: &Sample) -> PyResult<Bound<'py, PyDict>> {
    let (dict, labels) = (PyDict::new(py), PyDict::new(py));
    sample.labels.iter().try_for_each(|(name, value)| labels.set_item(name, value))?;
    dict.set_item("labels", labels)?;
    match &sample.value {
        SampleValue::Number(number) => dict.set_item("value", number)?,
        SampleValue::Histogram(histogram) => {
            dict.set_item("buckets", &histogram.buckets)?;
            dict.set_item("sum", histogram.sum)?;
            dict.set_item("count", histogram.count())?;
        }
    }
    Ok(dict)
}
