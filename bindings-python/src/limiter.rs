//! The limiter: one method per verb, each a call of the core.

use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quotalock::{LimiterOptions, Unsettled, convert};

use crate::advice;
use crate::argument::{self, Amount, Cost, Id, Key, Maybe, Name, RequestId, Whom, Word, octets, seconds, whole};
use crate::carrier::{Carrier, decided};
use crate::client::Client;
use crate::error::raised;
use crate::hook::Hook;
use crate::policy::{policy, spelled};
use crate::reservation::Reservation;

/// Decides for keys by one policy; made by `Client.limiter`.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Limiter {
    core: quotalock::Limiter,
    carrier: Arc<Carrier>,
    /// The scope as it was given: a str or bytes.
    scope: Option<Py<PyAny>>,
    on_decision: Hook,
}

impl Limiter {
    /// The core's limiter.
    pub fn core(&self) -> &quotalock::Limiter {
        &self.core
    }
}

#[pymethods]
impl Client {
    /// Makes a limiter: a name, part of its Redis keys, and a policy; its keys share a slot with others of their `scope`; it takes up to
    /// `prefetch` permits at once.
    #[pyo3(signature = (name, policy, scope = None, enforce = true, prefetch = None))]
    fn limiter(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        policy: &Bound<'_, PyAny>,
        scope: Maybe<'_, '_>,
        enforce: bool,
        prefetch: Maybe<'_, '_>,
    ) -> PyResult<Limiter> {
        let octets = scope.map(|scope| octets("scope", scope.as_borrowed())).transpose()?;
        let prefetch = prefetch.map(|prefetch| whole("prefetch", prefetch.as_borrowed())).transpose()?;
        let options = LimiterOptions { scope: octets.map(<[u8]>::to_vec), enforce, prefetch };
        let limiter = self.core().limiter_at(name.0, self::policy(policy)?, options, || advice::place(py));
        let limiter = limiter.map_err(|error| raised(py, &error))?;
        let scope = scope.map(|scope| scope.clone().unbind());
        let on_decision = self.on_decision().clone_ref(py);
        Ok(Limiter { core: limiter, carrier: self.carrier().clone(), scope, on_decision })
    }

    /// Charges `cost` to `key` as a limiter of this name and policy does.
    #[pyo3(signature = (name, key, policy, cost = Cost(1)), text_signature = "($self, name, key, policy, cost=1)")]
    fn _limit(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        key: Key<'_>,
        policy: &Bound<'_, PyAny>,
        cost: Cost,
    ) -> PyResult<Py<PyAny>> {
        let place = || advice::place(py);
        let limiter = self.limiters().limiter_at(name.0, &spelled(policy)?, LimiterOptions::default(), place);
        let limiter = limiter.map_err(|error| raised(py, &error))?;
        if let Some(message) = self.limiters().warning() {
            let message = std::ffi::CString::new(message).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)?;
        }
        match limiter.consume_at_once(&key.0, cost.0) {
            Some(decision) => decided(py, decision),
            None => self.carrier().make(py, limiter.consume(&key.0, cost.0)),
        }
    }
}

#[pymethods]
impl Limiter {
    /// The name given.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// The policy in its canonical form.
    #[getter]
    fn policy(&self) -> String {
        self.core.policy().to_string()
    }

    /// The scope as it was given; None without one.
    #[getter]
    fn scope(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.scope.as_ref().map(|scope| scope.clone_ref(py))
    }

    /// Whether the policy is enforced.
    #[getter]
    fn enforce(&self) -> bool {
        self.core.enforce()
    }

    /// How many permits it takes at once at most; None if each call asks.
    #[getter]
    fn prefetch(&self) -> Option<u64> {
        self.core.prefetch()
    }

    /// The user was warned of the limiters of its name.
    fn _name_is_known(&self) {
        self.core.name_is_known();
    }

    /// Charges `cost` to every rule if all admit it, else to none; with a `request_id` once for that id.
    #[pyo3(signature = (key, cost = Cost(1), request_id = None),
           text_signature = "($self, key, cost=1, request_id=None)")]
    fn consume(
        &self,
        py: Python<'_>,
        key: Whom<'_, '_>,
        cost: Cost,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        if request_id.is_none()
            && let Some(decision) = self.core.consume_at_once(&key.octets, cost.0)
        {
            return self.on_decision.after(decided(py, decision), key.given);
        }
        let call = self.core.consume_once(&key.octets, cost.0, request_id.map(|id| id.0));
        self.on_decision.after(self.carrier.make(py, call), key.given)
    }

    /// Charges as much as is admitted now, up to `most`.
    fn consume_up_to(&self, py: Python<'_>, key: Whom<'_, '_>, most: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let most = whole("most", most.as_borrowed())?;
        self.on_decision.after(self.carrier.make(py, self.core.consume_up_to(&key.octets, most)), key.given)
    }

    /// Charges `estimate` and holds it for `ttl` seconds, until the reservation is settled.
    #[pyo3(signature = (key, estimate, ttl, unsettled = Word("spent".into())),
           text_signature = "($self, key, estimate, ttl, unsettled='spent')")]
    fn reserve(
        &self,
        key: &Bound<'_, PyAny>,
        estimate: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
        unsettled: Word<'_>,
    ) -> PyResult<Reservation> {
        let (reservation, decision) = self._reserve(key, estimate, ttl, unsettled)?;
        let decision = self.on_decision.after(Ok(decision), key.as_borrowed())?;
        reservation._decided(key.py(), decision);
        Ok(reservation)
    }

    /// As `reserve`, but the reservation is apart from its decision, which on a loop is still a future.
    fn _reserve(
        &self,
        key: &Bound<'_, PyAny>,
        estimate: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
        unsettled: Word<'_>,
    ) -> PyResult<(Reservation, Py<PyAny>)> {
        let py = key.py();
        let named = argument::key(key.clone());
        let octets = octets("key", named.as_borrowed())?;
        let (estimate, ttl) = (whole("estimate", estimate.as_borrowed())?, seconds("ttl", ttl.as_borrowed())?);
        let reserved = Unsettled::parse(&unsettled.0).and_then(|how| self.core.reserve(octets, estimate, ttl, how));
        let (reservation, call) = reserved.map_err(|error| raised(py, &error))?;
        let decision = self.carrier.make(py, Ok(call))?;
        Ok((Reservation::new(reservation, self.carrier.clone(), key.clone().unbind()), decision))
    }

    /// The reservation of this id, made here or in another process.
    fn reservation(&self, key: &Bound<'_, PyAny>, id: Id<'_>) -> PyResult<Reservation> {
        let py = key.py();
        let found = self.core.reservation(octets("key", argument::key(key.clone()).as_borrowed())?, id.0);
        let reservation = found.map_err(|error| raised(py, &error))?;
        Ok(Reservation::new(reservation, self.carrier.clone(), key.clone().unbind()))
    }

    /// Tells what `consume` would answer, and never writes.
    #[pyo3(signature = (key, cost = Cost(1)), text_signature = "($self, key, cost=1)")]
    fn peek(&self, py: Python<'_>, key: Key<'_>, cost: Cost) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.peek(&key.0, cost.0))
    }

    /// As `consume`, but a denial raises `RateLimited`.
    #[pyo3(signature = (key, cost = Cost(1)), text_signature = "($self, key, cost=1)")]
    fn require(&self, py: Python<'_>, key: Whom<'_, '_>, cost: Cost) -> PyResult<Py<PyAny>> {
        let required = match self.core.require_at_once(&key.octets, cost.0) {
            Some(decision) => decided(py, decision),
            None => self.carrier.make(py, self.core.require(&key.octets, cost.0)),
        };
        self.on_decision.after(required, key.given)
    }

    /// As `consume`, and after a denial sleeps as `retry_after` says and tries again, for at most `timeout` seconds.
    #[pyo3(signature = (key, timeout, cost = Cost(1)), text_signature = "($self, key, timeout, cost=1)")]
    fn wait(&self, py: Python<'_>, key: Whom<'_, '_>, timeout: &Bound<'_, PyAny>, cost: Cost) -> PyResult<Py<PyAny>> {
        let timeout = convert::duration(seconds("timeout", timeout.as_borrowed())?);
        let waited = self.carrier.make_napping(py, self.core.wait(&key.octets, cost.0, timeout));
        self.on_decision.after(waited, key.given)
    }

    /// Gives back `amount` of what was consumed; with a `request_id` once for that id.
    #[pyo3(signature = (key, amount, request_id = None))]
    fn refund(
        &self,
        py: Python<'_>,
        key: Key<'_>,
        amount: Amount,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.refund_once(&key.0, amount.0, request_id.map(|id| id.0)))
    }

    /// Denies everything for `duration` seconds.
    fn block(&self, py: Python<'_>, key: Key<'_>, duration: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let duration = seconds("duration", duration.as_borrowed())?;
        self.carrier.make(py, self.core.block(&key.0, duration))
    }

    /// Forgets everything about `key`, a block included; True if there was anything.
    fn reset(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.reset(&key.0))
    }

    /// The Redis key that holds the state of `key`.
    fn redis_key<'py>(&self, py: Python<'py>, key: Key<'_>) -> PyResult<Bound<'py, PyBytes>> {
        let redis_key = self.core.redis_key(&key.0).map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &redis_key))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.on_decision.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        format!("<quotalock.Limiter {:?} {}>", self.core.name(), self.core.policy())
    }
}
