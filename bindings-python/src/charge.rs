//! `consume_all`, and its charges.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::{self, RequestId, kind, octets, shown, whole};
use crate::client::Client;
use crate::limiter::Limiter;

#[pymethods]
impl Client {
    /// Charges several keys, each by its own limiter, if all of them admit it, else none.
    #[pyo3(signature = (charges, request_id = None))]
    fn consume_all(
        &self,
        py: Python<'_>,
        charges: &Bound<'_, PyAny>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let charges = self::charges(charges)?;
        let cores = charges.iter().map(Charge::core).collect::<PyResult<Vec<_>>>()?;
        let decided = self.carrier().make(py, self.core().consume_all(&cores, request_id.map(|id| id.0)))?;
        self.on_decision().after_all(decided.bind(py), |place| Ok(charges[place].given.clone()))?;
        Ok(decided)
    }
}

/// One charge: whose limit, which key, how much.
struct Charge<'py> {
    limiter: Bound<'py, Limiter>,
    key: Bound<'py, PyAny>,
    /// The key as it was given.
    given: Bound<'py, PyAny>,
    cost: u64,
}

/// Reads charges: tuples `(limiter, key)` or `(limiter, key, cost)`.
fn charges<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Charge<'py>>> {
    let refused = |_| {
        let advice = "give a list of tuples (limiter, key) or (limiter, key, cost)";
        PyTypeError::new_err(format!("charges {} is {}: {advice}", shown(given), kind(given)))
    };
    given.try_iter().map_err(refused)?.map(|item| Charge::read(&item?)).collect()
}

impl<'py> Charge<'py> {
    fn read(given: &Bound<'py, PyAny>) -> PyResult<Charge<'py>> {
        let refused = |wrong: String| {
            let advice = "give a tuple (limiter, key) or (limiter, key, cost)";
            PyTypeError::new_err(format!("charge {} {wrong}: {advice}", shown(given)))
        };
        let parts = given.cast::<PyTuple>().map_err(|_| refused(format!("is {}", kind(given))))?;
        if !matches!(parts.len(), 2 | 3) {
            return Err(refused(format!("has {} parts", parts.len())));
        }
        let cost = parts.get_item(2).ok().map_or(Ok(1), |cost| whole("cost", cost.as_borrowed()))?;
        let limiter = limiter(&parts.get_item(0)?).ok_or_else(|| refused("has no limiter".to_owned()))?;
        let given = parts.get_item(1)?;
        Ok(Charge { limiter, key: argument::key(given.clone()), given, cost })
    }

    /// The same for the core.
    fn core(&self) -> PyResult<quotalock::Charge<'_>> {
        let key = octets("key", self.key.as_borrowed())?;
        Ok(quotalock::Charge { limiter: self.limiter.get().core(), key, cost: self.cost })
    }
}

/// A limiter, or the one inside a limiter of `quotalock.aio`: whose client it is, is the core's to judge.
fn limiter<'py>(given: &Bound<'py, PyAny>) -> Option<Bound<'py, Limiter>> {
    let inner = || given.getattr(intern!(given.py(), "_native")).ok()?.cast_into().ok();
    given.cast().ok().cloned().or_else(inner)
}
