//! All keys of a server, a page at a time: those without a TTL, and ours with what they hold.

use std::collections::BTreeSet;

use redis::{Cmd, Value, cmd};

use crate::server::{Node, Refusal, RefusalKind};

/// About how many keys a page has: for so long the server does nothing else.
const PAGE: u64 = 500;
/// How many bytes of a value are read.
pub const READ: usize = 1_024;

/// What stands at a key of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// A text without a TTL: its first bytes.
    Text(Vec<u8>),
    /// A sorted set without a TTL, with Symfony's mark: the mark's score.
    Marked(Vec<u8>),
    /// Another type, without a TTL: its name, and the first element of a list or sorted set.
    Other(Vec<u8>, Vec<u8>),
    /// A text of ours with a TTL: its first bytes.
    Own(Vec<u8>),
    /// One of ours of another type, with a TTL: the type's name.
    OwnOther(Vec<u8>),
}

/// A page.
#[derive(Debug, Default)]
pub struct ScanPage {
    /// Where the next page begins; `0` after the last.
    pub cursor: Vec<u8>,
    /// How many keys it has.
    pub keys: u64,
    /// Those that may be stuck, and some of ours.
    pub found: Vec<(Vec<u8>, Stands)>,
    /// How many may not be read.
    pub refused: u64,
    /// Why: commands without a right, or keys.
    pub lacks: BTreeSet<String>,
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

/// Asks a server for its pages.
pub struct Pages {
    /// What the names of our keys begin with.
    prefix: String,
    /// Of so many of ours with a TTL one is read.
    stride: u64,
    size: u64,
    how: How,
}

impl Pages {
    /// Pages of which so many keys a second are wanted: slow rates have small pages, so that keys come evenly.
    pub fn new(prefix: &str, stride: u64, rate: u64) -> Pages {
        let size = PAGE.min((rate / 10).max(10));
        Pages { prefix: format!("{prefix}:"), stride, size, how: How::ReadOnlyScript }
    }

    /// The page that begins at a cursor. Where scripts may not run, commands may.
    ///
    /// # Errors
    /// If the server goes away, or does not let us look.
    pub fn at(&mut self, node: &mut Node, cursor: &[u8]) -> Result<ScanPage, Refusal> {
        let mut lacks = BTreeSet::new();
        loop {
            let page = match self.how {
                How::Commands => self.by_commands(node, cursor),
                How::ReadOnlyScript => self.by_script(node, cursor, "EVAL_RO"),
                How::Script => self.by_script(node, cursor, "EVAL"),
            };
            match page {
                Ok(mut page) => {
                    page.lacks.append(&mut lacks);
                    return Ok(page);
                }
                Err(refusal) if refusal.why != RefusalKind::Away && self.how != How::Commands => {
                    if self.how == How::Script && refusal.why == RefusalKind::Right {
                        lacks.insert("EVAL".to_owned());
                    }
                    self.how = if self.how == How::ReadOnlyScript { How::Script } else { How::Commands };
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }

    fn by_script(&self, node: &mut Node, cursor: &[u8], command: &str) -> Result<ScanPage, Refusal> {
        let mut ask = cmd(command);
        ask.arg(include_str!("page.lua")).arg(0).arg(cursor).arg(self.size).arg(&self.prefix).arg(self.stride);
        let answer: (Vec<u8>, u64, u64, String, Vec<Vec<u8>>) = node.ask(&ask)?;
        let (cursor, keys, refused, why, found) = answer;
        let mut page = ScanPage { cursor, keys, ..ScanPage::default() };
        if refused > 0 {
            page.refuse(refused, &why);
        }
        let mut found = found.into_iter();
        while let (Some(name), Some(kind), Some(value)) = (found.next(), found.next(), found.next()) {
            page.found.push((name, stands(&kind, value)));
        }
        Ok(page)
    }

    /// The same by plain commands, in one trip for each kind.
    fn by_commands(&self, node: &mut Node, cursor: &[u8]) -> Result<ScanPage, Refusal> {
        let asked = node.ask(cmd("SCAN").arg(cursor).arg("COUNT").arg(self.size));
        let (cursor, keys): (Vec<u8>, Vec<Vec<u8>>) = asked?;
        let mut page = ScanPage { cursor, keys: keys.len() as u64, ..ScanPage::default() };
        let ask = |name: &str, key: &[u8]| cmd(name).arg(key).to_owned();
        let ttls = node.ask_all(&keys.iter().map(|key| ask("PTTL", key)).collect::<Vec<Cmd>>())?;
        let mut wanted = Vec::new();
        for (at, (key, ttl)) in keys.into_iter().zip(ttls).enumerate() {
            let is_own = (at as u64).is_multiple_of(self.stride) && key.starts_with(self.prefix.as_bytes());
            match ttl {
                Ok(Value::Int(-1)) => wanted.push((key, true)),
                Ok(Value::Int(ttl)) if ttl >= 0 && is_own => wanted.push((key, false)),
                Err(refusal) if refusal.why == RefusalKind::Right => page.refuse(1, &refusal.message),
                _ => {}
            }
        }
        let read = |(key, _): &(Vec<u8>, bool)| cmd("GETRANGE").arg(key).arg(0).arg(READ - 1).to_owned();
        let values = node.ask_all(&wanted.iter().map(read).collect::<Vec<Cmd>>())?;
        let others: Vec<Cmd> = wanted
            .iter()
            .zip(&values)
            .filter(|(_, value)| value.is_err())
            .flat_map(|((key, _), _)| {
                let (mark, first) =
                    (cmd("ZSCORE").arg(key).arg("__write__").to_owned(), cmd("LINDEX").arg(key).arg(0).to_owned());
                [mark, ask("TYPE", key), first, cmd("ZRANGE").arg(key).arg(0).arg(0).to_owned()]
            })
            .collect();
        let answers = node.ask_all(&others)?;
        let mut others = answers.chunks(4);
        for ((key, is_immortal), value) in wanted.into_iter().zip(values) {
            let stands = match value {
                Ok(Value::BulkString(value)) if is_immortal => Stands::Text(value),
                Ok(Value::BulkString(value)) => Stands::Own(value),
                Err(refusal) => {
                    let told: Vec<Vec<u8>> = others.next().unwrap_or_default().iter().map(bytes_of).collect();
                    match (refusal.why == RefusalKind::Right, is_immortal, told.as_slice()) {
                        (true, ..) => {
                            page.refuse(1, &refusal.message);
                            continue;
                        }
                        (_, false, told) => Stands::OwnOther(told.get(1).cloned().unwrap_or_default()),
                        (_, _, [mark, _, item, member]) if mark.is_empty() => {
                            Stands::Other(told[1].clone(), [item.as_slice(), member].concat())
                        }
                        (_, _, [mark, ..]) => Stands::Marked(mark.clone()),
                        _ => Stands::Other(Vec::new(), Vec::new()),
                    }
                }
                Ok(_) => continue,
            };
            page.found.push((key, stands));
        }
        Ok(page)
    }
}

impl ScanPage {
    fn refuse(&mut self, keys: u64, why: &str) {
        self.refused += keys;
        self.lacks.insert(right_of(why));
    }
}

fn stands(kind: &[u8], value: Vec<u8>) -> Stands {
    match kind {
        b"v" => Stands::Own(value),
        b"t" => Stands::OwnOther(value),
        b"w" => Stands::Marked(value),
        b"s" => Stands::Text(value),
        _ => {
            let end = value.iter().position(|byte| *byte == b'\n').unwrap_or(value.len());
            let first = value.get(end + 1..).unwrap_or_default().to_vec();
            Stands::Other(value[..end].to_vec(), first)
        }
    }
}

/// The text of an answer, of a score or of a list's first element; nothing if there is none.
fn bytes_of(answer: &Result<Value, Refusal>) -> Vec<u8> {
    match answer {
        Ok(Value::BulkString(bytes)) => bytes.clone(),
        Ok(Value::SimpleString(text)) => text.clone().into_bytes(),
        Ok(Value::Double(score)) => score.to_string().into_bytes(),
        Ok(Value::Array(all)) => match all.first() {
            Some(Value::BulkString(first)) => first.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
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
