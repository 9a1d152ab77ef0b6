//! Permits that were taken from Redis ahead of their use, and are spent in this process: the purse of each key.
//!
//! Whoever asks says what time it is, in microseconds of one clock that never goes back. A permit was charged in Redis
//! before it came here, and is spent once, before its end: so nothing here admits what Redis has not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limiter::decision::Decision;

const SHARDS: usize = 16;
/// How many keys a shard keeps: as many as these were asked for last, and up to as many from before.
const RECENT: usize = 512;

/// Who may spend what is in a purse; only the feature that made it knows what it is.
pub(crate) type PurseOwner = Arc<dyn std::any::Any + Send + Sync>;

/// What a call is to do.
pub(crate) enum PurseTurn {
    /// Nothing: its cost was spent here.
    Spent(Decision),
    /// Ask, for so much more than its own cost.
    Ask(Taking),
}

/// A call on its way that may bring permits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taking {
    /// How much is asked for beside the cost.
    pub more: u64,
    /// When this was decided, before the call was sent.
    pub since: u64,
    /// Of which turn of the purse; 0 if what comes is not for it.
    ticket: u64,
}

/// Permits given up.
pub(crate) struct Leftover {
    pub key: Vec<u8>,
    pub owner: PurseOwner,
    pub amount: u64,
    pub end: u64,
}

struct Purse {
    owner: PurseOwner,
    /// What Redis said when it last admitted.
    told: Option<Decision>,
    told_at: u64,
    /// What Redis had left then.
    there: u64,
    left: u64,
    /// When what is left is worth nothing any more, and when it is not known any more what Redis has left.
    end: u64,
    /// What was consumed here before that end.
    spent: u64,
    /// How much to take the next time.
    size: u64,
    /// Until when others ask for themselves alone, because one is taking.
    taking_until: u64,
    ticket: u64,
}

#[derive(Default)]
struct PurseShard {
    recent: HashMap<Vec<u8>, Purse>,
    older: HashMap<Vec<u8>, Purse>,
}

impl PurseShard {
    fn find(&mut self, key: &[u8]) -> Option<&mut Purse> {
        if let Some(purse) = self.older.remove(key) {
            self.insert(key, purse);
        }
        self.recent.get_mut(key)
    }

    /// Keeps one more; those that nobody asked for since as many others were are forgotten.
    fn insert(&mut self, key: &[u8], purse: Purse) {
        if self.recent.len() >= RECENT {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key.to_vec(), purse);
    }
}

/// The purses of one client in one process.
#[derive(Default)]
pub(crate) struct Purses {
    shards: [Mutex<PurseShard>; SHARDS],
    tickets: AtomicU64,
}

impl Purses {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, PurseShard> {
        // The user's part of a key is at its end.
        let number = key.iter().rev().take(16).fold(0, |sum: usize, byte| sum.wrapping_mul(31) + usize::from(*byte));
        self.shards[number % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Spends a cost if the purse has it. `is_own` says whether its owner is the caller.
    pub fn spend(&self, key: &[u8], is_own: impl Fn(&PurseOwner) -> bool, cost: u64, now: u64) -> Option<Decision> {
        self.shard(key).find(key).filter(|purse| is_own(&purse.owner))?.spend(cost, now)
    }

    /// As [`spend`](Purses::spend), or says how much the call is to ask for: at most `most` with what is here. While it is
    /// under way, for `patience` at most, others ask for their own cost.
    pub fn spend_or_ask(
        &self,
        key: &[u8],
        owner: impl Fn() -> PurseOwner,
        is_own: impl Fn(&PurseOwner) -> bool,
        (cost, most): (u64, u64),
        (now, patience): (u64, u64),
    ) -> PurseTurn {
        let mut shard = self.shard(key);
        if shard.find(key).is_none_or(|purse| !is_own(&purse.owner)) {
            let purse = Purse {
                owner: owner(),
                told: None,
                told_at: 0,
                there: 0,
                left: 0,
                end: 0,
                spent: 0,
                size: 1,
                taking_until: 0,
                ticket: 0,
            };
            shard.insert(key, purse);
        }
        let own = Taking { more: 0, since: now, ticket: 0 };
        let Some(purse) = shard.find(key) else { return PurseTurn::Ask(own) };
        if let Some(decision) = purse.spend(cost, now) {
            return PurseTurn::Spent(decision);
        }
        if now < purse.taking_until {
            return PurseTurn::Ask(own);
        }
        let more = purse.wanted(cost, most, now);
        (purse.ticket, purse.taking_until) = (self.ticket(), now + patience);
        PurseTurn::Ask(Taking { more, since: now, ticket: purse.ticket })
    }

    /// Takes what a call was told, what it asked for beside its cost counted as left. What it brought is good for `life`
    /// after it was sent; what comes too late, or for a purse that was dropped meanwhile, is lost.
    pub fn fill(&self, key: &[u8], taking: Taking, mut told: Decision, life: u64, now: u64) {
        let mut shard = self.shard(key);
        let Some(purse) = shard.find(key).filter(|purse| taking.ticket != 0 && purse.ticket == taking.ticket) else {
            return;
        };
        told.without_held(taking.more);
        (purse.taking_until, purse.there) = (0, told.remaining);
        let end = taking.since + life;
        let is_over = now >= purse.end;
        if !told.allowed {
            if is_over || purse.left == 0 {
                // Until then there will not be more.
                let wait = told.retry_after.unwrap_or(life).max(life);
                (purse.left, purse.spent, purse.end) = (0, 0, taking.since + wait);
            }
            return;
        }
        if is_over {
            purse.spent = 0;
        }
        // What has little time left must not take the rest with it.
        if is_over || purse.left == 0 || purse.end + end.saturating_sub(now) / 8 < end {
            (purse.left, purse.end) = (0, end);
        }
        purse.end = purse.end.min(end);
        purse.left += taking.more;
        purse.spent += told.cost;
        (purse.told, purse.told_at) = (Some(told), taking.since);
    }

    /// A call is not on its way any more, and brought nothing.
    pub fn failed(&self, key: &[u8], taking: Taking) {
        if taking.ticket == 0 {
            return;
        }
        if let Some(purse) = self.shard(key).find(key).filter(|purse| purse.ticket == taking.ticket) {
            (purse.taking_until, purse.ticket) = (0, 0);
        }
    }

    /// Forgets what is here about a key, and what is on its way here.
    pub fn drop_key(&self, key: &[u8]) {
        let mut shard = self.shard(key);
        shard.recent.remove(key);
        shard.older.remove(key);
    }

    /// So much is about to be given back to Redis. If that is more than was consumed here, it may be what is held here:
    /// that is given up, as much of it as may be. True then.
    pub fn refunded(&self, key: &[u8], amount: u64, now: u64) -> bool {
        let mut shard = self.shard(key);
        let Some(purse) = shard.find(key) else { return false };
        let spent = if now < purse.end { purse.spent } else { 0 };
        purse.spent = spent.saturating_sub(amount);
        purse.left = purse.left.saturating_sub(amount.saturating_sub(spent));
        amount > spent && purse.left > 0
    }

    /// Gives up all permits, and returns those that are still worth something.
    pub fn give_up(&self, now: u64) -> Vec<Leftover> {
        let mut leftovers = Vec::new();
        for shard in &self.shards {
            let PurseShard { recent, older } =
                std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            let worth = recent.into_iter().chain(older).filter(|(_, purse)| purse.left > 0 && now < purse.end);
            let leftover = |(key, Purse { owner, left: amount, end, .. })| Leftover { key, owner, amount, end };
            leftovers.extend(worth.map(leftover));
        }
        leftovers
    }
}

impl Purse {
    fn spend(&mut self, cost: u64, now: u64) -> Option<Decision> {
        if now >= self.end || cost > self.left {
            return None;
        }
        let mut decision = self.told.clone()?;
        self.left -= cost;
        self.spent += cost;
        let (left, passed) = (self.left, now.saturating_sub(self.told_at));
        decision.held_here(cost, left, passed);
        Some(decision)
    }

    /// How much to take beside a cost: twice as much as the last time if that did not last, half if some of it was lost, and
    /// never more than half of what Redis has left.
    fn wanted(&mut self, cost: u64, most: u64, now: u64) -> u64 {
        let is_over = now >= self.end;
        if is_over && self.left > 0 {
            self.size = (self.size / 2).max(1);
            self.left = 0;
        } else if !is_over {
            self.size = self.size.max(cost).saturating_mul(2).min(most);
        }
        let there = match &self.told {
            Some(told) if is_over => told.rules.iter().map(|rule| rule.capacity).min().unwrap_or(0),
            Some(_) => self.there,
            None => 0,
        };
        let room = self.size.min(most.saturating_sub(self.left)).saturating_sub(cost);
        room.min(there.saturating_sub(cost) / 2)
    }
}

#[cfg(test)]
mod tests;
