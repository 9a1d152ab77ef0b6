//! What a cache promises: what was stored and forgotten, who may load and until when, by the answers alone.

use proptest::prelude::*;
use quotalock::testing::single_flight::{Looked, Seen};
use quotalock_tests::twins::{Played, is_for_ever};

use super::act::{Act, ENTRIES, Step};
use super::{Done, Side};

/// One who was told to load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub id: u8,
    pub token: u64,
}

/// One of the last loads; one that never was, if there were none.
pub fn chosen(loads: &[Load], which: usize) -> Load {
    loads.len().checked_sub(which + 1).map_or(Load { id: 0, token: 12_345 }, |at| loads[at])
}

/// The version that an undamaged value tells; 0 of none. In the short form it is the time of the value, of seven bytes.
pub fn version_of(value: &Option<Vec<u8>>) -> u64 {
    let number = |value: &[u8]| value.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    value.as_ref().map_or(0, |value| number(&value[20..if is_short(value) { 27 } else { 28 }]))
}

/// Whether an entry has the short form.
pub fn is_short(value: &[u8]) -> bool {
    value[3] >= 128
}

/// What the test knows of one entry: what was promised, by the answers alone.
#[derive(Default)]
struct Known {
    /// What was stored last and not forgotten, when, and for how long it is fresh and then stale.
    value: Option<(Option<Vec<u8>>, u64, u64, u64)>,
    /// The token of what was stored or forgotten last.
    version: u64,
    /// Who claimed that value: none if it was loaded or put, or somebody loads beside it since.
    claimer: Option<u8>,
    /// Whoever may load, if that is certain.
    lease: Option<Lease>,
    /// The last token.
    last: u64,
    /// The loads of this entry, the last last.
    loads: Vec<Load>,
    /// Whether it lost its TTL, and nothing was written since.
    persisted: bool,
    /// The version that stands in Redis.
    written: u64,
}

struct Lease {
    id: u8,
    token: u64,
    deadline: u64,
    ttl: u64,
}

impl Known {
    fn bring_to(&mut self, now: u64) {
        if let Some(lease) = &mut self.lease {
            lease.deadline = lease.deadline.min(now + lease.ttl);
        }
        self.lease.take_if(|lease| lease.deadline <= now);
    }

    /// A value that was seen is the last that was stored, and not over.
    fn check_seen(&self, seen: &Seen, now: u64) -> Result<(), TestCaseError> {
        let Some((value, made, fresh, stale)) = &self.value else {
            return Err(TestCaseError::fail(format!("{seen:?}, where nothing was stored or all was forgotten")));
        };
        prop_assert!(seen.value.as_deref() == value.as_ref(), "{:?} in place of {:?}", seen, value);
        prop_assert!(now < made + fresh + stale, "a value that is over");
        prop_assert!(seen.stale || now < made + fresh, "a stale value is called fresh");
        prop_assert!(seen.age <= now.saturating_sub(*made) || now < *made || seen.stale || seen.age <= now);
        Ok(())
    }

    fn store(&mut self, token: u64, value: Option<Vec<u8>>, now: u64, (fresh, stale): (u64, u64)) {
        self.version = token;
        self.last = self.last.max(token);
        self.value = Some((value, now, fresh, stale));
        self.claimer = None;
    }
}

/// What the test knows of all of them.
#[derive(Default)]
pub struct Model {
    entries: [Known; ENTRIES],
}

impl Model {
    /// The loads of an entry, the last last.
    pub fn loads(&self, entry: usize) -> &[Load] {
        &self.entries[entry].loads
    }

    /// Learns what was loaded of entries that somebody damaged, of which nothing is promised.
    pub fn note_loads(&mut self, step: &Step, done: &Done) {
        let (Act::Look { entries, id, .. }, Done::Looked(looked)) = (&step.act, done) else { return };
        for (n, looked) in entries.iter().zip(looked) {
            if let Looked::Load { token, .. } = looked {
                self.entries[*n].loads.push(Load { id: *id, token: *token });
            }
        }
    }

    /// Checks what was answered, and the version that stands in Redis now, against what was promised, and learns from it.
    pub fn check(
        &mut self,
        step: &Step,
        now: u64,
        done: &Done,
        version: u64,
        played: &Played,
    ) -> Result<(), TestCaseError> {
        self.entries.iter_mut().for_each(|entry| entry.bring_to(now));
        if let (Act::Look { entries, id, ttl, .. }, Done::Looked(looked)) = (&step.act, done) {
            prop_assert_eq!(entries.len(), looked.len());
            for (n, looked) in entries.iter().zip(looked) {
                self.looked(*n, *id, *ttl, looked, now, played)?;
            }
            return Ok(());
        }
        let known = &mut self.entries[step.entry];
        match (&step.act, done) {
            (Act::Fill { load, ttl, fresh, stale, value }, Done::Flag(stored)) => {
                let token = load.map(|load| chosen(&known.loads, load).token);
                let lived = token.is_none_or(|token| now <= token + 10 * ttl);
                let newer = token.is_none_or(|token| token > known.version);
                prop_assert_eq!(*stored, newer && lived || token == Some(known.version), "token {:?}", token);
                let id = load.map(|load| chosen(&known.loads, load).id);
                known.lease.take_if(|lease| id.is_none_or(|id| id == lease.id));
                if newer && lived {
                    played.count("stored");
                    // What is put has a token that only the server knows, larger than all before.
                    let token = token.unwrap_or_else(|| now.max(known.last + 1));
                    known.store(token, value.map(|(byte, size)| vec![byte; size]), now, (*fresh, *stale));
                } else if !*stored {
                    played.count("late");
                }
            }
            (Act::Fail { load, .. }, Done::Flag(ended)) => {
                let id = chosen(&known.loads, *load).id;
                let is_certain = known.lease.as_ref().is_some_and(|lease| lease.id == id);
                prop_assert!(*ended || !is_certain, "a lease was not ended");
                if *ended {
                    played.count("failed");
                    known.lease = None;
                }
            }
            (Act::Invalidate(_), Done::Flag(_)) => {
                played.count("forgotten");
                let token = now.max(known.last + 1);
                (known.value, known.lease, known.version, known.last) = (None, None, token, token);
            }
            (Act::Claim { id, ttl, value, again }, Done::Claimed(claimed)) => {
                let value = value.map(|byte| vec![byte; 3]);
                // Whether it is a claim of its own, or what was claimed or loaded before, only the version tells.
                if version != known.written {
                    let token = now.max(known.last + 1);
                    prop_assert!(known.lease.is_none(), "a claim beside one who runs");
                    prop_assert!(claimed.first && claimed.left == *ttl && claimed.age == 0);
                    prop_assert!(claimed.value.as_deref() == value.as_ref() && version == token);
                    played.count(if *again { "first again" } else { "first" });
                    known.store(token, value, now, (*ttl, 0));
                    known.claimer = Some(*id);
                } else if claimed.running {
                    prop_assert!(!claimed.first && claimed.value.is_none());
                    played.count("second");
                } else {
                    let Some((stored, made, fresh, stale)) = &known.value else {
                        return Err(TestCaseError::fail("claimed by nobody"));
                    };
                    prop_assert!(claimed.value.as_deref() == stored.as_ref() && now < made + fresh + stale);
                    prop_assert_eq!(claimed.first, known.claimer == Some(*id), "{:?} claimed it", known.claimer);
                    played.count("second");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn looked(
        &mut self,
        n: usize,
        id: u8,
        ttl: u64,
        looked: &Looked,
        now: u64,
        played: &Played,
    ) -> Result<(), TestCaseError> {
        let known = &mut self.entries[n];
        match looked {
            Looked::Load { token, left, at_hand } => {
                if let Some(seen) = at_hand {
                    known.check_seen(seen, now)?;
                    played.count(if seen.stale { "refreshes" } else { "early" });
                }
                match &known.lease {
                    Some(lease) => {
                        prop_assert_eq!(lease.id, id, "two may load");
                        prop_assert_eq!(*token, lease.token);
                        played.count("again");
                    }
                    None if known.loads.iter().any(|load| load.id == id && load.token == *token) => {
                        // A clock that went back made a lease live again.
                        known.lease = Some(Lease { id, token: *token, deadline: now + left, ttl: *left });
                    }
                    None => {
                        prop_assert!(*token > known.last && *token >= now && *left == ttl, "token {}", token);
                        played.count("loads");
                        (known.last, known.claimer) = (*token, None);
                        known.loads.push(Load { id, token: *token });
                        known.lease = Some(Lease { id, token: *token, deadline: now + ttl, ttl });
                    }
                }
            }
            Looked::Seen(seen) => {
                known.check_seen(seen, now)?;
                played.count(if seen.stale { "stale" } else { "fresh" });
            }
            Looked::Failed { error, left } => {
                prop_assert!(error == "no such table" && *left > 0);
                played.count("errors");
            }
            Looked::Busy { left } => {
                prop_assert!(*left > 0 && ttl > 0);
                prop_assert!(known.lease.as_ref().is_none_or(|lease| lease.id != id), "one who loads is to wait");
                played.count("busy");
            }
            Looked::Nothing => prop_assert_eq!(ttl, 0),
        }
        Ok(())
    }

    /// Every key has a TTL once it was written, and the version in it only grows.
    pub fn check_stored(
        &mut self,
        step: &Step,
        touched: &[usize],
        before: &[[Option<Vec<u8>>; 2]],
        after: &[[Option<Vec<u8>>; 2]],
        side: &Side,
        damaged: bool,
    ) -> Result<(), TestCaseError> {
        let raw = matches!(step.act, Act::Plant(_) | Act::Damage(..) | Act::Persist);
        for ((n, before), after) in touched.iter().zip(before).zip(after) {
            let known = &mut self.entries[*n];
            if raw {
                known.persisted = true;
            } else if before[0] != after[0] {
                known.persisted = false;
            }
            let lost = !known.persisted && is_for_ever(&side.client, &side.keys[*n][0]);
            prop_assert!(!lost, "entry {} has no TTL", n);
            if !damaged && let Some(value) = &after[0] {
                let version = version_of(&Some(value.clone()));
                prop_assert!(version >= known.written, "version {} after {}", version, known.written);
                prop_assert_eq!(version, known.version, "of what was stored or forgotten last");
                known.written = version;
            }
        }
        Ok(())
    }
}
