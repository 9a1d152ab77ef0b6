//! The Python package's native half, `quotalock._native`: it converts values, releases the GIL or lets a loop wait, and
//! picks an exception class. Everything else is the core's.

mod address;
mod advice;
mod answer;
mod argument;
mod basket;
mod cache;
mod call;
mod caller;
mod carrier;
mod charge;
mod client;
mod combined;
mod decision;
mod error;
mod exception;
mod greenlets;
mod hook;
mod http;
mod inspection;
mod interpreter;
mod interruption;
mod leaving;
mod ledger;
mod limiter;
mod link;
mod loading;
mod lock;
#[rustfmt::skip]
mod lock_makers;
mod lock_options;
mod locks;
mod loop_loading;
mod loss;
mod metrics;
mod once;
mod ours;
mod password;
mod policy;
mod reservation;
mod rule_decision;
mod seen;
mod stock;
mod stock_reservation;
mod stock_status;
mod taken;
mod testing;
mod unkept;
mod watch;

use pyo3::prelude::*;

/// What `quotalock` and `quotalock.aio` are made of.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::address::client_address;
    #[pymodule_export]
    use super::argument::{check_json, function};
    #[pymodule_export]
    use super::cache::Cache;
    #[pymodule_export]
    use super::call::settle;
    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::combined::CombinedDecision;
    #[pymodule_export]
    use super::decision::Decision;
    #[pymodule_export]
    use super::hook::{tell, tell_decisions, tell_lost};
    #[pymodule_export]
    use super::inspection::{Holder, Inspection};
    #[pymodule_export]
    use super::ledger::LedgerEntry;
    #[pymodule_export]
    use super::limiter::Limiter;
    #[pymodule_export]
    use super::link::LoopDriver;
    #[pymodule_export]
    use super::lock::Lock;
    #[pymodule_export]
    use super::lock_makers::quorum_lock;
    #[pymodule_export]
    use super::loop_loading::Loading;
    #[pymodule_export]
    use super::loss::Loss;
    #[pymodule_export]
    use super::metrics::{counted, prometheus};
    #[pymodule_export]
    use super::once::Once;
    #[pymodule_export]
    use super::password::Question;
    #[pymodule_export]
    use super::policy::Rule;
    #[pymodule_export]
    use super::reservation::Reservation;
    #[pymodule_export]
    use super::rule_decision::RuleDecision;
    #[pymodule_export]
    use super::seen::{Claimed, Seen};
    #[pymodule_export]
    use super::stock::Stock;
    #[pymodule_export]
    use super::stock_reservation::{StockPage, StockReservation};
    #[pymodule_export]
    use super::stock_status::StockStatus;
    #[pymodule_export]
    use super::taken::{Taken, TakenAll};
    #[pymodule_export]
    use super::testing::{get, put, set_time};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::interpreter::claim()?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        quotalock::reports::set_language("python");
        // Before workers are forked, which share it.
        super::metrics::share_memory(module.py())?;
        // The interpreter's end waits until nobody is in the middle of something.
        let register = module.py().import("atexit")?.getattr("register")?;
        super::call::call(&register, [&module.getattr("settle_threads")?]).map(drop)
    }
}
