//! `--fix` and `--undo`: TTLs given, and taken back.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use redis::{Cmd, Value, cmd};
use serde::Serialize;

use super::DoctorSettings;
use super::collect::Candidate;
use super::families::{FIXABLE, Family};
use super::health::now_micros;
use super::interrupt::{asking, stopped};
use super::journal::{self, Journal, JournalEntry};
use super::proof::Proof;
use super::watch::{Look, look};
use crate::exit::{Exit, Failure};
use crate::numbers;
use crate::server::{Node, Refusal, RefusalKind, Servers};
use crate::words::span;

/// How many keys are noted, then changed, at once.
const BATCH: usize = 100;
/// A larger value, as `DUMP` writes it, is not noted, so its key is not changed.
const MOST_BYTES: usize = 1 << 20;

/// What became of keys that were to be changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FixOutcome {
    /// Those that have a TTL now; of an undo, those that have none any more, and those that were put back.
    pub done: u64,
    /// Of an undo: those of the former that had ended, and were put back with their value.
    pub restored: u64,
    /// Of an undo: those that are as they were noted, and were so before.
    pub unchanged: u64,
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

/// The keys that may be changed: proven to be stuck, and of a family that was named, or that the person at the terminal confirms.
pub fn confirmed(candidates: Vec<Candidate>, named: &[String], is_yes: bool) -> Vec<Candidate> {
    let mut proven: Vec<Candidate> = candidates.into_iter().filter(|key| key.track.is_proven()).collect();
    let wanted = |family: &&&'static Family| {
        let ttls = || proven.iter().filter(|key| key.known.family == **family).map(|key| key.ttl.0);
        let (count, longest) = (ttls().count(), ttls().max().unwrap_or(0));
        let is_named = named.iter().any(|name| name == family.id);
        count > 0 && !stopped() && (is_named || named.is_empty() && (is_yes || is_wanted(family, count, longest)))
    };
    let families: Vec<&&Family> = FIXABLE.iter().filter(wanted).collect();
    proven.retain(|key| families.iter().any(|family| key.known.family == **family));
    proven
}

/// Whether the person at the terminal wants it for this family.
fn is_wanted(family: &Family, keys: usize, longest_ms: u64) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let ttl = span(longest_ms.saturating_mul(1_000));
    let keys = numbers::counted(keys as u64, "key");
    let mut error = anstream::stderr();
    let mut answer = String::new();
    // Before the question: Ctrl-C is an answer as soon as somebody can read it.
    asking(true);
    // Without a terminal that shows the question, nobody says yes.
    let asked = write!(error, "{}: give {keys} of {} a TTL of {ttl}? [y/N] ", family.id, family.title)
        .and_then(|()| error.flush());
    let read = std::io::stdin().read_line(&mut answer);
    asking(false);
    asked.is_ok() && read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Gives keys their TTLs.
///
/// # Errors
/// If the undo file cannot be written: what was changed until then stands in it.
pub fn run(servers: &mut Servers, stuck: &[Candidate], settings: &DoctorSettings) -> Result<FixOutcome, Failure> {
    let mut outcome = FixOutcome::default();
    if stuck.is_empty() {
        return Ok(outcome);
    }
    let mut journal = Journal::create(&settings.undo_file)?;
    outcome.undo_file = Some(journal.path().to_path_buf());
    for (number, shard) in servers.shards.iter_mut().enumerate() {
        let own: Vec<&Candidate> = stuck.iter().filter(|key| key.shard == number).collect();
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
    batch: &[&Candidate],
    journal: &mut Journal,
    outcome: &mut FixOutcome,
) -> Result<Result<(), Refusal>, Failure> {
    let now =
        node.ask::<(u64, u64)>(&cmd("TIME")).map_or_else(|_| now_micros() / 1_000, |(s, us)| s * 1_000 + us / 1_000);
    let dumps: Vec<Cmd> = batch.iter().map(|key| cmd("DUMP").arg(&key.name).to_owned()).collect();
    let (seen, dumps) = match look(node, batch).and_then(|seen| Ok((seen, node.ask_all(&dumps)?))) {
        Ok(answers) => answers,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let server = node.place.to_string();
    let (mut entries, mut asked) = (Vec::new(), Vec::new());
    for ((key, seen), dump) in batch.iter().zip(seen).zip(dumps) {
        let (seen, dump) = match (seen, dump) {
            (Look::Is(seen), Ok(Value::BulkString(dump))) if key.track.is_same_or_moved(&seen) => (seen, dump),
            (Look::Refused, _) => {
                outcome.refuse("its value cannot be read".to_owned());
                continue;
            }
            (_, Err(refusal)) => {
                outcome.refuse(refusal.message);
                continue;
            }
            _ => {
                outcome.changed_meanwhile += 1;
                continue;
            }
        };
        if dump.len() > MOST_BYTES {
            outcome.refuse("its value is larger than 1 MiB, which is not noted".to_owned());
            continue;
        }
        let entry = JournalEntry::new(&key.name, &dump, now + key.ttl.0, key.known.family.id, &server);
        let (how, noted) = match (key.track.proof, seen.number()) {
            (Proof::Falls, Some(number)) => ("below", number.to_string().into_bytes()),
            (Proof::Counts, Some(number)) if number < 0 => ("below", number.to_string().into_bytes()),
            (Proof::Refuses(_) | Proof::Counts, Some(number)) => ("above", number.to_string().into_bytes()),
            _ => ("same", dump),
        };
        let mut ask = cmd("EVAL");
        ask.arg(include_str!("fix.lua")).arg(1).arg(&key.name).arg(entry.expires_at_ms).arg(how).arg(noted);
        entries.push(entry);
        asked.push(ask);
    }
    journal.add(&entries)?;
    let answers = match node.ask_all(&asked) {
        Ok(answers) => answers,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for answer in answers {
        count(answer, outcome);
    }
    Ok(Ok(()))
}

impl FixOutcome {
    fn refuse(&mut self, why: String) {
        self.refused += 1;
        self.why = Some(why);
    }
}

fn count(answer: Result<Value, Refusal>, outcome: &mut FixOutcome) {
    match answer {
        Ok(Value::Int(1)) => outcome.done += 1,
        Ok(Value::Int(2)) => (outcome.done, outcome.restored) = (outcome.done + 1, outcome.restored + 1),
        Ok(Value::Int(3)) => outcome.unchanged += 1,
        Ok(_) => outcome.changed_meanwhile += 1,
        Err(refusal) => outcome.refuse(refusal.message),
    }
}

/// Takes the TTLs back that a file tells.
///
/// # Errors
/// If the file cannot be read.
pub fn undo(servers: &mut Servers, path: &Path) -> Result<FixOutcome, Failure> {
    let mut pending = journal::read(path)?;
    let mut outcome = FixOutcome { undo_file: Some(path.to_path_buf()), ..FixOutcome::default() };
    for node in servers.primaries() {
        let mut elsewhere = Vec::new();
        for batch in pending.chunks(BATCH) {
            if stopped() {
                outcome.stopped = true;
                return Ok(outcome);
            }
            let ask = |entry: &JournalEntry| {
                let name = entry.name().unwrap_or_default();
                let value = entry.value().unwrap_or_default();
                cmd("EVAL")
                    .arg(include_str!("undo.lua"))
                    .arg(1)
                    .arg(name)
                    .arg(entry.expires_at_ms)
                    .arg(value)
                    .to_owned()
            };
            match node.ask_all(&batch.iter().map(ask).collect::<Vec<Cmd>>()) {
                Ok(answers) => {
                    for (entry, answer) in batch.iter().zip(answers) {
                        match answer {
                            Err(refusal) if refusal.why == RefusalKind::Moved => elsewhere.push(entry.clone()),
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
pub fn words(outcome: &FixOutcome, what: &str) -> String {
    let mut text = format!("{what}: {} keys", outcome.done);
    if outcome.restored > 0 {
        text += &format!(", {} of which had ended and were put back", outcome.restored);
    }
    if outcome.unchanged > 0 {
        text += &format!("; as they were: {}", outcome.unchanged);
    }
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
    let message = "--fix without a terminal changes only families that you name, such as --fix set-nx-decr, or all that are proven with --yes: \
         run it without --fix first, and read what it would do";
    Failure { exit: Exit::Usage, code: "needs_yes", message: message.to_owned() }
}
