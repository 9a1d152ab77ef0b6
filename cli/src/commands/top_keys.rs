//! What `top` sees at keys: which are at their limit, or near it. It is what each key would answer now.

use quotalock::stored::{KeyKind, KeyName, StoredLimiter, newer_format};
use quotalock::{Rule, RuleDecision};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::table;
use crate::printable::shown;
use crate::raw::{self, ScannedKey};
use crate::server::Servers;
use crate::words::{count, millis, span, text};

/// A key that is at its limit, or near it.
struct BusyKey {
    name: KeyName,
    state: KeyStanding,
    rule: String,
    remaining: u64,
    capacity: u64,
}

/// How a key stands. In the order of the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyStanding {
    /// For so many microseconds.
    Blocked(u64),
    /// For so many microseconds.
    Denied(u64),
    /// How much of the limit is used, in percent.
    Near(u64),
}

impl KeyStanding {
    fn word(self) -> &'static str {
        match self {
            KeyStanding::Blocked(_) => "blocked",
            KeyStanding::Denied(_) => "at limit",
            KeyStanding::Near(_) => "near",
        }
    }

    fn wait(self) -> u64 {
        match self {
            KeyStanding::Blocked(wait) | KeyStanding::Denied(wait) => wait,
            KeyStanding::Near(_) => 0,
        }
    }

    /// Blocked ones first, then those that are denied, each by how long yet; then the nearest.
    pub fn rank(self) -> (u8, u64) {
        match self {
            KeyStanding::Blocked(wait) => (0, u64::MAX - wait),
            KeyStanding::Denied(wait) => (1, u64::MAX - wait),
            KeyStanding::Near(used) => (2, u64::MAX - used),
        }
    }
}

/// What a look found.
#[derive(Default)]
pub struct TopKeysView {
    busy: Vec<BusyKey>,
    looked_at: u64,
    damaged: u64,
    without_ttl: u64,
}

/// Looks at all keys of a pattern, for those that are near their limit from so many percent on.
///
/// # Errors
/// If a server does not answer.
pub fn look(servers: &mut Servers, prefix: &str, pattern: &[u8], near: u64) -> Result<TopKeysView, Failure> {
    let mut seen = TopKeysView::default();
    raw::scan(servers, pattern, |found| seen.add(prefix, &found, near))?;
    seen.busy.sort_by_key(|busy| busy.state.rank());
    Ok(seen)
}

/// How a key stands, by the rule that is used up most, and how much of that is used in percent; none if it is not near its limit.
pub fn tightest(stored: &StoredLimiter, near: u64) -> Option<(KeyStanding, &Rule, &RuleDecision, u64)> {
    let used = |said: &RuleDecision| {
        100 - (u128::from(said.remaining.min(said.capacity)) * 100 / u128::from(said.capacity.max(1))) as u64
    };
    let (rule, said) =
        stored.rules.iter().max_by_key(|(_, said)| (said.retry_after.unwrap_or(u64::MAX), used(said)))?;
    let percent = used(said);
    let state = match (stored.block_left, said.allowed) {
        (0, true) if percent >= near => KeyStanding::Near(percent),
        (0, true) => return None,
        (0, false) => KeyStanding::Denied(said.retry_after.unwrap_or(u64::MAX)),
        (left, _) => KeyStanding::Blocked(left),
    };
    Some((state, rule, said, percent))
}

impl TopKeysView {
    fn add(&mut self, prefix: &str, found: &ScannedKey, near: u64) {
        let name = KeyName::parse(prefix, &found.key);
        let Some(name) = name.filter(|name| name.kind == KeyKind::Limiter && name.beside.is_empty()) else { return };
        self.looked_at += 1;
        self.without_ttl += u64::from(found.ttl.is_none());
        let Some(stored) = found.value.as_ref().and_then(|value| StoredLimiter::read(value, found.now)) else {
            let is_newer = found.value.as_deref().is_some_and(|value| newer_format(value).is_some());
            self.damaged += u64::from(!is_newer);
            return;
        };
        let Some((state, rule, said, _)) = tightest(&stored, near) else { return };
        let (remaining, capacity) = (said.remaining, said.capacity);
        self.busy.push(BusyKey { name, state, rule: rule.to_string(), remaining, capacity });
    }

    /// Whether `doctor` has something to say.
    pub fn is_fine(&self) -> bool {
        self.damaged + self.without_ttl == 0
    }

    fn denied(&self) -> u64 {
        self.busy.iter().filter(|busy| !matches!(busy.state, KeyStanding::Near(_))).count() as u64
    }

    /// In words; so many keys.
    pub fn text(&self, most: usize) -> String {
        let denied = self.denied();
        let (near, looked_at) = (self.busy.len() as u64 - denied, count(self.looked_at, "key"));
        let mut said = format!("{looked_at} of limiters: {denied} denied now, {near} near the limit\n");
        if self.damaged + self.without_ttl > 0 {
            said += &format!("! {} damaged, {} without TTL: see quotalock doctor\n", self.damaged, self.without_ttl);
        }
        let mut rows = vec![["LIMITER", "KEY", "STATE", "NEXT IN", "LEFT", "RULE"].map(String::from).to_vec()];
        for BusyKey { name, state, rule, remaining, capacity } in self.busy.iter().take(most) {
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

    /// For scripts.
    pub fn json(&self, most: usize) -> Value {
        let busy = |BusyKey { name, state, rule, remaining, capacity }: &BusyKey| {
            json!({
                "limiter": text(&name.name), "scope": name.scope.as_deref().map(text), "key": name.key.as_deref().map(text),
                "state": state.word(), "next_in_ms": millis(state.wait()), "remaining": remaining, "limit": capacity, "rule": rule,
            })
        };
        let keys: Vec<Value> = self.busy.iter().take(most).map(busy).collect();
        json!({
            "from": "keys", "looked_at": self.looked_at, "denied": self.denied(), "busy": self.busy.len(), "damaged": self.damaged,
            "without_ttl": self.without_ttl, "keys": keys,
        })
    }
}
