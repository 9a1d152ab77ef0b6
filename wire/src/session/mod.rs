//! What a client, its limiters and their calls share: its settings, and what it has in each process.
//!
//! This is the one place that knows which server a call goes to: see `Route`.

pub mod cluster;
pub mod discovery;
pub mod exchange;
pub mod holdings;
pub mod listening;
pub mod node;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::clock::{TestTime, boot_micros};
use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::base::fork::ForkCell;
use crate::base::thread::on_thread;
use crate::call::breaker::NotSent;
use crate::call::command::OnError;
use crate::connection::idle::IdleSubscriptions;
use crate::connection::wire::{Broken, Wire};
use crate::memory::part::MemoryShare;
use crate::memory::stand_in::StandIn;
use crate::session::cluster::Cluster;
pub(crate) use crate::session::cluster::Way;
use crate::session::discovery::{Bell, Discovery};
use crate::session::holdings::Holdings;
use crate::session::node::Node;

/// The settings of a client, and what it has in this process.
pub struct Session {
    /// Which servers it has.
    pub endpoint: Endpoint,
    /// How long a call may take.
    pub timeout: Duration,
    /// What is answered when Redis cannot.
    pub on_error: OnError,
    /// What decides while Redis cannot, with `on_error = local`.
    pub stand_in: Option<StandIn>,
    /// A time of tests, in place of the server's.
    pub test_time: TestTime,
    /// Called with the number of an engine whose client is closed, or gone.
    pub hang_up: fn(u64),
    /// Whether it was closed.
    pub closed: AtomicBool,
    /// What it has in each process.
    pub engine: ForkCell<Engine>,
}

impl Session {
    /// This process' engine, made at the first use.
    pub fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| Engine::new(self))
    }

    /// The time by which permits that were taken ahead end, and what Redis counted, in microseconds: a clock that never goes
    /// back, and goes on while the machine sleeps.
    pub fn steady_time(&self) -> u64 {
        self.test_time.get().unwrap_or_else(boot_micros)
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Lets calls pass until the client is closed.
    ///
    /// # Errors
    /// `closed` from then on.
    pub fn check(&self) -> Result<()> {
        if self.is_closed() {
            let message = "the client was closed: make a new one, or close it later";
            return Err(Error::new(Code::Closed, message));
        }
        Ok(())
    }

    /// This process' engine, if it has one.
    pub fn engine_if_made(&self) -> Option<&Engine> {
        self.engine.get()
    }

    /// Takes no more calls; false if it took none before.
    pub fn end(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }
}

/// What must not outlive a fork: sockets, locks, memory of failures.
pub struct Engine {
    /// No other engine of this process has it, nor ever had.
    pub(crate) number: u64,
    hang_up: fn(u64),
    /// Which server a call goes to.
    pub(crate) route: Route,
    /// What `memory://` keeps, shared with other clients of the process; of a client of Redis, its own.
    pub memory: MemoryShare,
    /// The idle subscriptions of threads that wait.
    pub(crate) subscriptions: IdleSubscriptions,
    /// What is held through the client.
    pub holdings: Holdings,
    /// Kept by each of those who wait in this process for something to be held through the client.
    pub waiting: Arc<()>,
}

impl Engine {
    fn new(session: &Session) -> Engine {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let memory = match &session.endpoint {
            Endpoint::Memory(name) => MemoryShare::of(name),
            Endpoint::Redis(_) | Endpoint::Cluster(_) => MemoryShare::default(),
        };
        Engine {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            hang_up: session.hang_up,
            route: Route::new(&session.endpoint),
            memory,
            subscriptions: IdleSubscriptions::default(),
            holdings: Holdings::default(),
            waiting: Arc::default(),
        }
    }

    /// Whether anybody waits for something to be held through the client.
    pub fn has_waiters(&self) -> bool {
        Arc::strong_count(&self.waiting) > 1
    }

    /// Asks the process' thread to hang up for this client: calls under way end with `closed`.
    pub fn hang_up(&self) {
        (self.hang_up)(self.number);
    }

    /// Closes the connections that lie idle, and leaves its part of the memory.
    pub fn close(&self) {
        self.memory.end();
        self.route.close();
        self.subscriptions.close();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// How a client's calls find their servers, in one process.
///
/// A route that has to find its servers first answers `Way::Unknown`: the call's driver has them found
/// ([`Session::discover`] on its own thread, [`Session::discover_elsewhere`] on another), and starts the call again.
pub(crate) enum Route {
    /// Nowhere: they are done in this process.
    Memory,
    /// Always to the server of the URL.
    Fixed(Arc<Node>),
    /// To the server of a Redis Cluster that serves the slot of the key.
    Cluster(Box<Cluster>),
}

impl Route {
    pub(crate) fn new(endpoint: &Endpoint) -> Route {
        match endpoint {
            Endpoint::Memory(_) => Route::Memory,
            Endpoint::Redis(server) => Route::Fixed(Node::new(server.clone())),
            Endpoint::Cluster(seeds) => Route::Cluster(Box::new(Cluster::new(seeds))),
        }
    }

    /// Where a call goes whose key lies in this slot. `timeout` is what calls of this client have.
    pub(crate) fn way(&self, slot: u16, timeout: Duration) -> Way {
        match self {
            Route::Fixed(node) => Way::To(node.clone()),
            Route::Cluster(cluster) => cluster.way(slot, timeout),
            Route::Memory => {
                let error = Error::new(Code::Internal, "memory:// has no connections");
                Way::Nowhere(NotSent { error: Some(error), retry_after: Duration::ZERO })
            }
        }
    }

    /// The cluster, if it is one.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        match self {
            Route::Cluster(cluster) => Some(cluster),
            _ => None,
        }
    }

    /// A call of a server failed, or was refused, in a way that lets doubt whether it is the right one.
    pub(crate) fn doubt(&self) {
        if let Route::Cluster(cluster) = self {
            cluster.doubt();
        }
    }

    /// The server that tells those who wait for a key of this slot; none if the servers have to be found first.
    pub(crate) fn teller(&self, slot: u16) -> Result<Option<Arc<Node>>> {
        match self {
            Route::Fixed(node) => Ok(Some(node.clone())),
            Route::Cluster(cluster) => Ok(cluster.teller(slot)),
            Route::Memory => Err(Error::new(Code::Internal, "memory:// has no connections")),
        }
    }

    /// The search for servers; none if there is nothing to be found.
    fn discovery(&self) -> Option<&Discovery> {
        match self {
            Route::Cluster(cluster) => Some(&cluster.discovery),
            Route::Memory | Route::Fixed(_) => None,
        }
    }

    /// Looks for the servers; to be done by one at a time.
    fn search(
        &self,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        match self {
            Route::Cluster(cluster) => cluster.search(timeout, deadline, keep, interrupted),
            Route::Memory | Route::Fixed(_) => Ok(()),
        }
    }

    /// How many searches have ended.
    pub(crate) fn searches(&self) -> u64 {
        self.discovery().map_or(0, Discovery::searches_ended)
    }

    /// Whether it is time to look for the servers again, while calls go on.
    pub(crate) fn is_search_due(&self) -> bool {
        matches!(self, Route::Cluster(cluster) if cluster.pace.is_due(Instant::now))
    }

    /// Looks for the servers again if it is time, on the connection of a call that was just answered and within its deadline.
    /// False if the connection is of no use any more.
    pub(crate) fn look(&self, wire: &mut Wire, node: &Node, deadline: Instant) -> bool {
        match self {
            Route::Cluster(cluster) => cluster.look(wire, node, deadline),
            Route::Memory | Route::Fixed(_) => true,
        }
    }

    /// Closes the connections that lie idle.
    pub(crate) fn close(&self) {
        match self {
            Route::Memory => {}
            Route::Fixed(node) => node.pool.close(),
            Route::Cluster(cluster) => cluster.close(),
        }
    }
}

/// How much of a call's time a search may take that is made for it on another thread.
const SEARCH_SHARE: f64 = 0.95;

impl Session {
    /// Has the servers found on this thread, or waits for who is at it. What came of it, the next start tells.
    pub(crate) fn discover(
        &self,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), Broken> {
        let route = &self.engine().route;
        let Some(discovery) = route.discovery() else { return Ok(()) };
        let Some(_search) = discovery.begin() else { return discovery.wait(deadline, interrupted) };
        match route.search(self.timeout, deadline, true, interrupted) {
            Err(error) if error.code() == Code::Internal => Err(Broken::Interrupted),
            _ => Ok(()),
        }
    }

    /// Has the servers found on a thread that lives as long as the search, unless somebody is at it; `bell` rings at its end.
    pub(crate) fn discover_elsewhere(self: &Arc<Self>, bell: Option<Bell>) {
        let route = &self.engine().route;
        let Some(discovery) = route.discovery().filter(|discovery| discovery.begin_elsewhere(bell)) else { return };
        let session = self.clone();
        let spawned = on_thread("quotalock-servers", move || {
            let route = &session.engine().route;
            let _search = route.discovery().map(Discovery::adopt_search);
            // Whoever waits for it began before, and hears what came of it before its own time is over.
            let deadline = Instant::now() + session.timeout.mul_f64(SEARCH_SHARE);
            // What came of it, the next start tells.
            let _ = route.search(session.timeout, deadline, false, &mut || session.is_closed());
        });
        if spawned.is_err() {
            drop(discovery.adopt_search());
        }
    }
}
