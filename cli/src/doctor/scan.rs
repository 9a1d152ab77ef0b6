//! Looking at every key of a server, a page at a time.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use redis::{Cmd, Value, cmd};

use super::collect::Collector;
use super::families::Seen;
use super::interrupt::stopped;
use super::{Settings, own};
use crate::server::{Node, Refusal, Why};

/// About how many keys a page has: for so long the server does nothing else.
const PAGE: usize = 500;
/// Of a server with no more keys, each of our values is read; of others one in so many.
const FEW: u64 = 100_000;
const ONE_IN: u64 = 16;
/// However slow it is, it hears Ctrl-C within so long.
const LISTENS_EVERY: Duration = Duration::from_millis(50);

/// What a scan did not see.
#[derive(Default)]
pub struct Unseen {
    /// How many keys were looked at.
    pub seen: AtomicU64,
    /// How many may not be read.
    pub refused: AtomicU64,
    /// Why: commands or keys without a right.
    pub rights: Mutex<BTreeSet<String>>,
}

/// How pages are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// By a script that cannot write.
    ReadOnlyScript,
    /// By a script, where no other kind is known.
    Script,
    /// By commands.
    Commands,
}

/// One answered page.
struct Page {
    cursor: Vec<u8>,
    keys: u64,
    found: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>,
}

/// A scan of one server.
pub struct Scan<'a, 's> {
    /// What was asked for.
    pub settings: &'a Settings,
    /// Which of the shards it is.
    pub shard: usize,
    /// What takes the findings.
    pub collector: &'a Mutex<Collector<'s>>,
    /// What tells how far it is.
    pub bar: &'a ProgressBar,
    /// What was not seen.
    pub unseen: &'a Unseen,
}

impl Scan<'_, '_> {
    /// Looks at all keys of a server, or at as many as were asked for.
    ///
    /// # Errors
    /// If the server goes away, or does not let us look.
    pub fn run(&self, node: &mut Node) -> Result<(), Refusal> {
        let size: u64 = node.ask(&cmd("DBSIZE")).unwrap_or(u64::MAX);
        let stride = if size <= FEW { 1 } else { ONE_IN };
        let (mut how, mut cursor, began, mut looked) = (How::ReadOnlyScript, b"0".to_vec(), Instant::now(), 0u64);
        loop {
            let page = match self.page(node, how, &cursor, stride) {
                Ok(page) => page,
                Err(refusal) if refusal.why != Why::Away && how != How::Commands => {
                    // Where scripts may not run, commands may.
                    if how == How::Script && refusal.why == Why::Right {
                        self.lacks("EVAL");
                    }
                    how = if how == How::ReadOnlyScript { How::Script } else { How::Commands };
                    continue;
                }
                Err(refusal) => return Err(refusal),
            };
            looked += page.keys;
            let total = self.unseen.seen.fetch_add(page.keys, Ordering::Relaxed) + page.keys;
            self.bar.inc(page.keys);
            let mut collector = self.collector.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for (name, kind, value) in page.found {
                match kind.as_slice() {
                    b"v" => collector.own(&name, &value),
                    b"w" => collector.immortal(self.shard, name, Seen::Marked),
                    b"s" => collector.immortal(self.shard, name, Seen::Text(value)),
                    _ => collector.immortal(self.shard, name, Seen::Other),
                }
            }
            drop(collector);
            cursor = page.cursor;
            let is_enough = self.settings.max_keys.is_some_and(|most| total >= most);
            if cursor == b"0" || is_enough || stopped() {
                return Ok(());
            }
            let due = Duration::from_secs_f64(looked as f64 / self.settings.rate as f64);
            while began.elapsed() < due && !stopped() {
                thread::sleep(LISTENS_EVERY.min(due.saturating_sub(began.elapsed())));
            }
        }
    }

    fn lacks(&self, what: &str) {
        let mut rights = self.unseen.rights.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        rights.insert(what.to_owned());
    }

    fn page(&self, node: &mut Node, how: How, cursor: &[u8], stride: u64) -> Result<Page, Refusal> {
        let script = match how {
            How::Commands => return self.by_commands(node, cursor, stride),
            How::ReadOnlyScript => "EVAL_RO",
            How::Script => "EVAL",
        };
        let mut ask = cmd(script);
        ask.arg(include_str!("page.lua")).arg(0).arg(cursor).arg(self.page_size());
        ask.arg(format!("{}:", self.settings.prefix)).arg(stride);
        let answer: (Vec<u8>, u64, u64, String, Vec<Vec<u8>>) = node.ask(&ask)?;
        let (cursor, keys, refused, why, found) = answer;
        if refused > 0 {
            self.refused(refused, &why);
        }
        let mut found = found.into_iter();
        let triples = std::iter::from_fn(|| Some((found.next()?, found.next()?, found.next()?)));
        Ok(Page { cursor, keys, found: triples.collect() })
    }

    /// The same by plain commands, in one trip for each kind.
    fn by_commands(&self, node: &mut Node, cursor: &[u8], stride: u64) -> Result<Page, Refusal> {
        let asked = node.ask(cmd("SCAN").arg(cursor).arg("COUNT").arg(self.page_size()));
        let (cursor, keys): (Vec<u8>, Vec<Vec<u8>>) = asked?;
        let count = keys.len() as u64;
        let prefix = format!("{}:", self.settings.prefix);
        let ask = |name: &str, key: &[u8]| cmd(name).arg(key).to_owned();
        let ttls = node.ask_all(&keys.iter().map(|key| ask("PTTL", key)).collect::<Vec<Cmd>>())?;
        let mut wanted = Vec::new();
        for (at, (key, ttl)) in keys.into_iter().zip(ttls).enumerate() {
            let is_own = (at as u64).is_multiple_of(stride) && key.starts_with(prefix.as_bytes());
            match ttl {
                Ok(Value::Int(-1)) => wanted.push((key, true)),
                Ok(Value::Int(ttl)) if ttl >= 0 && is_own => wanted.push((key, false)),
                Err(refusal) if refusal.why == Why::Right => self.refused(1, &refusal.message),
                _ => {}
            }
        }
        let read = |(key, _): &(Vec<u8>, bool)| cmd("GETRANGE").arg(key).arg(0).arg(own::READ - 1).to_owned();
        let values = node.ask_all(&wanted.iter().map(read).collect::<Vec<Cmd>>())?;
        let mark = |(key, _): &(Vec<u8>, bool)| cmd("ZSCORE").arg(key).arg("__write__").to_owned();
        let others: Vec<Cmd> =
            wanted.iter().zip(&values).filter(|(_, value)| value.is_err()).map(|(one, _)| mark(one)).collect();
        let mut marks = node.ask_all(&others)?.into_iter();
        let mut found = Vec::new();
        for ((key, is_immortal), value) in wanted.into_iter().zip(values) {
            let (kind, value) = match value {
                Ok(Value::BulkString(value)) if is_immortal => ("s", value),
                Ok(Value::BulkString(value)) => ("v", value),
                Err(refusal) => {
                    let is_marked = matches!(marks.next(), Some(Ok(Value::BulkString(_) | Value::Double(_))));
                    if refusal.why == Why::Right {
                        self.refused(1, &refusal.message);
                        continue;
                    }
                    (if is_marked { "w" } else { "o" }, Vec::new())
                }
                Ok(_) => continue,
            };
            if is_immortal || kind == "v" {
                found.push((key, kind.as_bytes().to_vec(), value));
            }
        }
        Ok(Page { cursor, keys: count, found })
    }

    fn page_size(&self) -> usize {
        // Slow rates have small pages, so that keys come evenly.
        PAGE.min((self.settings.rate / 10).max(10) as usize)
    }

    fn refused(&self, keys: u64, why: &str) {
        self.unseen.refused.fetch_add(keys, Ordering::Relaxed);
        self.lacks(&right_of(why));
    }
}

/// The right that a refusal names, or the key.
pub fn right_of(message: &str) -> String {
    let quoted = message.split('\'').nth(1).filter(|word| !word.is_empty() && word.len() < 30);
    match quoted {
        Some(command) => command.to_ascii_uppercase(),
        None if message.contains("key") => "some keys".to_owned(),
        None => "a command".to_owned(),
    }
}
