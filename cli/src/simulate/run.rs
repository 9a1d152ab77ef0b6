//! A replay: what each policy decides about each request, and what is kept of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use quotalock::{Policy, Replay};

use super::need::Needs;
use super::series::Series;
use super::source::{Request, RequestOutcome};

const SECOND: u64 = 1_000_000;

/// What all policies have decided.
pub struct Run {
    /// The number of each client.
    pub clients: HashMap<Box<[u8]>, u32>,
    /// How many requests each of them made.
    pub requests: Vec<u32>,
    /// The policies.
    pub trials: Vec<Trial>,
    most: usize,
    now: u64,
    waiting: Waiting,
    /// When the first request was decided, in microseconds.
    pub first: Option<u64>,
    /// How many requests were decided.
    pub decided: u64,
    /// How many requests came after a later one, and were sorted.
    pub earlier: u64,
    /// By how many microseconds at most.
    pub lag: u64,
}

/// A request that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Microseconds since the epoch.
    pub time: u64,
    /// Its place among all that came: of equal times the first is the first.
    place: u64,
    /// The number of its client.
    pub client: u32,
}

/// Requests of the window in which they are sorted.
struct Waiting {
    /// How long the window is, in microseconds.
    window: u64,
    /// The latest time that came.
    latest: u64,
    /// How many came.
    count: u64,
    /// Those that came in the order of their times: most of them.
    ordered: VecDeque<Turn>,
    /// Those that came after a later one.
    late: BinaryHeap<Reverse<Turn>>,
}

impl Waiting {
    fn add(&mut self, turn: Turn) {
        match self.ordered.back() {
            Some(last) if *last > turn => self.late.push(Reverse(turn)),
            _ => self.ordered.push_back(turn),
        }
    }

    /// The earliest one, if nothing earlier can come any more, or if nothing comes.
    fn take(&mut self, is_over: bool) -> Option<Turn> {
        let (first, late) = (self.ordered.front(), self.late.peek().map(|Reverse(turn)| turn));
        let is_late = late.is_some_and(|late| first.is_none_or(|first| late < first));
        let time = if is_late { late } else { first }?.time;
        if !is_over && time.saturating_add(self.window) >= self.latest {
            return None;
        }
        if is_late { self.late.pop().map(|Reverse(turn)| turn) } else { self.ordered.pop_front() }
    }
}

/// What one policy has decided.
pub struct Trial {
    /// The policy.
    pub policy: Policy,
    replay: Replay,
    /// Requests that were denied.
    pub denied: u64,
    /// By client.
    pub denials: Vec<ClientDenials>,
    /// Admitted and denied requests over time.
    pub series: Series,
    /// How many each rule denied: the one that made the wait the longest.
    pub by_rule: Vec<u64>,
    /// The longest wait that was told, in microseconds.
    pub longest: u64,
    /// What clients need of it, if that is wanted.
    pub needs: Option<Needs>,
    /// Whether the last request was admitted.
    pub admitted: bool,
}

/// What of one client was denied.
#[derive(Clone, Copy, Default)]
pub struct ClientDenials {
    /// How many requests.
    pub count: u32,
    /// When the first one was, in seconds since the epoch.
    pub first: u32,
    /// When the last one was.
    pub last: u32,
}

impl Run {
    /// Of policies, for so many clients at most; requests are sorted within a window of so many microseconds.
    pub fn new(policies: &[Policy], most: usize, window: u64, with_needs: bool) -> Run {
        let trial = |policy: &Policy| Trial {
            replay: Replay::new(policy.clone()),
            denied: 0,
            denials: Vec::new(),
            series: Series::new(2),
            by_rule: vec![0; policy.rules().len()],
            longest: 0,
            needs: with_needs.then(|| Needs::new(policy)),
            admitted: true,
            policy: policy.clone(),
        };
        Run {
            clients: HashMap::new(),
            requests: Vec::new(),
            trials: policies.iter().map(trial).collect(),
            most,
            now: 0,
            waiting: Waiting { window, latest: 0, count: 0, ordered: VecDeque::new(), late: BinaryHeap::new() },
            first: None,
            decided: 0,
            earlier: 0,
            lag: 0,
        }
    }

    /// The virtual time, in microseconds: that of the last request that was decided.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The latest time that came, in microseconds.
    pub fn latest(&self) -> u64 {
        self.waiting.latest
    }

    /// Takes a request, to be decided in its turn.
    pub fn enter(&mut self, request: &Request<'_>) -> RequestOutcome {
        let late_by = self.waiting.latest.saturating_sub(request.time);
        if late_by > self.waiting.window {
            return RequestOutcome::TooLate;
        }
        let client = match self.clients.get(request.key) {
            Some(client) => *client as usize,
            None if self.requests.len() >= self.most => return RequestOutcome::TooMany,
            None => {
                let client = self.requests.len();
                self.clients.insert(request.key.into(), client as u32);
                self.requests.push(0);
                client
            }
        };
        if late_by > 0 {
            self.earlier += 1;
            self.lag = self.lag.max(late_by);
        }
        self.waiting.latest = self.waiting.latest.max(request.time);
        self.waiting.count += 1;
        self.waiting.add(Turn { time: request.time, place: self.waiting.count, client: client as u32 });
        RequestOutcome::Decided
    }

    /// Decides about the next request whose turn it is, if there is one; when no more come, about those that are left.
    pub fn decide(&mut self, is_over: bool) -> Option<Turn> {
        let turn = self.waiting.take(is_over)?;
        let client = turn.client as usize;
        self.now = turn.time;
        self.first.get_or_insert(self.now);
        self.decided += 1;
        self.requests[client] = self.requests[client].saturating_add(1);
        for trial in &mut self.trials {
            trial.decide(client, self.now);
        }
        Some(turn)
    }
}

impl Trial {
    fn decide(&mut self, client: usize, now: u64) {
        let (decided, seconds) = (self.replay.consume(client, now, 1), now / SECOND);
        self.admitted = decided.allowed;
        self.series.at(seconds)[usize::from(!decided.allowed)] += 1;
        if let Some(needs) = &mut self.needs {
            needs.request(client, now);
        }
        if decided.allowed {
            return;
        }
        self.denied += 1;
        self.by_rule[decided.binds] += 1;
        self.longest = self.longest.max(decided.retry_after.unwrap_or(0));
        if self.denials.len() <= client {
            self.denials.resize(client + 1, ClientDenials::default());
        }
        let (denials, seconds) = (&mut self.denials[client], u32::try_from(seconds).unwrap_or(u32::MAX));
        if denials.count == 0 {
            denials.first = seconds;
        }
        (denials.count, denials.last) = (denials.count.saturating_add(1), seconds);
    }

    /// What of a client was denied.
    pub fn denials(&self, client: usize) -> ClientDenials {
        self.denials.get(client).copied().unwrap_or_default()
    }
}
