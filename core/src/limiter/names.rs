//! The names of this process' limiters, and the warning that one key was charged under two policies of one name.
//!
//! Several policies under one name are allowed: plans of users, of which each key has one. A key that has two within a period is
//! more likely a mistake: two limits that were given one name. The answers are right nevertheless (each policy's limit holds
//! for its calls), so the user of the process is warned, once for each name.
//!
//! Nothing here blocks or is freed, so forked processes go on with what their parent knew. All of it is bounded: [`MOST_NAMES`]
//! names, [`MOST_POLICIES`] of each, and the last [`KEYS`] keys that were charged under names with several policies, of which one may
//! take the place of another. Beyond that a warning may be missing. What was charged before the second policy of its name was made is not known:
//! a key that only goes on from the first policy to that one is not warned of.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::limiter::policy::Policy;
use wire::base::append_list::AppendList;
use wire::base::error::shown;
use wire::base::fork::ForkCell;
use wire::base::hash::half;

const MOST_NAMES: usize = 16_384;
const MOST_POLICIES: usize = 8;
const KEYS: usize = 4_096;

/// The keys of hashes. They are no secret: whoever finds two inputs of one hash gets a warning that is not needed.
const OF_SERVER: [u64; 2] = [1, 0];
const OF_NAME: u64 = 2;
const OF_POLICY: [u64; 2] = [3, 0];
const OF_KEY: u64 = 4;

/// How many bits of a policy's hash stand with a key.
const PRINT_BITS: u32 = 20;

/// One name of limiters, at one server, with one prefix and scope.
pub(super) struct LimiterName {
    id: u64,
    name: Box<str>,
    state: AtomicU8,
    policies: AppendList<MadePolicy>,
}

/// All its limiters have one policy; they have several; that was warned of.
const ONE: u8 = 0;
const SEVERAL: u8 = 1;
const WARNED: u8 = 2;

/// A policy, and where the first limiter with it was made.
struct MadePolicy {
    print: u64,
    policy: Box<str>,
    place: Option<Box<str>>,
}

/// The name and policy of one limiter.
#[derive(Clone, Copy)]
pub(super) struct Named {
    name: &'static LimiterName,
    print: u64,
}

/// All names, by their hash.
static NAMES: [AppendList<LimiterName>; 1_024] = [const { AppendList::new() }; 1_024];
static NAME_COUNT: AtomicUsize = AtomicUsize::new(0);

impl Named {
    /// Notes that a limiter is made: at a server of this identity, whose keys begin with `stem`, with a policy of these arguments.
    /// `place` says where, and is asked only if no limiter of this name and policy was made before. None if there are too many names.
    pub fn note(
        (server, stem, name): (&str, &[u8], &str),
        (policy, args): (&Policy, &[u8]),
        place: impl FnOnce() -> Option<String>,
    ) -> Option<Named> {
        let id = half([half(OF_SERVER, server.as_bytes()), OF_NAME], stem);
        let print = half(OF_POLICY, args) >> (64 - PRINT_BITS);
        let list = &NAMES[id as usize % NAMES.len()];
        let found = list.iter().find(|other| other.id == id);
        let name = match found {
            Some(name) => name,
            None if NAME_COUNT.fetch_add(1, Ordering::Relaxed) < MOST_NAMES => {
                list.push(LimiterName { id, name: name.into(), state: AtomicU8::new(ONE), policies: AppendList::new() })
            }
            None => {
                NAME_COUNT.store(MOST_NAMES, Ordering::Relaxed);
                return None;
            }
        };
        let named = Named { name, print };
        if name.policies.iter().any(|made| made.print == print) {
            return Some(named);
        }
        if name.policies.iter().count() < MOST_POLICIES {
            name.policies.push(MadePolicy { print, policy: policy.to_string().into(), place: place().map(Into::into) });
        }
        if name.policies.iter().any(|made| made.print != print) {
            let _ = name.state.compare_exchange(ONE, SEVERAL, Ordering::Relaxed, Ordering::Relaxed);
        }
        Some(named)
    }

    /// Whether a warning may be due: its name has several policies.
    #[inline]
    pub fn is_watched(self) -> bool {
        self.name.state.load(Ordering::Relaxed) == SEVERAL
    }

    /// Notes that the user knows that limiters of this name have several policies.
    pub fn is_known(self) {
        self.name.state.store(WARNED, Ordering::Relaxed);
    }

    /// Notes that `key` was charged under this policy at this time, in microseconds.
    #[cold]
    pub fn charged(self, policy: &Policy, key: &[u8], now: u64) {
        let hash = half([self.name.id, OF_KEY], key);
        let slot = &CHARGED[hash as usize % KEYS];
        let now = now / 1_000;
        let other = slot.get(hash).filter(|(print, until)| *print != self.print && now < *until);
        let period = policy.rules().iter().map(|rule| rule.period()).max().unwrap_or(0);
        slot.set(hash, self.print, now + period.div_ceil(1_000));
        if let Some((print, _)) = other
            && self.name.state.compare_exchange(SEVERAL, WARNED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            warn(self.warning(policy, key, print));
        }
    }

    /// What the user is warned of: `key` is charged under this policy, and was under another with this print.
    fn warning(self, policy: &Policy, key: &[u8], print: u64) -> String {
        let made = |print: u64| self.name.policies.iter().find(|made| made.print == print);
        let at = |print: u64| made(print).and_then(|made| made.place.as_deref());
        let shown_at = |print: u64| at(print).map_or_else(String::new, |place| format!(" ({place})"));
        let first = made(print).map_or("another policy", |made| &made.policy);
        format!(
            "two limiters have the name \"{}\" and charged the key \"{}\" within a period: one by {first}{}, one by {policy}{}. They \
             share what they count, and each one's policy holds for its own calls. If that is not meant, give them two names",
            shown(self.name.name.as_bytes()),
            shown(key),
            shown_at(print),
            shown_at(self.print),
        )
    }
}

/// A key that was charged: under which policy, and until when that counts.
struct ChargedKey {
    /// The hash of name and key, combined with `by` so that halves of two writers do not look like a whole.
    check: AtomicU64,
    /// Milliseconds, and the bits of the policy.
    by: AtomicU64,
}

static CHARGED: [ChargedKey; KEYS] = [const { ChargedKey { check: AtomicU64::new(0), by: AtomicU64::new(0) } }; KEYS];

impl ChargedKey {
    fn get(&self, hash: u64) -> Option<(u64, u64)> {
        let (check, by) = (self.check.load(Ordering::Relaxed), self.by.load(Ordering::Relaxed));
        (check ^ by == hash).then_some((by & ((1 << PRINT_BITS) - 1), by >> PRINT_BITS))
    }

    fn set(&self, hash: u64, print: u64, until: u64) {
        let by = until << PRINT_BITS | print;
        self.check.store(hash ^ by, Ordering::Relaxed);
        self.by.store(by, Ordering::Relaxed);
    }
}

/// Whether there are warnings that nobody took.
static WAITING: AtomicBool = AtomicBool::new(false);
static WARNINGS: ForkCell<Mutex<VecDeque<String>>> = ForkCell::new();

fn warn(message: String) {
    let warnings = WARNINGS.get_or_init(Mutex::default);
    let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
    warnings.push_back(message);
    WAITING.store(true, Ordering::Relaxed);
}

/// What to warn the user of this process of, once: one key was charged under two policies of one limiter's name. A binding asks
/// after each decision; as long as there is nothing that costs one load.
#[inline]
pub fn limiter_warning() -> Option<String> {
    if has_limiter_warning() { next_warning() } else { None }
}

/// Whether [`limiter_warning`] has something to say.
#[inline]
pub fn has_limiter_warning() -> bool {
    WAITING.load(Ordering::Relaxed)
}

#[cold]
fn next_warning() -> Option<String> {
    let warnings = WARNINGS.get()?;
    let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
    let first = warnings.pop_front();
    WAITING.store(!warnings.is_empty(), Ordering::Relaxed);
    first
}
