//! The numbers of a sale, as Python shows them.

use pyo3::prelude::*;
use quotalock::convert;

/// The numbers of a sale: the answer of `Stock.status`. `available + held + sold` are `quantity`; all 0 if it is not
/// open.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct StockStatus {
    /// `not_open`, `open` or `ended`.
    #[pyo3(get)]
    phase: &'static str,
    /// All units there are.
    #[pyo3(get)]
    quantity: u64,
    /// Those that can be taken.
    #[pyo3(get)]
    available: u64,
    /// Those of reservations that are neither confirmed nor cancelled nor returned.
    #[pyo3(get)]
    held: u64,
    /// Those of confirmed reservations.
    #[pyo3(get)]
    sold: u64,
    /// How many buyers hold or have bought.
    #[pyo3(get)]
    buyers: u64,
    /// The most units of one buyer; None: as many as there are.
    #[pyo3(get)]
    per_buyer: Option<u64>,
    /// When takes end, in seconds since the epoch by the server's clock; None: never.
    #[pyo3(get)]
    ends: Option<f64>,
}

impl StockStatus {
    /// Takes the core's status.
    pub fn new(status: quotalock::StockStatus) -> StockStatus {
        let quotalock::StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends } = status;
        let (phase, ends) = (phase.as_str(), ends.map(convert::seconds));
        StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends }
    }
}

#[pymethods]
impl StockStatus {
    fn __repr__(&self) -> String {
        let StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends } = self;
        let per_buyer = per_buyer.map_or_else(|| "None".to_owned(), |most| most.to_string());
        let ends = ends.map_or_else(|| "None".to_owned(), |ends| format!("{ends:?}"));
        format!(
            "StockStatus(phase='{phase}', quantity={quantity}, available={available}, held={held}, sold={sold}, \
             buyers={buyers}, per_buyer={per_buyer}, ends={ends})"
        )
    }
}
