//! The units of a sale: one method per verb, each a call of the core.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quotalock::{DEFAULT_HOLD, Opening, StockOptions};

use crate::argument::{After, Cursor, Id, Maybe, RequestId, list, octets, seconds, shown, whole};
use crate::carrier::Carrier;
use crate::client::Client;
use crate::error::raised;

/// How many reservations or entries come at once if nobody says.
const PAGE: u64 = 100;

/// The units of a sale; made by `Client.stock`.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Stock {
    core: quotalock::Stock,
    carrier: Arc<Carrier>,
    /// The name and the scope as they were given: str or bytes.
    name: Py<PyAny>,
    scope: Option<Py<PyAny>>,
}

impl Stock {
    /// The core's handle.
    pub fn core(&self) -> &quotalock::Stock {
        &self.core
    }
}

#[pymethods]
impl Client {
    /// Makes a handle for the units of a sale.
    #[pyo3(signature = (name, scope = None, ledger_cap = None, retention = None),
           text_signature = "($self, name, scope=None, ledger_cap=100000, retention=2592000.0)")]
    fn stock(
        &self,
        name: &Bound<'_, PyAny>,
        scope: Maybe<'_, '_>,
        ledger_cap: Maybe<'_, '_>,
        retention: Maybe<'_, '_>,
    ) -> PyResult<Stock> {
        let octets_of = |scope: &Bound<'_, PyAny>| octets("scope", scope.as_borrowed()).map(<[u8]>::to_vec);
        let mut options = StockOptions { scope: scope.map(octets_of).transpose()?, ..StockOptions::default() };
        if let Some(given) = ledger_cap {
            options.ledger_cap = whole("ledger_cap", given.as_borrowed())?;
        }
        if let Some(given) = retention {
            options.retention = seconds("retention", given.as_borrowed())?;
        }
        let core = self.core().stock(octets("name", name.as_borrowed())?, options);
        let core = core.map_err(|error| raised(name.py(), &error))?;
        let scope = scope.map(|scope| scope.clone().unbind());
        Ok(Stock { core, carrier: self.carrier().clone(), name: name.clone().unbind(), scope })
    }
}

#[pymethods]
impl Stock {
    /// The name as it was given.
    #[getter]
    fn name(&self, py: Python<'_>) -> Py<PyAny> {
        self.name.clone_ref(py)
    }

    /// The scope as it was given; None without one.
    #[getter]
    fn scope(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.scope.as_ref().map(|scope| scope.clone_ref(py))
    }

    /// The Redis keys: hash, holds, ledger.
    #[getter]
    fn redis_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.redis_keys().iter().map(|key| PyBytes::new(py, key)))
    }

    /// Opens the sale: True if this call opened it, False if it is open with the same numbers already.
    #[pyo3(signature = (quantity, per_buyer = None, ends = None, prizes = None))]
    fn open(
        &self,
        py: Python<'_>,
        quantity: &Bound<'_, PyAny>,
        per_buyer: Maybe<'_, '_>,
        ends: Maybe<'_, '_>,
        prizes: Maybe<'_, '_>,
    ) -> PyResult<Py<PyAny>> {
        let opening = Opening {
            per_buyer: per_buyer.map(|given| whole("per_buyer", given.as_borrowed())).transpose()?,
            ends: ends.map(|given| seconds("ends", given.as_borrowed())).transpose()?,
            prizes: self::prizes(prizes)?,
        };
        let quantity = whole("quantity", quantity.as_borrowed())?;
        self.carrier.make(py, self.core.open(quantity, opening))
    }

    /// Ends the sale now, for good: True if this call did, False if it had ended before.
    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.close())
    }

    /// Adds units to an open sale, and answers how many there are now.
    #[pyo3(signature = (quantity, prizes = None, request_id = None))]
    fn restock(
        &self,
        py: Python<'_>,
        quantity: &Bound<'_, PyAny>,
        prizes: Maybe<'_, '_>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let (quantity, prizes) = (whole("quantity", quantity.as_borrowed())?, self::prizes(prizes)?);
        self.carrier.make(py, self.core.restock(quantity, &prizes, request_id.map(|id| id.0)))
    }

    /// Holds units for a buyer for `hold` seconds, or says why not; with a `request_id` once for that id.
    #[pyo3(signature = (buyer, quantity = None, hold = None, request_id = None),
           text_signature = "($self, buyer, quantity=1, hold=600.0, request_id=None)")]
    fn take(
        &self,
        py: Python<'_>,
        buyer: &Bound<'_, PyAny>,
        quantity: Maybe<'_, '_>,
        hold: Maybe<'_, '_>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let buyer = octets("buyer", buyer.as_borrowed())?;
        let quantity = quantity.map_or(Ok(1), |given| whole("quantity", given.as_borrowed()))?;
        let taking = self.core.take(buyer, quantity, self::hold(hold)?, request_id.map(|id| id.0));
        self.carrier.make(py, taking)
    }

    /// Sells what a reservation holds: False if its hold is over.
    fn confirm(&self, py: Python<'_>, id: Id<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.confirm(id.0))
    }

    /// Returns what a reservation holds to stock: False if its hold is over.
    fn cancel(&self, py: Python<'_>, id: Id<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.cancel(id.0))
    }

    /// Has a hold last for at least `hold` seconds from now: False if it is over.
    #[pyo3(signature = (id, hold = None), text_signature = "($self, id, hold=600.0)")]
    fn extend(&self, py: Python<'_>, id: Id<'_>, hold: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.extend(id.0, self::hold(hold)?))
    }

    /// The numbers of the sale.
    fn status(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, Ok(self.core.status()))
    }

    /// Lists holds that are not over, those that end first first.
    #[pyo3(signature = (cursor = None, count = None), text_signature = "($self, cursor=None, count=100)")]
    fn reservations(&self, py: Python<'_>, cursor: Option<Cursor<'_>>, count: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.reservations(cursor.map(|cursor| cursor.0), self::count(count)?))
    }

    /// Reads entries of the ledger, those after the entry `after`.
    #[pyo3(signature = (after = None, count = None), text_signature = "($self, after=None, count=100)")]
    fn ledger(&self, py: Python<'_>, after: Option<After<'_>>, count: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.ledger(after.map(|after| after.0), self::count(count)?))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Stock {}>", shown(self.name.bind(py)))
    }
}

/// How long units are held, in microseconds.
pub fn hold(given: Maybe<'_, '_>) -> PyResult<u64> {
    given.map_or(Ok(DEFAULT_HOLD), |given| seconds("hold", given.as_borrowed()))
}

fn count(given: Maybe<'_, '_>) -> PyResult<u64> {
    given.map_or(Ok(PAGE), |given| whole("count", given.as_borrowed()))
}

fn prizes(given: Maybe<'_, '_>) -> PyResult<Vec<Vec<u8>>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let prize = |item: &Bound<'_, PyAny>| octets("prize", item.as_borrowed()).map(<[u8]>::to_vec);
    list("prizes", given)?.iter().map(prize).collect()
}
