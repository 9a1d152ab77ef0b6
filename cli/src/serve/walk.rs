//! Going through all keys, slowly, round after round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::stored::KeyName;
use redis::cmd;

use super::ServeSettings;
use super::seen::KnownKeys;
use super::sheet::{Sheet, locked};
use crate::doctor::health::now_micros;
use crate::pages::Pages;
use crate::raw;
use crate::server::{self, Refusal, Servers};

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
pub fn run(settings: &ServeSettings, seen: &Mutex<KnownKeys>) -> ! {
    let mut walk = Walk { settings, seen, round: 0, anew: Instant::now() };
    loop {
        match server::find(&settings.url, settings.within) {
            Ok(servers) => walk.among(servers),
            // The list of servers says why.
            Err(_) => walk.seen().lose(now_micros() / 1_000),
        }
        thread::sleep(SERVERS_MISSING);
    }
}

struct Walk<'a> {
    settings: &'a ServeSettings,
    seen: &'a Mutex<KnownKeys>,
    round: u64,
    /// When rows were looked at anew.
    anew: Instant,
}

impl Walk<'_> {
    fn seen(&self) -> MutexGuard<'_, KnownKeys> {
        locked(self.seen)
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
        let unknown = servers.unknown();
        let mut problems: Vec<String> = unknown.sentences().cloned().collect();
        let (mut lacks, mut refused) = (BTreeSet::new(), false);
        let is_missing = unknown.is_partial();
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
        let now_ms = now_micros() / 1_000;
        if refused || is_missing {
            seen.end_in_part(self.round, problems, now_ms);
        } else {
            seen.scan.keys_seen = Some(seen.counting.keys);
            seen.scan.took_ms = Some(began.elapsed().as_millis() as u64);
            seen.scan.at_ms = Some(now_ms);
            seen.end(self.round, problems);
        }
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
            let mut sheet = Sheet::new(self.settings, (self.round, shard), now);
            let mut seen = self.seen();
            seen.counting.keys += page.keys;
            seen.counting.refused += page.refused;
            seen.scan.done_percent = ((before + looked) * 100 / all.max(1)).min(100);
            for (key, stands) in page.found {
                sheet.take(&mut seen, key, stands);
            }
            drop(seen);
            sheet.finish(node, self.seen)?;
            cursor = page.cursor;
            if cursor == b"0" {
                return Ok(());
            }
            let due = Duration::from_secs_f64(looked as f64 / self.settings.rate as f64);
            self.rest(servers, due.saturating_sub(began.elapsed()));
        }
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
                    let sheet = Sheet::new(self.settings, (self.round, shard), found.now);
                    sheet.own(&mut seen, &name, found, false);
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
