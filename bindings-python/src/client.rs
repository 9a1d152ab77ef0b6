//! The client, which makes limiters, handles of locks and stocks, and caches.

use pyo3::prelude::*;
use quotalock::{LimiterCache, LimiterOptions, OnError, Options, convert};

use crate::argument::{Cost, Key, Label, Name, Prefix, RequestId, Url, Word, octets, seconds, whole};
use crate::basket::{self, Item};
use crate::cache::{self, Cache};
use crate::carrier::Carrier;
use crate::charge::{Charge, charges};
use crate::error::{internal, raised};
use crate::limiter::Limiter;
use crate::loading;
use crate::lock::{Lock, one, several};
use crate::lock_options::{Given, Maybe};
use crate::loops::Loops;
use crate::once::Once;
use crate::policy::{policy, spelled};
use crate::stock::{self, Stock};
use crate::ticket::{Ticket, Waiting};

/// A client of one Redis, or of this process' memory. Threads may share it, and forked processes go on using it.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Client {
    core: quotalock::Client,
    /// The limiters of the one-line `limit()`.
    limiters: LimiterCache,
    carrier: Carrier,
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (url = None, prefix = Prefix("ql"), timeout = None, on_error = Word("raise".into()), request_memory = None),
           text_signature = "(url=None, prefix='ql', timeout=0.5, on_error='raise', request_memory=60.0)")]
    fn new(
        py: Python<'_>,
        url: Option<Url<'_>>,
        prefix: Prefix<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
        on_error: Word<'_>,
        request_memory: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Client> {
        let url = url.map(|url| url.0.to_owned());
        let mut options = Options { url, prefix: prefix.0.to_owned(), ..Options::default() };
        if let Some(given) = timeout {
            options.timeout = convert::duration(seconds("timeout", given.as_borrowed())?);
        }
        if let Some(given) = request_memory {
            options.request_memory = convert::duration(seconds("request_memory", given.as_borrowed())?);
        }
        let made =
            OnError::parse(&on_error.0).and_then(|on_error| quotalock::Client::new(Options { on_error, ..options }));
        let core = made.map_err(|error| raised(py, &error))?;
        Ok(Client::of(core, None))
    }

    /// The same client for asyncio: what blocks here returns a future of the running loop there.
    fn _for_loops(&self) -> Client {
        Client::of(self.core.clone(), Some(Loops::default()))
    }

    /// Makes a limiter: a name, part of its Redis keys, and a policy; its keys share a slot with others of their `scope`.
    #[pyo3(signature = (name, policy, scope = None, enforce = true))]
    fn limiter<'py>(
        slf: &Bound<'py, Self>,
        name: Name<'_>,
        policy: &Bound<'py, PyAny>,
        scope: Option<&Bound<'py, PyAny>>,
        enforce: bool,
    ) -> PyResult<Limiter> {
        let octets = scope.map(|scope| octets("scope", scope.as_borrowed())).transpose()?;
        let options = LimiterOptions { scope: octets.map(<[u8]>::to_vec), enforce };
        let limiter = slf.get().core.limiter_with(name.0, self::policy(policy)?, options);
        let limiter = limiter.map_err(|error| raised(slf.py(), &error))?;
        Ok(Limiter::new(limiter, slf.clone().unbind(), scope.map(|scope| scope.clone().unbind())))
    }

    /// Charges several keys, each by its own limiter, if all of them admit it, else none.
    #[pyo3(signature = (charges, request_id = None))]
    fn consume_all(
        &self,
        py: Python<'_>,
        charges: &Bound<'_, PyAny>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let charges = self::charges(charges)?;
        let charges = charges.iter().map(Charge::core).collect::<PyResult<Vec<_>>>()?;
        self.carrier.make(py, self.core.consume_all(&charges, request_id.map(|id| id.0)))
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
        let limiter = self.limiters.limiter(name.0, &spelled(policy)?).map_err(|error| raised(py, &error))?;
        self.carrier.make(py, limiter.consume(key.0, cost.0))
    }

    /// Makes a handle for a mutex.
    #[pyo3(signature = (name, ttl = None, wait = None, fair = false, renew = true, max_hold = None, floor = None, label = Label(""),
                        replicas_ack = None, ack_timeout = None),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, floor=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    #[expect(clippy::too_many_arguments)]
    fn lock<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        ttl: Maybe<'_, 'py>,
        wait: Maybe<'_, 'py>,
        fair: bool,
        renew: bool,
        max_hold: Maybe<'_, 'py>,
        floor: Maybe<'_, 'py>,
        label: Label<'_>,
        replicas_ack: Maybe<'_, 'py>,
        ack_timeout: Maybe<'_, 'py>,
    ) -> PyResult<Lock> {
        let given = Given { ttl, wait, fair, renew, max_hold, floor, label: label.0, replicas_ack, ack_timeout };
        Lock::new(slf, one(name)?, given, |core, names, options| core.lock(names[0], options))
    }

    /// Makes a handle for several mutexes that are granted all or none.
    #[pyo3(signature = (names, ttl = None, wait = None, fair = false, renew = true, max_hold = None, floor = None, label = Label(""),
                        replicas_ack = None, ack_timeout = None),
           text_signature = "($self, names, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, floor=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    #[expect(clippy::too_many_arguments)]
    fn lock_all<'py>(
        slf: &Bound<'py, Self>,
        names: &Bound<'py, PyAny>,
        ttl: Maybe<'_, 'py>,
        wait: Maybe<'_, 'py>,
        fair: bool,
        renew: bool,
        max_hold: Maybe<'_, 'py>,
        floor: Maybe<'_, 'py>,
        label: Label<'_>,
        replicas_ack: Maybe<'_, 'py>,
        ack_timeout: Maybe<'_, 'py>,
    ) -> PyResult<Lock> {
        let given = Given { ttl, wait, fair, renew, max_hold, floor, label: label.0, replicas_ack, ack_timeout };
        Lock::new(slf, several(names)?, given, |core, names, options| core.lock_all(names, options))
    }

    /// Makes a handle for `weight` of a semaphore's `permits`.
    #[pyo3(signature = (name, permits, weight = None, ttl = None, wait = None, fair = false, renew = true, max_hold = None, floor = None, label = Label(""),
                        replicas_ack = None, ack_timeout = None),
           text_signature = "($self, name, permits, weight=1, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, floor=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    #[expect(clippy::too_many_arguments)]
    fn semaphore<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        permits: &Bound<'py, PyAny>,
        weight: Maybe<'_, 'py>,
        ttl: Maybe<'_, 'py>,
        wait: Maybe<'_, 'py>,
        fair: bool,
        renew: bool,
        max_hold: Maybe<'_, 'py>,
        floor: Maybe<'_, 'py>,
        label: Label<'_>,
        replicas_ack: Maybe<'_, 'py>,
        ack_timeout: Maybe<'_, 'py>,
    ) -> PyResult<Lock> {
        let permits = whole("permits", permits.as_borrowed())?;
        let weight = weight.map_or(Ok(1), |weight| whole("weight", weight.as_borrowed()))?;
        let given = Given { ttl, wait, fair, renew, max_hold, floor, label: label.0, replicas_ack, ack_timeout };
        Lock::new(slf, one(name)?, given, |core, names, options| core.semaphore(names[0], permits, weight, options))
    }

    /// Makes a handle for the reading side of a read-write lock.
    #[pyo3(signature = (name, ttl = None, wait = None, fair = false, renew = true, max_hold = None, floor = None, label = Label(""),
                        replicas_ack = None, ack_timeout = None),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, floor=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    #[expect(clippy::too_many_arguments)]
    fn read_lock<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        ttl: Maybe<'_, 'py>,
        wait: Maybe<'_, 'py>,
        fair: bool,
        renew: bool,
        max_hold: Maybe<'_, 'py>,
        floor: Maybe<'_, 'py>,
        label: Label<'_>,
        replicas_ack: Maybe<'_, 'py>,
        ack_timeout: Maybe<'_, 'py>,
    ) -> PyResult<Lock> {
        let given = Given { ttl, wait, fair, renew, max_hold, floor, label: label.0, replicas_ack, ack_timeout };
        Lock::new(slf, one(name)?, given, |core, names, options| core.read_lock(names[0], options))
    }

    /// Makes a handle for the writing side of a read-write lock.
    #[pyo3(signature = (name, ttl = None, wait = None, fair = false, renew = true, max_hold = None, floor = None, label = Label(""),
                        replicas_ack = None, ack_timeout = None),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, floor=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    #[expect(clippy::too_many_arguments)]
    fn write_lock<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        ttl: Maybe<'_, 'py>,
        wait: Maybe<'_, 'py>,
        fair: bool,
        renew: bool,
        max_hold: Maybe<'_, 'py>,
        floor: Maybe<'_, 'py>,
        label: Label<'_>,
        replicas_ack: Maybe<'_, 'py>,
        ack_timeout: Maybe<'_, 'py>,
    ) -> PyResult<Lock> {
        let given = Given { ttl, wait, fair, renew, max_hold, floor, label: label.0, replicas_ack, ack_timeout };
        Lock::new(slf, one(name)?, given, |core, names, options| core.write_lock(names[0], options))
    }

    /// Makes a handle for the units of a sale.
    #[pyo3(signature = (name, scope = None, ledger_cap = None, memory = None),
           text_signature = "($self, name, scope=None, ledger_cap=100000, memory=2592000.0)")]
    fn stock<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        scope: Maybe<'_, 'py>,
        ledger_cap: Maybe<'_, 'py>,
        memory: Maybe<'_, 'py>,
    ) -> PyResult<Stock> {
        Stock::new(slf, name, scope, ledger_cap, memory)
    }

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
        let (takes, buyer) = (basket::takes(takes)?, octets("buyer", buyer.as_borrowed())?);
        let takes: Vec<_> = takes.iter().map(Item::core).map(|(stock, quantity)| (stock, *quantity)).collect();
        let taking = self.core.take_all(&takes, buyer, stock::hold(hold)?, request_id.map(|id| id.0));
        self.carrier.make(py, taking)
    }

    /// Sells what several reservations hold, or nothing if one of them is over.
    fn confirm_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let held = basket::reservations(reservations)?;
        self.carrier.make(py, self.core.confirm_all(&basket::ids(&held)))
    }

    /// Returns what several reservations hold to their stocks.
    fn cancel_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let held = basket::reservations(reservations)?;
        self.carrier.make(py, self.core.cancel_all(&basket::ids(&held)))
    }

    /// Lengthens several holds, or none if one of them is over.
    #[pyo3(signature = (reservations, hold = None), text_signature = "($self, reservations, hold=600.0)")]
    fn extend_all(&self, py: Python<'_>, reservations: &Bound<'_, PyAny>, hold: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        let held = basket::reservations(reservations)?;
        self.carrier.make(py, self.core.extend_all(&basket::ids(&held), stock::hold(hold)?))
    }

    /// Makes what is done once for each id.
    #[pyo3(signature = (name, ttl = None, lease = None, errors = None),
           text_signature = "($self, name, ttl=86400.0, lease=10.0, errors=0.0)")]
    fn once<'py>(
        slf: &Bound<'py, Self>,
        name: Name<'_>,
        ttl: Maybe<'_, 'py>,
        lease: Maybe<'_, 'py>,
        errors: Maybe<'_, 'py>,
    ) -> PyResult<Once> {
        Once::new(slf, name.0, ttl, lease, errors)
    }

    /// Makes a cache.
    #[pyo3(signature = (name, fresh = None, stale = None, lease = None, negative = None, errors = None, beta = None,
                        when_away = Word("raise".into())),
           text_signature = "($self, name, fresh=60.0, stale=0.0, lease=10.0, negative=None, errors=1.0, beta=1.0, when_away='raise')")]
    #[expect(clippy::too_many_arguments)]
    fn cache<'py>(
        slf: &Bound<'py, Self>,
        name: Name<'_>,
        fresh: Maybe<'_, 'py>,
        stale: Maybe<'_, 'py>,
        lease: Maybe<'_, 'py>,
        negative: Maybe<'_, 'py>,
        errors: Maybe<'_, 'py>,
        beta: Maybe<'_, 'py>,
        when_away: Word<'_>,
    ) -> PyResult<Cache> {
        Cache::new(slf, name.0, cache::Given { fresh, stale, lease, negative, errors, beta, when_away: &when_away.0 })
    }

    /// Stores what was loaded.
    fn _fill(&self, py: Python<'_>, ticket: &Ticket, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let value = loading::value("the loaded value", value)?.map(<[u8]>::to_vec);
        self.carrier.make(py, ticket.core(py)?.fill(value))
    }

    /// Tells that a load came to nothing, and why, if others are to know.
    #[pyo3(signature = (ticket, error))]
    fn _fail(&self, py: Python<'_>, ticket: &Ticket, error: Option<Word<'_>>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, Ok(ticket.core(py)?.fail(error.as_ref().map(|error| &*error.0))))
    }

    /// A future for what another loads, or a ticket to load it.
    fn _wait_for(&self, py: Python<'_>, waiting: &Waiting) -> PyResult<Py<PyAny>> {
        self.looped(py)?.wait_for(py, waiting.take(py)?)
    }

    /// Gives back what is held and closes the connections. Later calls raise `Closed`; closing twice does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.core.close());
        self.carrier.close(py);
    }

    /// Closes the client for its callers; the future is done when what it held was given back, None if that is nothing. For a
    /// loop, which then calls `close`.
    fn _give_back(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.core.close_elsewhere().map(|op| self.carrier.make_napping(py, Ok(op))).transpose()
    }

    /// The host and port, socket path or `memory://`; never a password.
    #[getter]
    fn server(&self) -> String {
        self.core.server()
    }

    /// What every Redis key starts with.
    #[getter]
    fn prefix(&self) -> &str {
        self.core.prefix()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_how))]
    fn __exit__(&self, py: Python<'_>, _how: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<quotalock.Client {} prefix={:?}>", self.core.server(), self.core.prefix())
    }
}

impl Client {
    fn of(core: quotalock::Client, loops: Option<Loops>) -> Client {
        let limiters = LimiterCache::new(core.clone());
        Client { carrier: Carrier::new(&core, loops), core, limiters }
    }

    /// The core's client.
    pub fn core(&self) -> &quotalock::Client {
        &self.core
    }

    /// The loops of a client that awaits its calls.
    pub fn looped(&self, py: Python<'_>) -> PyResult<&Loops> {
        self.carrier.loops().ok_or_else(|| internal(py, "a future was asked of a client that blocks".to_owned()))
    }

    /// What carries out the calls.
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }
}
