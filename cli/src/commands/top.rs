//! `top`: which keys are at their limit, or near it.
//!
//! Redis keeps no record of denials. What it knows is what each key would answer now.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use clap::Args;
use quotalock::stored::{KeyKind, KeyName, StoredLimiter};
use quotalock::{Rule, RuleDecision};
use serde_json::{Value, json};

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
use crate::output::{answer, print, shown, table};
use crate::raw::{self, Found};
use crate::server::{self, Servers};
use crate::words::{count, duration, millis, span, text};

/// What clears a terminal, and puts the cursor at its beginning.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// What `top` is asked.
#[derive(Args)]
pub struct Arguments {
    /// Only limiters of this name
    limiter: Option<String>,
    /// How often it is looked anew on a terminal
    #[arg(long, value_parser = duration, default_value = "2s")]
    every: u64,
    /// How many keys are shown
    #[arg(long, default_value_t = 20)]
    most: usize,
    /// From how much of a limit on a key is near it, in percent
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=100))]
    near: u64,
    /// Look once, also on a terminal
    #[arg(long)]
    once: bool,
}

/// A key that is at its limit, or near it.
struct Busy {
    name: KeyName,
    state: State,
    rule: String,
    remaining: u64,
    capacity: u64,
}

/// How a key stands. In the order of the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// For so many microseconds.
    Blocked(u64),
    /// For so many microseconds.
    Denied(u64),
    /// How much of the limit is used, in percent.
    Near(u64),
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Blocked(_) => "blocked",
            State::Denied(_) => "at limit",
            State::Near(_) => "near",
        }
    }

    fn wait(self) -> u64 {
        match self {
            State::Blocked(wait) | State::Denied(wait) => wait,
            State::Near(_) => 0,
        }
    }

    /// Blocked ones first, then those that are denied, each by how long yet; then the nearest.
    pub fn rank(self) -> (u8, u64) {
        match self {
            State::Blocked(wait) => (0, u64::MAX - wait),
            State::Denied(wait) => (1, u64::MAX - wait),
            State::Near(used) => (2, u64::MAX - used),
        }
    }
}

/// What a look found.
#[derive(Default)]
struct Seen {
    busy: Vec<Busy>,
    looked_at: u64,
    damaged: u64,
    without_ttl: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments, shared: &Shared) -> Result<Exit, Failure> {
    let client = raw::client(shared)?;
    let is_live = !arguments.once && !shared.json && std::io::stdout().is_terminal();
    let name = arguments.limiter.as_ref().map_or(b"*".to_vec(), |name| raw::literal(name.as_bytes()));
    let pattern = [raw::literal(client.prefix().as_bytes()), b":limit:".to_vec(), name, b":{*".to_vec()].concat();
    let mut servers = server::find(&shared.url)?;
    loop {
        let seen = look(&mut servers, client.prefix(), &pattern, arguments)?;
        let is_partial = raw::tell_missing(&servers);
        if !is_live {
            answer(shared, &seen.text(arguments.most), &seen.json(arguments.most))?;
            return Ok(if is_partial || seen.damaged + seen.without_ttl > 0 { Exit::Findings } else { Exit::Fine });
        }
        if !print(&format!("{CLEAR}{}", seen.text(arguments.most)))? {
            return Ok(Exit::Fine);
        }
        thread::sleep(Duration::from_micros(arguments.every));
    }
}

fn look(servers: &mut Servers, prefix: &str, pattern: &[u8], arguments: &Arguments) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    raw::scan(servers, pattern, |found| seen.add(prefix, &found, arguments.near))?;
    seen.busy.sort_by_key(|busy| busy.state.rank());
    Ok(seen)
}

/// How a key stands, by the rule that is used up most, and how much of that is used in percent; none if it is not near its limit.
pub fn tightest(stored: &StoredLimiter, near: u64) -> Option<(State, &Rule, &RuleDecision, u64)> {
    let used = |said: &RuleDecision| {
        100 - (u128::from(said.remaining.min(said.capacity)) * 100 / u128::from(said.capacity.max(1))) as u64
    };
    let (rule, said) =
        stored.rules.iter().max_by_key(|(_, said)| (said.retry_after.unwrap_or(u64::MAX), used(said)))?;
    let percent = used(said);
    let state = match (stored.block_left, said.allowed) {
        (0, true) if percent >= near => State::Near(percent),
        (0, true) => return None,
        (0, false) => State::Denied(said.retry_after.unwrap_or(u64::MAX)),
        (left, _) => State::Blocked(left),
    };
    Some((state, rule, said, percent))
}

impl Seen {
    fn add(&mut self, prefix: &str, found: &Found, near: u64) {
        let name = KeyName::parse(prefix, &found.key);
        let Some(name) = name.filter(|name| name.kind == KeyKind::Limiter && name.beside.is_empty()) else { return };
        self.looked_at += 1;
        self.without_ttl += u64::from(found.ttl.is_none());
        let Some(stored) = found.value.as_ref().and_then(|value| StoredLimiter::read(value, found.now)) else {
            self.damaged += 1;
            return;
        };
        let Some((state, rule, said, _)) = tightest(&stored, near) else { return };
        let (remaining, capacity) = (said.remaining, said.capacity);
        self.busy.push(Busy { name, state, rule: rule.to_string(), remaining, capacity });
    }

    fn denied(&self) -> u64 {
        self.busy.iter().filter(|busy| !matches!(busy.state, State::Near(_))).count() as u64
    }

    fn text(&self, most: usize) -> String {
        let denied = self.denied();
        let (near, looked_at) = (self.busy.len() as u64 - denied, count(self.looked_at, "key"));
        let mut said = format!("{looked_at} of limiters: {denied} denied now, {near} near the limit\n");
        if self.damaged + self.without_ttl > 0 {
            said += &format!("! {} damaged, {} without TTL: see quotalock doctor\n", self.damaged, self.without_ttl);
        }
        let mut rows = vec![["LIMITER", "KEY", "STATE", "NEXT IN", "LEFT", "RULE"].map(String::from).to_vec()];
        for Busy { name, state, rule, remaining, capacity } in self.busy.iter().take(most) {
            let key = name.key.as_deref().map(shown).unwrap_or_default();
            let wait = if state.wait() == 0 { "-".into() } else { span(state.wait()) };
            rows.push(vec![
                shown(&name.name),
                key,
                state.word().into(),
                wait,
                format!("{remaining} of {capacity}"),
                rule.clone(),
            ]);
        }
        if rows.len() > 1 {
            said += &table(&rows);
        }
        match self.busy.len().saturating_sub(most) {
            0 => said,
            more => said + &format!("and {more} more\n"),
        }
    }

    fn json(&self, most: usize) -> Value {
        let busy = |Busy { name, state, rule, remaining, capacity }: &Busy| {
            json!({
                "limiter": text(&name.name), "scope": name.scope.as_deref().map(text), "key": name.key.as_deref().map(text),
                "state": state.word(), "next_in_ms": millis(state.wait()), "remaining": remaining, "limit": capacity, "rule": rule,
            })
        };
        let keys: Vec<Value> = self.busy.iter().take(most).map(busy).collect();
        json!({
            "looked_at": self.looked_at, "denied": self.denied(), "busy": self.busy.len(), "damaged": self.damaged,
            "without_ttl": self.without_ttl, "keys": keys,
        })
    }
}
