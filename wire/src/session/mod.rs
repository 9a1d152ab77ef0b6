//! What a client, its limiters and their calls share: its settings, and what it has in each process.
//!
//! This is the one place that knows which server a call goes to: see [`route`].

pub mod cluster;
pub mod discovery;
pub mod exchange;
pub mod holdings;
pub mod listening;
pub mod node;
pub mod route;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::clock::{TestTime, boot_micros};
use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::base::fork::ForkCell;
use crate::base::thread::on_thread;
use crate::call::around::OnError;
use crate::connection::idle::IdleSubscriptions;
use crate::connection::wire::Broken;
use crate::memory::part::MemoryShare;
use crate::memory::stand_in::StandIn;
use crate::session::discovery::{Bell, Discovery};
use crate::session::holdings::Holdings;
use crate::session::route::Route;

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
