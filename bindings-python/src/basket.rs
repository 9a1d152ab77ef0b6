//! Several stocks of one call, each with a quantity or the id of a reservation.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::{Id, kind, shown, whole};
use crate::stock::Stock;

/// A stock and what is said about it.
pub struct Item<'py, T> {
    stock: Bound<'py, Stock>,
    said: T,
}

/// Reads takes: tuples `(stock, quantity)`.
pub fn takes<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Item<'py, u64>>> {
    items("takes", "quantity", given, |quantity| whole("quantity", quantity.as_borrowed()))
}

/// Reads reservations: tuples `(stock, id)`.
pub fn reservations<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Item<'py, String>>> {
    items("reservations", "id", given, |id| id.extract::<Id<'_>>().map(|id| id.0.to_owned()))
}

impl<T> Item<'_, T> {
    /// The same for the core.
    pub fn core(&self) -> (&quotalock::Stock, &T) {
        (self.stock.get().core(), &self.said)
    }
}

/// Reservations for the core.
pub fn ids<'a>(held: &'a [Item<'_, String>]) -> Vec<(&'a quotalock::Stock, &'a str)> {
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
