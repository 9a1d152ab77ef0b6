//! Looking again at the keys that may be proven to be stuck.

use std::thread;
use std::time::{Duration, Instant};

use redis::{Cmd, Value, cmd};

use super::DoctorSettings;
use super::collect::Candidate;
use super::health::now_micros;
use super::interrupt::stopped;
use super::proof::ValueView;
use crate::pages::READ;
use crate::server::{Node, Refusal, RefusalKind, Servers};

/// How many keys are looked at in one trip.
const BATCH: usize = 250;
/// The looks are so far apart, and closer if they are to end sooner.
const APART: Duration = Duration::from_millis(500);
/// However long it watches, it hears Ctrl-C within so long.
const LISTENS_EVERY: Duration = Duration::from_millis(50);

/// Looks at the candidates again and again, until each is decided or the time to watch is over. Keys that are gone, or have a TTL by
/// then, are no candidates any more. A server that does not answer leaves its keys unproven.
pub fn watch(servers: &mut Servers, candidates: &mut Vec<Candidate>, settings: &DoctorSettings) {
    let (began, lasts) = (Instant::now(), Duration::from_millis(settings.watch_ms));
    let apart = APART.min(lasts / 10).max(Duration::from_millis(10));
    while !lasts.is_zero() && began.elapsed() < lasts && candidates.iter().any(|one| !one.track.is_decided()) {
        let next = Instant::now() + apart;
        while let Some(left) = next.checked_duration_since(Instant::now()).filter(|_| !stopped()) {
            thread::sleep(LISTENS_EVERY.min(left));
        }
        if stopped() {
            return;
        }
        let mut missing = Vec::new();
        for (shard, servers) in servers.shards.iter_mut().enumerate() {
            let Some(node) = servers.reader() else { continue };
            let wanted: Vec<usize> = (0..candidates.len())
                .filter(|at| candidates[*at].shard == shard && !candidates[*at].track.is_decided())
                .collect();
            for batch in wanted.chunks(BATCH) {
                let keys: Vec<&Candidate> = batch.iter().map(|at| &candidates[*at]).collect();
                let begun = Instant::now();
                let Ok(seen) = look(node, &keys) else { break };
                for (at, seen) in batch.iter().zip(seen) {
                    match seen {
                        Look::Is(seen) => candidates[*at].track.look(seen, now_micros() / 1_000),
                        Look::Ends => missing.push(*at),
                        Look::Refused => {}
                    }
                }
                // No faster than the scan.
                let due = Duration::from_secs_f64(batch.len() as f64 / settings.rate as f64);
                thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        }
        missing.sort_unstable();
        missing.into_iter().rev().for_each(|at| drop(candidates.swap_remove(at)));
    }
}

/// What a look at a key sees.
pub enum Look {
    /// It has no TTL, and this value.
    Is(ValueView),
    /// It is gone, has a TTL, or is of another type.
    Ends,
    /// The server does not let us look.
    Refused,
}

/// Looks at some keys of a server.
///
/// # Errors
/// If it does not answer.
pub fn look(node: &mut Node, keys: &[&Candidate]) -> Result<Vec<Look>, Refusal> {
    let asked: Vec<Cmd> = keys.iter().flat_map(|key| [cmd("PTTL").arg(&key.name).to_owned(), value_of(key)]).collect();
    let answers = node.ask_all(&asked)?;
    let look = |(key, answers): (&&Candidate, &[Result<Value, Refusal>])| match answers {
        [Ok(Value::Int(-1)), answer] => match (&key.track.last, answer) {
            (ValueView::Marked(_), Ok(Value::BulkString(score))) => Look::Is(ValueView::Marked(score_of(score))),
            (ValueView::Marked(_), Ok(Value::Double(score))) => Look::Is(ValueView::Marked(time_of(*score))),
            (ValueView::Other(_, first), Ok(Value::SimpleString(kind))) => {
                Look::Is(ValueView::Other(kind.clone().into_bytes(), first.clone()))
            }
            (ValueView::Text(_), Ok(Value::BulkString(value))) => Look::Is(ValueView::Text(value.clone())),
            (_, Err(refusal)) if refusal.why != RefusalKind::Other => Look::Refused,
            // Another type by now.
            _ => Look::Ends,
        },
        [Ok(_), _] => Look::Ends,
        _ => Look::Refused,
    };
    Ok(keys.iter().zip(answers.chunks(2)).map(look).collect())
}

fn value_of(key: &Candidate) -> Cmd {
    match key.track.last {
        ValueView::Text(_) => cmd("GETRANGE").arg(&key.name).arg(0).arg(READ - 1).to_owned(),
        ValueView::Marked(_) => cmd("ZSCORE").arg(&key.name).arg("__write__").to_owned(),
        ValueView::Other(..) => cmd("TYPE").arg(&key.name).to_owned(),
    }
}

/// The milliseconds that a score states; none if it states seconds, or nothing.
pub fn score_of(score: &[u8]) -> Option<u64> {
    std::str::from_utf8(score).ok().and_then(|text| text.parse::<f64>().ok()).and_then(time_of)
}

fn time_of(score: f64) -> Option<u64> {
    (score > 1e12).then_some(score as u64)
}
