//! Going through all keys, slowly, round after round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::stored::{KeyKind, KeyName, StoredLimiter, StoredLock, StoredStock};
use redis::{Cmd, Value, cmd};

use super::Settings;
use super::api::WithoutTtlRow;
use super::rows;
use super::seen::Seen;
use crate::doctor::families::{self, QUOTALOCK, Seen as Sight};
use crate::doctor::{own, stuck_kind};
use crate::output::shown;
use crate::pages::{Pages, READ, Stands};
use crate::raw::{self, Found};
use crate::server::{self, Node, Refusal, Servers};

/// A round takes no less: of few keys the server hears nothing for the rest of it.
const ROUND: Duration = Duration::from_secs(1);
/// If rounds take longer the first rows of lists are looked at anew this often.
const ANEW: Duration = Duration::from_secs(1);
/// How many rows of each list.
const FIRST: usize = 200;
/// When it is seen anew which servers there are: soon if one is missing.
const SERVERS: Duration = Duration::from_secs(60);
const SERVERS_MISSING: Duration = Duration::from_secs(3);

/// Goes through all keys for ever.
pub fn run(settings: &Settings, seen: &Mutex<Seen>) -> ! {
    let mut walk = Walk { settings, seen, round: 0, anew: Instant::now() };
    loop {
        match server::find(&settings.url) {
            Ok(servers) => walk.among(servers),
            // What was known may be wrong by now. The list of servers says why.
            Err(_) => walk.seen().end(u64::MAX, Vec::new()),
        }
        thread::sleep(SERVERS_MISSING);
    }
}

struct Walk<'a> {
    settings: &'a Settings,
    seen: &'a Mutex<Seen>,
    round: u64,
    /// When rows were looked at anew.
    anew: Instant,
}

/// A page whose values are being read.
struct Sheet {
    shard: usize,
    now: u64,
    now_ms: u64,
    /// Whose values are longer than what was read of them.
    cut: Vec<Vec<u8>>,
    stocks: Vec<Vec<u8>>,
}

impl Walk<'_> {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes round until it should be seen anew which servers there are.
    fn among(&mut self, mut servers: Servers) {
        let found = Instant::now();
        let lasts = if servers.missing.is_empty() { SERVERS } else { SERVERS_MISSING };
        let mut is_whole = true;
        while is_whole && found.elapsed() < lasts {
            is_whole = self.round(&mut servers);
        }
    }

    /// Looks at all keys once; whether all servers answered.
    fn round(&mut self, servers: &mut Servers) -> bool {
        let began = Instant::now();
        self.round += 1;
        self.seen().begin();
        let sizes: Vec<u64> = servers.shards.iter_mut().map(size).collect();
        let mut problems: Vec<String> = servers
            .missing
            .iter()
            .filter(|missing| !missing.is_covered)
            .map(|missing| format!("the keys of one server are missing: {}", missing.refusal.message))
            .collect();
        let (mut lacks, mut refused) = (BTreeSet::new(), false);
        for shard in 0..servers.shards.len() {
            let before = sizes[..shard].iter().sum();
            if let Err(refusal) = self.shard(servers, shard, (before, sizes.iter().sum()), &mut lacks) {
                problems.push(format!("the keys of one server are missing: {}", refusal.message));
                refused = true;
            }
        }
        let mut seen = self.seen();
        if !lacks.is_empty() {
            let names = lacks.into_iter().collect::<Vec<_>>().join(", ");
            let keys = seen.counting.refused;
            problems.push(format!("the user lacks the right to {names}, so {keys} keys were not read"));
        }
        seen.scan.keys_seen = Some(seen.counting.keys);
        seen.scan.took_ms = Some(began.elapsed().as_millis() as u64);
        seen.scan.at_ms = Some(crate::doctor::health::now_micros() / 1_000);
        seen.end(self.round, problems);
        drop(seen);
        thread::sleep(ROUND.saturating_sub(began.elapsed()));
        !refused
    }

    fn shard(
        &mut self,
        servers: &mut Servers,
        shard: usize,
        (before, all): (u64, u64),
        lacks: &mut BTreeSet<String>,
    ) -> Result<(), Refusal> {
        let mut pages = Pages::new(&self.settings.prefix, 1, self.settings.rate);
        let (mut cursor, began, mut looked) = (b"0".to_vec(), Instant::now(), 0_u64);
        loop {
            let Some(node) = servers.shards[shard].reader() else { return Ok(()) };
            let mut page = pages.at(node, &cursor)?;
            let now = raw::now(node)?;
            lacks.append(&mut page.lacks);
            looked += page.keys;
            let mut sheet = Sheet { shard, now, now_ms: now_ms(), cut: Vec::new(), stocks: Vec::new() };
            let mut seen = self.seen();
            seen.counting.keys += page.keys;
            seen.counting.refused += page.refused;
            seen.scan.done_percent = ((before + looked) * 100 / all.max(1)).min(100);
            for (key, stands) in page.found {
                self.take(&mut seen, &mut sheet, key, stands);
            }
            drop(seen);
            self.finish(node, sheet)?;
            cursor = page.cursor;
            if cursor == b"0" {
                return Ok(());
            }
            let due = Duration::from_secs_f64(looked as f64 / self.settings.rate as f64);
            self.rest(servers, due.saturating_sub(began.elapsed()));
        }
    }

    /// Takes in a key as the page has it.
    fn take(&self, seen: &mut Seen, sheet: &mut Sheet, key: Vec<u8>, stands: Stands) {
        let name = KeyName::parse(&self.settings.prefix, &key);
        let (value, has_ttl) = match stands {
            Stands::Own(value) => (Sight::Text(value), true),
            Stands::Text(value) => (Sight::Text(value), false),
            Stands::Marked => (Sight::Marked, false),
            Stands::Other => (Sight::Other, false),
        };
        if !has_ttl {
            self.immortal(seen, sheet, &key, &value);
        }
        let Some(name) = name.filter(|name| name.beside.is_empty()) else { return };
        let value = match value {
            Sight::Text(value) => value,
            _ => Vec::new(),
        };
        match name.kind {
            KeyKind::Stock => sheet.stocks.push(key),
            KeyKind::Cache => rows::entry(seen.counting.cache(crate::words::text(&name.name)), &value, sheet.now),
            _ if value.len() >= READ => sheet.cut.push(key),
            _ => {
                let found = Found { key, value: Some(value), ttl: has_ttl.then_some(0), now: sheet.now };
                self.own(seen, sheet, &name, found, true);
            }
        }
    }

    /// Takes in a limiter or lock with its whole value. One that is looked at anew is not counted again.
    fn own(&self, seen: &mut Seen, sheet: &Sheet, name: &KeyName, found: Found, is_new: bool) {
        let Found { key, value, ttl, now } = found;
        let value = value.unwrap_or_default();
        let at = (self.round, sheet.shard);
        match name.kind {
            KeyKind::Limiter => {
                if is_new {
                    seen.counting.limiter(crate::words::text(&name.name));
                }
                let stored = StoredLimiter::read(&value, now);
                let row = stored.and_then(|stored| rows::denied(&key, name, &stored, self.settings.near, sheet.now_ms));
                match row {
                    Some((rank, row)) => {
                        seen.counting.denied += u64::from(is_new);
                        seen.counting.near += u64::from(is_new && row.state == "near");
                        seen.denied.put(key, at, rank, row);
                    }
                    None => seen.denied.drop(&key),
                }
            }
            KeyKind::Lock | KeyKind::Semaphore | KeyKind::ReadWrite => {
                let stored = StoredLock::read(&value, now);
                match stored.and_then(|stored| rows::lock(&key, name, &stored, ttl.is_some(), now)) {
                    Some((rank, row)) => {
                        seen.counting.locks += u64::from(is_new);
                        seen.counting.waiters += if is_new { row.waiters } else { 0 };
                        seen.locks.put(key, at, rank, row);
                    }
                    None => seen.locks.drop(&key),
                }
            }
            _ => {}
        }
    }

    /// Takes in a key without a TTL, if it may be stuck.
    fn immortal(&self, seen: &mut Seen, sheet: &Sheet, key: &[u8], value: &Sight) {
        let (family, kind, place) = match own::of(&self.settings.prefix, key) {
            Some(own) => {
                let damaged = matches!(value, Sight::Text(value) if own::is_damaged(&own, value, sheet.now / 1_000));
                (&QUOTALOCK, if damaged { "damaged" } else { "no_ttl" }, 2)
            }
            None => {
                let Some(known) = families::recognise(key, value, sheet.now / 1_000) else { return };
                (known.family, stuck_kind(known.family), if known.is_sure { 0 } else { 3 })
            }
        };
        *seen.counting.without_ttl.entry(family.id).or_default() += 1;
        let row = WithoutTtlRow { key: shown(key), family: family.title, kind, means: family.means };
        seen.without_ttl.put(key.to_vec(), (self.round, sheet.shard), (place, 0), row);
    }

    /// Asks what the page did not tell.
    fn finish(&self, node: &mut Node, sheet: Sheet) -> Result<(), Refusal> {
        let prefix = &self.settings.prefix;
        if !sheet.cut.is_empty() {
            let mut whole = Vec::new();
            raw::values(node, sheet.cut.clone(), &mut |found| whole.push(found))?;
            let mut seen = self.seen();
            for found in whole {
                if let Some(name) = KeyName::parse(prefix, &found.key) {
                    self.own(&mut seen, &sheet, &name, found, true);
                }
            }
        }
        let ask = |key: &Vec<u8>| cmd("HGET").arg(key).arg("").to_owned();
        let answers = node.ask_all(&sheet.stocks.iter().map(ask).collect::<Vec<Cmd>>())?;
        let mut seen = self.seen();
        for (key, answer) in sheet.stocks.iter().zip(answers) {
            let stored = match answer {
                Ok(Value::BulkString(value)) => StoredStock::read(&value, sheet.now),
                _ => None,
            };
            if let (Some(stored), Some(name)) = (stored, KeyName::parse(prefix, key)) {
                seen.counting.stocks += 1;
                let pieces = [stored.available, stored.held, stored.sold];
                seen.counting.pieces.iter_mut().zip(pieces).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                let rank = (u8::from(stored.has_ended), 0);
                seen.stocks.put(key.clone(), (self.round, sheet.shard), rank, rows::stock(&name, &stored));
            }
        }
        Ok(())
    }

    /// Lets the server rest, and meanwhile looks anew at what browsers show first.
    fn rest(&mut self, servers: &mut Servers, length: Duration) {
        let ends = Instant::now() + length;
        if self.anew.elapsed() >= ANEW {
            self.anew = Instant::now();
            self.look_anew(servers);
        }
        thread::sleep(ends.saturating_duration_since(Instant::now()));
    }

    fn look_anew(&self, servers: &mut Servers) {
        let mut keys: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        let seen = self.seen();
        for (shard, key) in seen.denied.first(FIRST).into_iter().chain(seen.locks.first(FIRST)) {
            keys.entry(shard).or_default().push(key);
        }
        let wanted = seen.wanted.clone();
        drop(seen);
        for shard in 0..servers.shards.len() {
            let listed = keys.remove(&shard).unwrap_or_default();
            let mut gone: BTreeSet<Vec<u8>> = listed.iter().cloned().collect();
            // Which server has a key that was denied is not known: the others say that they have none.
            let keys = listed.into_iter().chain(wanted.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect();
            let Some(node) = servers.shards.get_mut(shard).and_then(server::Shard::reader) else { continue };
            let mut whole = Vec::new();
            // If it does not answer, the next page says so.
            if raw::values(node, keys, &mut |found| whole.push(found)).is_err() {
                continue;
            }
            let mut seen = self.seen();
            for found in whole {
                gone.remove(&found.key);
                if let Some(name) = KeyName::parse(&self.settings.prefix, &found.key) {
                    let sheet = Sheet { shard, now: found.now, now_ms: now_ms(), cut: Vec::new(), stocks: Vec::new() };
                    self.own(&mut seen, &sheet, &name, found, false);
                }
            }
            for key in gone {
                seen.denied.drop(&key);
                seen.locks.drop(&key);
            }
        }
    }
}

fn size(shard: &mut server::Shard) -> u64 {
    shard.reader().and_then(|node| node.ask(&cmd("DBSIZE")).ok()).unwrap_or(0)
}

fn now_ms() -> u64 {
    crate::doctor::health::now_micros() / 1_000
}
