//! A replay: what each policy decides about each request, and what is kept of it.

use std::collections::HashMap;

use quotalock::{Policy, Replay};

use super::need::Needs;
use super::series::Series;
use super::source::{Request, Told};

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
    /// When the first request was decided, in microseconds.
    pub first: Option<u64>,
    /// How many requests were decided.
    pub decided: u64,
    /// How many of them were earlier than one before.
    pub earlier: u64,
    /// By how many microseconds at most.
    pub lag: u64,
}

/// What one policy has decided.
pub struct Trial {
    /// The policy.
    pub policy: Policy,
    replay: Replay,
    /// Requests that were denied.
    pub denied: u64,
    /// By client.
    pub denials: Vec<Denials>,
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
pub struct Denials {
    /// How many requests.
    pub count: u32,
    /// When the first one was, in seconds since the epoch.
    pub first: u32,
    /// When the last one was.
    pub last: u32,
}

impl Run {
    /// Of policies, for so many clients at most.
    pub fn new(policies: &[Policy], most: usize, with_needs: bool) -> Run {
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
            first: None,
            decided: 0,
            earlier: 0,
            lag: 0,
        }
    }

    /// The virtual time, in microseconds: that of the latest request.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Decides about a request, at its time or that of a later one before it.
    pub fn decide(&mut self, request: &Request<'_>) -> Told {
        let client = match self.clients.get(request.key) {
            Some(client) => *client as usize,
            None if self.requests.len() >= self.most => return Told::TooMany,
            None => {
                let client = self.requests.len();
                self.clients.insert(request.key.into(), client as u32);
                self.requests.push(0);
                client
            }
        };
        if request.time < self.now {
            self.earlier += 1;
            self.lag = self.lag.max(self.now - request.time);
        }
        self.now = self.now.max(request.time);
        self.first.get_or_insert(self.now);
        self.decided += 1;
        self.requests[client] = self.requests[client].saturating_add(1);
        for trial in &mut self.trials {
            trial.decide(client, self.now);
        }
        Told::Decided
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
            self.denials.resize(client + 1, Denials::default());
        }
        let (denials, seconds) = (&mut self.denials[client], u32::try_from(seconds).unwrap_or(u32::MAX));
        if denials.count == 0 {
            denials.first = seconds;
        }
        (denials.count, denials.last) = (denials.count.saturating_add(1), seconds);
    }

    /// What of a client was denied.
    pub fn denials(&self, client: usize) -> Denials {
        self.denials.get(client).copied().unwrap_or_default()
    }
}
