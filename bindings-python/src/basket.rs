//! Calls about several stocks, each with a quantity or the id of a reservation.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::{Id, Maybe, RequestId, kind, octets, shown, whole};
use crate::client::Client;
use crate::stock::{Stock, hold};

#[pymethods]
impl Client {
    /// Holds units of several stocks for one buyer, or of none.
    #[pyo3(signature = (takes, buyer, hold = None, request_id = None),
           text_signature = "($self, takes, buyer, hold=600.0, request_id=None)")]
    fn take_all(
        &self,
        py: Python<'_>,
        takes: &Bound<'_, PyAny>,
        buyer: &Bound<'_, PyAny>,
        hold: Maybe<'_, '_>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let (takes, buyer) = (self::takes(takes)?, octets("buyer", buyer.as_borrowed())?);
        let takes: Vec<_> = takes.iter().map(Item::core).map(|(stock, quantity)| (stock, *quantity)).collect();
        let taking = self.core().take_all(&takes, buyer, self::hold(hold)?, request_id.map(|id| id.0));
        self.carrier().make(py, taking)
    }

    /// Sells what several reservations hold, or nothing if one of them is over.
    fn confirm_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let held = self::reservations(reservations)?;
        self.carrier().make(py, self.core().confirm_all(&ids(&held)))
    }

    /// Returns what several reservations hold to their stocks.
    fn cancel_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let held = self::reservations(reservations)?;
        self.carrier().make(py, self.core().cancel_all(&ids(&held)))
    }

    /// Lengthens several holds, or none if one of them is over.
    #[pyo3(signature = (reservations, hold = None), text_signature = "($self, reservations, hold=600.0)")]
    fn extend_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>, hold: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        let held = self::reservations(reservations)?;
        self.carrier().make(py, self.core().extend_all(&ids(&held), self::hold(hold)?))
    }
}

/// A stock and what is said about it.
struct Item<'py, T> {
    stock: Bound<'py, Stock>,
    said: T,
}

/// Reads takes: tuples `(stock, quantity)`.
fn takes<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Item<'py, u64>>> {
    items("takes", "quantity", given, |quantity| whole("quantity", quantity.as_borrowed()))
}

/// Reads reservations: tuples `(stock, id)`.
fn reservations<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Item<'py, String>>> {
    items("reservations", "id", given, |id| id.extract::<Id<'_>>().map(|id| id.0.to_owned()))
}

impl<T> Item<'_, T> {
    /// The same for the core.
    fn core(&self) -> (&quotalock::Stock, &T) {
        (self.stock.get().core(), &self.said)
    }
}

/// Reservations for the core.
fn ids<'a>(held: &'a [Item<'_, String>]) -> Vec<(&'a quotalock::Stock, &'a str)> {
    held.iter().map(Item::core).map(|(stock, id)| (stock, id.as_str())).collect()
}

fn items<'py, T>(
    what: &str,
    second: &str,
    given: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<Item<'py, T>>> {
    let refused = |given: &Bound<'py, PyAny>, form: String| {
        PyTypeError::new_err(format!("{what} {} is {}: give {form}", shown(given), kind(given)))
    };
    let iter = given.try_iter().map_err(|_| refused(given, format!("a list of tuples (stock, {second})")))?;
    iter.map(|item| {
        let item = item?;
        let odd = || refused(&item, format!("tuples (stock, {second})"));
        let pair = item.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(odd)?;
        let stock = stock(&pair.get_item(0)?).ok_or_else(odd)?;
        Ok(Item { stock, said: read(&pair.get_item(1)?)? })
    })
    .collect()
}

/// A stock, or the one inside a stock of `quotalock.aio`: whose client it is, is the core's to judge.
fn stock<'py>(given: &Bound<'py, PyAny>) -> Option<Bound<'py, Stock>> {
    let inner = || given.getattr(intern!(given.py(), "_native")).ok()?.cast_into().ok();
    given.cast().ok().cloned().or_else(inner)
}
