//! `--fix` and `--undo`: TTLs given, and taken back.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use redis::{Cmd, Value, cmd};
use serde::Serialize;

use super::Settings;
use super::collect::Stuck;
use super::families::Seen;
use super::health::now_micros;
use super::interrupt::{asking, stopped};
use super::journal::{self, Entry, Journal};
use super::words::integer;
use crate::exit::{Exit, Failure};
use crate::server::{Node, Refusal, Servers, Why};

/// How many keys are noted, then changed, at once.
const BATCH: usize = 100;

/// What became of keys that were to be changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Those that have a TTL now; of an undo, those that have none any more.
    pub done: u64,
    /// Those that are gone, or not what was seen.
    pub changed_meanwhile: u64,
    /// Those that the server did not let us change, or that are on a server that is not there.
    pub refused: u64,
    /// The undo file.
    pub undo_file: Option<PathBuf>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Why a server refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether the person at the terminal wants it.
pub fn is_wanted(keys: usize) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let mut error = anstream::stderr();
    let mut answer = String::new();
    // Before the question: Ctrl-C is an answer as soon as somebody can read it.
    asking(true);
    // Without a terminal that shows the question, nobody says yes.
    let asked = write!(error, "Give {keys} keys these TTLs? [y/N] ").and_then(|()| error.flush());
    let read = std::io::stdin().read_line(&mut answer);
    asking(false);
    asked.is_ok() && read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Gives keys their TTLs.
///
/// # Errors
/// If the undo file cannot be written: what was changed until then stands in it.
pub fn run(servers: &mut Servers, stuck: &[Stuck], settings: &Settings) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    if stuck.is_empty() {
        return Ok(outcome);
    }
    let mut journal = Journal::create(&settings.undo_file)?;
    outcome.undo_file = Some(journal.path().to_path_buf());
    for (number, shard) in servers.shards.iter_mut().enumerate() {
        let own: Vec<&Stuck> = stuck.iter().filter(|key| key.shard == number).collect();
        let Some(primary) = shard.primary.as_mut() else {
            outcome.refused += own.len() as u64;
            continue;
        };
        for batch in own.chunks(BATCH) {
            if stopped() {
                outcome.stopped = true;
                return Ok(outcome);
            }
            if let Err(refusal) = change(primary, batch, &mut journal, &mut outcome)? {
                outcome.refused += batch.len() as u64;
                outcome.why = Some(refusal.message);
                break;
            }
        }
    }
    Ok(outcome)
}

/// Notes some keys, then changes them.
fn change(
    node: &mut Node,
    batch: &[&Stuck],
    journal: &mut Journal,
    outcome: &mut Outcome,
) -> Result<Result<(), Refusal>, Failure> {
    let now =
        node.ask::<(u64, u64)>(&cmd("TIME")).map_or_else(|_| now_micros() / 1_000, |(s, us)| s * 1_000 + us / 1_000);
    let types: Vec<Cmd> = batch.iter().map(|key| cmd("TYPE").arg(&key.name).to_owned()).collect();
    let types = match node.ask_all(&types) {
        Ok(types) => types,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let server = node.place.to_string();
    let note = |key: &&Stuck| Entry::new(&key.name, now + key.ttl_ms, key.family.id, &server);
    let entries: Vec<Entry> = batch.iter().map(note).collect();
    journal.add(&entries)?;
    let asked = batch.iter().zip(&entries).zip(types).map(|((key, entry), kind)| {
        let (how, seen) = match (&key.seen, kind) {
            (Seen::Text(value), _) if integer(value).is_some() => ("number", Vec::new()),
            (Seen::Text(value), _) => ("same", value.clone()),
            (_, Ok(Value::SimpleString(kind))) => ("type", kind.into_bytes()),
            (_, Ok(Value::BulkString(kind))) => ("type", kind),
            _ => ("type", b"zset".to_vec()),
        };
        let mut ask = cmd("EVAL");
        ask.arg(include_str!("fix.lua")).arg(1).arg(&key.name).arg(entry.expires_at_ms).arg(how).arg(seen);
        ask
    });
    let answers = match node.ask_all(&asked.collect::<Vec<Cmd>>()) {
        Ok(answers) => answers,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for answer in answers {
        count(answer, outcome);
    }
    Ok(Ok(()))
}

fn count(answer: Result<Value, Refusal>, outcome: &mut Outcome) {
    match answer {
        Ok(Value::Int(1)) => outcome.done += 1,
        Ok(_) => outcome.changed_meanwhile += 1,
        Err(refusal) => {
            outcome.refused += 1;
            outcome.why = Some(refusal.message);
        }
    }
}

/// Takes the TTLs back that a file tells.
///
/// # Errors
/// If the file cannot be read.
pub fn undo(servers: &mut Servers, path: &Path) -> Result<Outcome, Failure> {
    let mut pending = journal::read(path)?;
    let mut outcome = Outcome { undo_file: Some(path.to_path_buf()), ..Outcome::default() };
    for node in servers.primaries() {
        let mut elsewhere = Vec::new();
        for batch in pending.chunks(BATCH) {
            if stopped() {
                outcome.stopped = true;
                return Ok(outcome);
            }
            let ask = |entry: &Entry| {
                let name = entry.name().unwrap_or_default();
                cmd("EVAL").arg(include_str!("undo.lua")).arg(1).arg(name).arg(entry.expires_at_ms).to_owned()
            };
            match node.ask_all(&batch.iter().map(ask).collect::<Vec<Cmd>>()) {
                Ok(answers) => {
                    for (entry, answer) in batch.iter().zip(answers) {
                        match answer {
                            Err(refusal) if refusal.why == Why::Moved => elsewhere.push(entry.clone()),
                            answer => count(answer, &mut outcome),
                        }
                    }
                }
                Err(refusal) => {
                    outcome.why = Some(refusal.message);
                    elsewhere.extend_from_slice(batch);
                }
            }
        }
        pending = elsewhere;
    }
    outcome.refused += pending.len() as u64;
    Ok(outcome)
}

/// What was done.
pub fn words(outcome: &Outcome, what: &str) -> String {
    let mut text = format!("{what}: {} keys", outcome.done);
    if outcome.changed_meanwhile > 0 {
        text += &format!("; left alone, since they are gone or not what they were: {}", outcome.changed_meanwhile);
    }
    if outcome.refused > 0 {
        let why = outcome.why.as_deref().unwrap_or("their server is not there");
        text += &format!("; refused: {} ({why})", outcome.refused);
    }
    if outcome.stopped {
        text += "; stopped before the end";
    }
    text + "\n"
}

/// Why nothing may be changed without a terminal.
pub fn needs_yes() -> Failure {
    let message =
        "--fix without a terminal changes keys only with --yes: run it without --fix first, and read what it would do";
    Failure { exit: Exit::Usage, code: "needs_yes", message: message.to_owned() }
}
