//! What stored values say, in words and for scripts.

use quotalock::stored::{
    ENTRY_HEADER, EntryKind, KeyKind, KeyName, StoredEntry, StoredLimiter, StoredLock, newer_format,
};
use quotalock::{Holder, StockPage, StockPhase, StockStatus, Unsettled};
use serde_json::{Value, json};

use super::limit::{rule_in_json, rule_in_words};
use crate::printable::shown;
use crate::raw::Raw;
use crate::words::{count, millis, span, text};

/// What is told of a key.
pub struct KeyDescription {
    /// The state in a few words.
    pub state: String,
    /// More of it, a line each.
    pub lines: Vec<String>,
    /// The same for scripts.
    pub json: Value,
    /// What is wrong with it.
    pub findings: Vec<String>,
}

impl KeyDescription {
    /// Of which nothing is wrong yet.
    pub fn new(state: impl Into<String>, json: Value) -> KeyDescription {
        KeyDescription { state: state.into(), lines: Vec::new(), json, findings: Vec::new() }
    }

    /// Of a value that this version cannot read: a newer version wrote it, it is not ours, or it is not whole.
    fn unread(value: &[u8]) -> KeyDescription {
        if let Some(format) = newer_format(value) {
            let finding =
                "processes of this version fail with newer_version at this key, and change nothing: update them";
            return KeyDescription {
                findings: vec![finding.into()],
                ..KeyDescription::new(
                    format!("written by a newer version, in format {format}"),
                    json!({ "state": "newer_version", "format": format }),
                )
            };
        }
        let finding = "the value is not ours or damaged: it counts as none, and the next call that writes replaces it";
        KeyDescription {
            findings: vec![finding.into()],
            ..KeyDescription::new("damaged", json!({ "state": "damaged" }))
        }
    }

    /// Of a key of another Redis type than the one that calls need.
    pub fn wrong_type(name: &KeyName, raw: &Raw) -> KeyDescription {
        let needed = name.redis_type().unwrap_or("string");
        let finding = match name.kind {
            KeyKind::Reports => {
                format!("a {needed} belongs there: what processes report is lost until it is renamed or deleted")
            }
            _ => format!(
                "a {needed} belongs there: calls that need it fail with wrong_type until it is renamed or deleted"
            ),
        };
        let state = format!("a Redis {}", shown(raw.kind.as_bytes()));
        KeyDescription { findings: vec![finding], ..KeyDescription::new(state, json!({ "state": "wrong_type" })) }
    }

    fn ahead(&mut self, is_ahead: bool) {
        if is_ahead {
            let finding = "a time in it lies in the future, as after a clock that went back: the next call corrects it";
            self.findings.push(finding.into());
        }
    }

    /// The lines for people, below a title.
    pub fn text(&self, title: &str) -> String {
        let mut said = format!("{title}: {}\n", self.state);
        self.lines.iter().for_each(|line| said += &format!("  {line}\n"));
        self.findings.iter().for_each(|finding| said += &format!("  ! {finding}\n"));
        said
    }
}

/// What a key is called: `limiter checkout, key user:42`.
pub fn title(name: &KeyName) -> String {
    let kind = match name.kind {
        KeyKind::Limiter => "limiter",
        KeyKind::Request => "request to limiter",
        KeyKind::Lock => "lock",
        KeyKind::Semaphore => "semaphore",
        KeyKind::ReadWrite => "read-write lock",
        KeyKind::Stock => "stock",
        KeyKind::Cache => "cache",
        KeyKind::Once => "once",
        // There is one, without a name.
        KeyKind::Reports => return "reports of limiters".into(),
        _ => "key",
    };
    let scope = name.scope.as_ref().map_or(String::new(), |scope| format!(", scope {}", shown(scope)));
    let key = name.key.as_ref().map_or(String::new(), |key| format!(", key {}", shown(key)));
    let beside = if name.beside.is_empty() { String::new() } else { format!(" ({})", shown(&name.beside)) };
    format!("{kind} {}{scope}{key}{beside}", shown(&name.name))
}

/// What a limiter knows of a key.
pub fn limiter(raw: &Raw) -> KeyDescription {
    let Some(stored) = StoredLimiter::read(&raw.value, raw.now) else { return KeyDescription::unread(&raw.value) };
    let denies = stored.rules.iter().any(|(_, said)| !said.allowed);
    let (word, state) = match (stored.block_left, denies) {
        (0, false) => ("admits", "admits a call that costs 1".to_owned()),
        (0, true) => {
            let waits = stored.rules.iter().filter_map(|(_, said)| said.retry_after);
            ("denies", format!("denies a call that costs 1, next in {}", span(waits.max().unwrap_or(0))))
        }
        (left, _) => ("blocked", format!("blocked for {}", span(left))),
    };
    let holds: Vec<Value> = stored.holds.iter().map(|hold| {
        json!({ "amount": hold.amount, "left_ms": millis(hold.left), "unsettled": hold.unsettled.map(unsettled) })
    }).collect();
    let rules: Vec<Value> = stored.rules.iter().map(|(rule, said)| rule_in_json(rule, said)).collect();
    let mut told = KeyDescription::new(
        state,
        json!({
            "state": word, "blocked_ms": millis(stored.block_left), "rules": rules, "reservations": holds,
        }),
    );
    told.lines.extend(stored.rules.iter().map(|(rule, said)| rule_in_words(rule, said)));
    told.lines.extend(stored.holds.iter().map(|hold| match hold.unsettled {
        Some(then) => format!("a reservation holds {} for {}, then {}", hold.amount, span(hold.left), unsettled(then)),
        None => format!("a reservation was settled with {}", hold.amount),
    }));
    told.ahead(stored.is_ahead);
    told
}

fn unsettled(unsettled: Unsettled) -> &'static str {
    if unsettled == Unsettled::Returned { "returned" } else { "spent" }
}

/// Who holds a lock, and who waits for it.
pub fn lock(raw: &Raw) -> KeyDescription {
    let Some(stored) = StoredLock::read(&raw.value, raw.now) else { return KeyDescription::unread(&raw.value) };
    let waiters = stored.waiters.len() as u64;
    let waiting = if waiters == 0 { String::new() } else { format!(", {} waiting", count(waiters, "other")) };
    let (word, state) = match stored.holders.len() as u64 {
        0 => ("free", "free".to_owned()),
        holders => ("held", format!("held by {}", count(holders, "holder"))),
    };
    let holders: Vec<Value> = stored.holders.iter().map(|holder| holder_json(holder, raw.now)).collect();
    let waiting_json: Vec<Value> = stored.waiters.iter().map(|waiter| {
        json!({ "waited_ms": millis(waiter.waited), "permits": waiter.permits, "in_order": waiter.is_in_order })
    }).collect();
    let mut told = KeyDescription::new(
        state + &waiting,
        json!({
            "state": word, "last_token": stored.token, "holders": holders, "waiters": waiting_json,
        }),
    );
    for holder in &stored.holders {
        let permits = if holder.permits == 1 { String::new() } else { format!(", {} permits", holder.permits) };
        told.lines.push(format!(
            "{} has held it for {}, {} left{permits}, token {}",
            who(holder),
            span(raw.now.saturating_sub(holder.since)),
            span(holder.left),
            holder.token
        ));
    }
    for waiter in &stored.waiters {
        told.lines.push(format!("one has waited for {}", span(waiter.waited)));
    }
    if stored.holders.is_empty() {
        told.lines.push(format!("the last token was {}", stored.token));
    }
    told.ahead(stored.is_ahead);
    told
}

/// A holder in words.
pub fn who(holder: &Holder) -> String {
    if holder.pid == 0 {
        return "somebody who does not say who".into();
    }
    let label = if holder.label.is_empty() { String::new() } else { format!(" ({})", shown(holder.label.as_bytes())) };
    format!("process {} on {}{label}", holder.pid, shown(holder.host.as_bytes()))
}

/// A holder for scripts.
pub fn holder_json(holder: &Holder, now: u64) -> Value {
    json!({
        "host": holder.host, "pid": holder.pid, "label": holder.label, "token": holder.token, "permits": holder.permits,
        "age_ms": millis(now.saturating_sub(holder.since)), "left_ms": millis(holder.left),
    })
}

/// What a cache has for a key, or what a `once` knows of an id.
pub fn entry(raw: &Raw, kind: KeyKind) -> KeyDescription {
    let Some(stored) = StoredEntry::read(&raw.value, raw.length, raw.now) else {
        return KeyDescription::unread(&raw.value);
    };
    let is_once = kind == KeyKind::Once;
    let (age, served) = (span(stored.age), span(stored.served));
    let (word, state) = match stored.kind {
        EntryKind::Nothing if stored.lease > 0 && is_once => ("running", "somebody runs it for the first time".into()),
        EntryKind::Nothing if stored.lease > 0 => ("loading", "nothing yet, somebody loads it".into()),
        EntryKind::Nothing if is_once => ("open", "not done: the next caller is the first".to_owned()),
        EntryKind::Nothing => ("nothing", "nothing: the next caller loads it".into()),
        EntryKind::Error => ("failed", format!("failed {age} ago, remembered for {served}")),
        EntryKind::Value | EntryKind::Negative if is_once => {
            ("done", format!("done {age} ago, remembered for {served}"))
        }
        _ if stored.fresh > 0 => {
            ("fresh", format!("fresh for {}, loaded {age} ago, served for {served}", span(stored.fresh)))
        }
        _ => ("stale", format!("stale, loaded {age} ago, served for {served}")),
    };
    let error = (stored.kind == EntryKind::Error)
        .then(|| String::from_utf8_lossy(raw.value.get(ENTRY_HEADER..).unwrap_or_default()));
    let mut told = KeyDescription::new(
        state,
        json!({
            "state": word, "has_value": stored.kind == EntryKind::Value, "bytes": stored.size, "age_ms": millis(stored.age),
            "fresh_ms": millis(stored.fresh), "served_ms": millis(stored.served), "lease_ms": millis(stored.lease),
            "pause_ms": millis(stored.pause), "load_ms": millis(stored.load), "token": stored.token, "error": error,
        }),
    );
    match (stored.kind, &error) {
        (EntryKind::Value, _) => told.lines.push(format!("a value of {}", count(stored.size, "byte"))),
        (EntryKind::Negative, _) if is_once => told.lines.push("without a value".into()),
        (EntryKind::Negative, _) => told.lines.push("it is known that there is no value".into()),
        (_, Some(error)) => told.lines.push(format!("the error: {}", shown(error.as_bytes()))),
        _ => {}
    }
    if stored.lease > 0 {
        let who = if is_once { "who runs it" } else { "who loads it" };
        let last = if stored.load > 0 { format!("; the last load took {}", span(stored.load)) } else { String::new() };
        told.lines.push(format!("{who} has {} left, then another may{last}", span(stored.lease)));
    }
    if stored.pause > 0 {
        told.lines.push(format!("the last load failed: nobody tries for {}", span(stored.pause)));
    }
    told.ahead(stored.is_ahead);
    told
}

/// Where a sale stands.
pub fn stock(status: &StockStatus, page: &StockPage, now: u64) -> KeyDescription {
    let StockStatus { quantity, available, held, sold, buyers, per_buyer, ends, .. } = *status;
    let left = |time: u64| time.saturating_sub(now);
    let state = match (status.phase, ends) {
        (StockPhase::Open, Some(ends)) => format!("open, takes end in {}", span(left(ends))),
        (StockPhase::Open, None) => "open".into(),
        (StockPhase::Ended, Some(ends)) => format!("ended {} ago", span(now.saturating_sub(ends))),
        (StockPhase::Ended, None) => "ended".into(),
        _ => "not open: it was never opened, or is forgotten".into(),
    };
    let reservations: Vec<Value> = page
        .reservations
        .iter()
        .map(|one| json!({ "buyer": text(&one.buyer), "quantity": one.quantity, "left_ms": millis(left(one.until)) }))
        .collect();
    let mut told = KeyDescription::new(
        state,
        json!({
            "state": status.phase.as_str(), "quantity": quantity, "available": available, "held": held, "sold": sold,
            "buyers": buyers, "per_buyer": per_buyer, "ends_in_ms": ends.map(|ends| millis(left(ends))),
            "reservations": reservations, "more_reservations": page.next.is_some(),
        }),
    );
    if status.phase == StockPhase::NotOpen {
        return told;
    }
    let most = per_buyer.map_or(String::new(), |most| format!(", at most {most} each"));
    told.lines.push(format!("{available} of {quantity} available, {held} held, {sold} sold"));
    told.lines.push(format!("{} hold or have bought{most}", count(buyers, "buyer")));
    for one in &page.reservations {
        told.lines.push(format!("{} held for {}, {} left", one.quantity, shown(&one.buyer), span(left(one.until))));
    }
    if page.next.is_some() {
        told.lines.push("and more; --reservations 1000 lists more".into());
    }
    told
}
