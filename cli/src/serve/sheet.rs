//! A page of keys, as rows and counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quotalock::stored::{KeyKind, KeyName, StoredLimiter, StoredLock, StoredStock};
use redis::{Cmd, Value, cmd};

use super::ServeSettings;
use super::api::{DenialState, WithoutTtlRow};
use super::rows;
use super::seen::KnownKeys;
use crate::doctor::families::{self, Doubt, Family, Life, QUOTALOCK, Recognised};
use crate::doctor::finding::FindingState;
use crate::doctor::proof::{Proof, Track, ValueView as Sight};
use crate::doctor::watch::score_of;
use crate::doctor::{own, stuck_kind};
use crate::pages::{READ, Stands};
use crate::printable::shown;
use crate::raw::{self, ScannedKey};
use crate::server::{Node, Refusal};
use crate::words::text;

/// How many keys are watched from round to round.
const TRACKED: usize = 100_000;

/// A page whose keys are taken in.
pub struct Sheet<'a> {
    settings: &'a ServeSettings,
    /// The round in which it is looked at.
    round: u64,
    /// The server that has it.
    shard: usize,
    /// The server's clock, in microseconds.
    now: u64,
    /// Ours, in milliseconds.
    now_ms: u64,
    /// Limiters and locks whose values are longer than what was read of them.
    cut: Vec<Vec<u8>>,
    /// Sales, whose numbers are in no text.
    stocks: Vec<Vec<u8>>,
}

/// What is known of keys, for as long as it is looked at.
pub fn locked(seen: &Mutex<KnownKeys>) -> MutexGuard<'_, KnownKeys> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sheet<'_> {
    /// Of which nothing is taken in yet.
    pub fn new(settings: &ServeSettings, (round, shard): (u64, usize), now: u64) -> Sheet<'_> {
        let now_ms = crate::doctor::health::now_micros() / 1_000;
        Sheet { settings, round, shard, now, now_ms, cut: Vec::new(), stocks: Vec::new() }
    }

    /// Takes in a key as the page has it.
    pub fn take(&mut self, seen: &mut KnownKeys, key: Vec<u8>, stands: Stands) {
        let name = KeyName::parse(&self.settings.prefix, &key);
        let (value, has_ttl) = match stands {
            Stands::Own(value) => (Sight::Text(value), true),
            Stands::OwnOther(kind) => (Sight::Other(kind, Vec::new()), true),
            Stands::Text(value) => (Sight::Text(value), false),
            Stands::Marked(score) => (Sight::Marked(score_of(&score)), false),
            Stands::Other(kind, first) => (Sight::Other(kind, first), false),
        };
        if !has_ttl {
            self.immortal(seen, &key, &value);
        }
        let Some(name) = name.filter(|name| name.beside.is_empty()) else { return };
        let value = match value {
            Sight::Text(value) => value,
            _ => Vec::new(),
        };
        match name.kind {
            KeyKind::Stock => self.stocks.push(key),
            KeyKind::Cache => rows::entry(seen.counting.cache(text(&name.name)), &value, self.now),
            KeyKind::Once | KeyKind::Request => {}
            _ if value.len() >= READ => self.cut.push(key),
            _ => {
                let ttl = has_ttl.then_some(0);
                let found = ScannedKey { key, value: Some(value), is_other_type: false, ttl, now: self.now };
                self.own(seen, &name, found, true);
            }
        }
    }

    /// Takes in a limiter or lock with its whole value. One that is looked at anew is not counted again.
    pub fn own(&self, seen: &mut KnownKeys, name: &KeyName, found: ScannedKey, is_new: bool) {
        let ScannedKey { key, value, ttl, now, .. } = found;
        let value = value.unwrap_or_default();
        let at = (self.round, self.shard);
        match name.kind {
            KeyKind::Limiter => {
                if is_new {
                    seen.counting.limiter(text(&name.name));
                }
                let stored = StoredLimiter::read(&value, now);
                let row = stored.and_then(|stored| rows::denied(&key, name, &stored, self.settings.near, self.now_ms));
                match row {
                    Some((rank, row)) => {
                        seen.counting.denied += u64::from(is_new);
                        seen.counting.near += u64::from(is_new && row.state == DenialState::Near);
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

    /// Takes in one of our keys whose type makes calls fail.
    fn wrong_type(&self, seen: &mut KnownKeys, key: &[u8], family: &'static Family) {
        let state = FindingState::Stuck;
        *seen.counting.stuck.entry(family.id).or_default() += 1;
        let (kind, why) = ("wrong_type", own::WHY_WRONG);
        let row = WithoutTtlRow { key: shown(key), family: family.title, kind, means: family.means, state, why };
        seen.without_ttl.put(key.to_vec(), (self.round, self.shard), (state as u8, 0), row);
    }

    /// Takes in a key without a TTL, if it may be stuck: each round is another look, by the rules of `doctor`.
    fn immortal(&self, seen: &mut KnownKeys, key: &[u8], value: &Sight) {
        let (mut known, is_damaged) = match own::of(&self.settings.prefix, key) {
            Some(own) => {
                if let Some(family) = own::wrong_type(&own, value) {
                    return self.wrong_type(seen, key, family);
                }
                let is_damaged = matches!(value, Sight::Text(value) if own::is_damaged(&own, value, self.now / 1_000));
                // It heals by itself, so it is never proven to be stuck.
                let proof = Proof::Never(QUOTALOCK.means);
                (Recognised { family: &QUOTALOCK, doubt: Doubt::Looks, proof, life: Life::Asked }, is_damaged)
            }
            None => match families::recognise(key, value, self.now / 1_000) {
                Some(known) => (known, false),
                None => return,
            },
        };
        if families::companion(&known, key).is_some_and(|counter| !seen.without_ttl.has(&counter)) {
            known = families::unpaired(known);
        }
        let track = match seen.tracks.remove(key) {
            Some((_, mut track)) if track.proof == known.proof => {
                track.look(value.clone(), self.now / 1_000);
                track
            }
            _ => Track::new(known.proof, value.clone()),
        };
        let (state, why) = (FindingState::of(&known, &track), track.why());
        if !matches!(known.proof, Proof::Never(_)) && seen.tracks.len() < TRACKED {
            seen.tracks.insert(key.to_vec(), (self.round, track));
        }
        let counts = &mut seen.counting;
        match state {
            FindingState::Stuck => *counts.stuck.entry(known.family.id).or_default() += 1,
            FindingState::Looks => *counts.looks_stuck.entry(known.family.id).or_default() += 1,
            FindingState::May => counts.may_be_stuck += 1,
        }
        let kind = if is_damaged { "damaged" } else { stuck_kind(&known) };
        let (family, means) = (known.family.title, known.family.means);
        let row = WithoutTtlRow { key: shown(key), family, kind, means, state, why };
        seen.without_ttl.put(key.to_vec(), (self.round, self.shard), (state as u8, 0), row);
    }

    /// Asks what the page did not tell.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn finish(self, node: &mut Node, seen: &Mutex<KnownKeys>) -> Result<(), Refusal> {
        let prefix = &self.settings.prefix;
        if !self.cut.is_empty() {
            let mut whole = Vec::new();
            raw::values(node, self.cut.clone(), &mut |found| whole.push(found))?;
            let mut seen = locked(seen);
            for found in whole {
                if let Some(name) = KeyName::parse(prefix, &found.key) {
                    self.own(&mut seen, &name, found, true);
                }
            }
        }
        let ask = |key: &Vec<u8>| cmd("HGET").arg(key).arg("").to_owned();
        let answers = node.ask_all(&self.stocks.iter().map(ask).collect::<Vec<Cmd>>())?;
        let mut seen = locked(seen);
        for (key, answer) in self.stocks.iter().zip(answers) {
            let stored = match answer {
                Ok(Value::BulkString(value)) => StoredStock::read(&value, self.now),
                _ => None,
            };
            if let (Some(stored), Some(name)) = (stored, KeyName::parse(prefix, key)) {
                seen.counting.stocks += 1;
                let units = [stored.available, stored.held, stored.sold];
                seen.counting.units.iter_mut().zip(units).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                let rank = (u8::from(stored.has_ended), 0);
                seen.stocks.put(key.clone(), (self.round, self.shard), rank, rows::stock(&name, &stored));
            }
        }
        Ok(())
    }
}
