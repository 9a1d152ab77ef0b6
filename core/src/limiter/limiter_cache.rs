//! The limiters behind a one-line `limit()`, which names its limiter and policy anew in each call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::client::Client;
use crate::limiter::policy::Policy;
use crate::limiter::{Limiter, LimiterOptions};
use wire::base::error::{Result, shown};
use wire::base::fork::ForkCell;

/// More limiters than a program has: one that makes them of what its users send must not fill the memory.
const KEPT: usize = 1_024;

/// A client that keeps the limiters it was asked for, by name, options and policy: up to 1,024, then all are forgotten
/// and it begins again; the user is to be [warned](LimiterCache::warning) of that once. What a limiter counts is not in here, so
/// nothing is lost with one. Threads may share it; a forked process begins with an empty one.
pub struct LimiterCache {
    client: Client,
    known: ForkCell<Mutex<CachedLimiters>>,
    filled: AtomicU8,
}

/// It was never full; its user is to be warned that it was; its user was warned.
const ROOM: u8 = 0;
const TO_WARN: u8 = 1;
const WARNED: u8 = 2;

#[derive(Default)]
struct CachedLimiters {
    limiters: HashMap<Box<[u8]>, Limiter>,
    /// The name, options and policy that are looked for; kept, so that a limiter that is known costs no allocation.
    wanted: Vec<u8>,
    /// The name of the limiter that there was no room for.
    last: String,
}

impl LimiterCache {
    /// Makes an empty cache.
    pub fn new(client: Client) -> LimiterCache {
        LimiterCache { client, known: ForkCell::new(), filled: AtomicU8::new(ROOM) }
    }

    /// The client whose limiters these are.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The limiter of this name and of the policy that `policy` spells, made if it is not known. Two spellings of one
    /// policy make two limiters, which count the same.
    ///
    /// # Errors
    /// Those of [`Policy::parse`] and [`Client::limiter`].
    #[track_caller]
    pub fn limiter(&self, name: &str, policy: &str) -> Result<Limiter> {
        let caller = std::panic::Location::caller();
        self.limiter_at(name, policy, LimiterOptions::default(), || Some(caller.to_string()))
    }

    /// As [`limiter`](LimiterCache::limiter), with options, and where in its user's code that is; see [`Client::limiter_at`].
    ///
    /// # Errors
    /// Those of [`Policy::parse`] and [`Client::limiter_at`].
    pub fn limiter_at(
        &self,
        name: &str,
        policy: &str,
        options: LimiterOptions,
        place: impl FnOnce() -> Option<String>,
    ) -> Result<Limiter> {
        let mut known = self.known.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let CachedLimiters { limiters, wanted, last } = &mut *known;
        wanted.clear();
        wanted.extend_from_slice(&[u8::from(options.enforce), u8::from(options.scope.is_some())]);
        // With their lengths in front, no name, scope and policy look like others.
        wanted.extend_from_slice(&options.prefetch.unwrap_or(0).to_ne_bytes());
        for part in [name.as_bytes(), options.scope.as_deref().unwrap_or_default()] {
            wanted.extend_from_slice(&part.len().to_ne_bytes());
            wanted.extend_from_slice(part);
        }
        wanted.extend_from_slice(policy.as_bytes());
        if let Some(limiter) = limiters.get(wanted.as_slice()) {
            return Ok(limiter.clone());
        }
        let limiter = self.client.limiter_at(name, Policy::parse(policy)?, options, place)?;
        if limiters.len() >= KEPT {
            limiters.clear();
            if self.filled.compare_exchange(ROOM, TO_WARN, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                name.clone_into(last);
            }
        }
        limiters.insert(wanted.as_slice().into(), limiter.clone());
        Ok(limiter)
    }

    /// What to warn the user of, once, after the cache was full: limiters are made of what users send.
    pub fn warning(&self) -> Option<String> {
        if self.filled.load(Ordering::Relaxed) != TO_WARN || self.filled.swap(WARNED, Ordering::Relaxed) != TO_WARN {
            return None;
        }
        let known = self.known.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(format!(
            "more than {KEPT} limiters of different names, policies or options were asked for in this process, lately \"{}\": \
             they are made again each time, and their names fill metrics. Give the limiter a fixed name, and put what users \
             send (a path, an id) into the key",
            shown(known.last.as_bytes())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Options;
    use wire::base::error::Code;

    fn cache() -> LimiterCache {
        LimiterCache::new(Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap())
    }

    fn size(cache: &LimiterCache) -> usize {
        cache.known.get().map_or(0, |known| known.lock().unwrap().limiters.len())
    }

    #[test]
    fn a_limiter_is_made_once_and_not_too_many_are_kept() {
        let cache = cache();
        let left = |name: &str| {
            let limiter = cache.limiter(name, "5000/hour").unwrap();
            limiter.consume(b"k", 1).unwrap().run().unwrap().remaining
        };
        assert_eq!((left("a"), left("a"), size(&cache)), (4_999, 4_998, 1));
        (1..KEPT).for_each(|number| assert_eq!(left(&number.to_string()), 4_999));
        assert_eq!(size(&cache), KEPT);
        assert_eq!(cache.warning(), None);
        assert_eq!((left("one more"), size(&cache)), (4_999, 1));
        let warning = cache.warning().unwrap();
        assert!(warning.contains("1024") && warning.contains("one more"), "{warning}");
        (0..2 * KEPT).for_each(|number| assert!(left(&number.to_string()) < 5_000));
        assert_eq!(cache.warning(), None, "once");
        assert_eq!(left("a"), 4_997, "what was forgotten was not what was counted");
    }

    #[test]
    fn names_and_policies_are_not_mixed_up() {
        let cache = cache();
        for (name, policy, limit) in [("x", "1/s", 1), ("x1", "2/s", 2), ("x", "12/s", 12), ("x1/", "3/s", 3)] {
            let limiter = cache.limiter(name, policy).unwrap();
            assert_eq!((limiter.name(), limiter.policy().rules()[0].limit()), (name, limit));
        }
        assert_eq!(size(&cache), 4);
    }

    #[test]
    fn limiters_with_other_options_are_others() {
        let cache = cache();
        let scopes = [None, Some("1/s"), Some("s"), Some("\0")];
        for (scope, enforce) in scopes.into_iter().flat_map(|scope| [(scope, true), (scope, false)]) {
            let scope = scope.map(|scope| scope.as_bytes().to_vec());
            let make = || {
                let options = LimiterOptions { scope: scope.clone(), enforce, prefetch: None };
                cache.limiter_at("x", "1/s", options, || None).unwrap()
            };
            for limiter in [make(), make()] {
                assert_eq!((limiter.scope(), limiter.enforce()), (scope.as_deref(), enforce));
            }
        }
        assert_eq!(size(&cache), 8);
    }

    #[test]
    fn what_was_refused_is_not_kept() {
        let cache = cache();
        let code = |name: &str, policy: &str| cache.limiter(name, policy).err().unwrap().code();
        assert_eq!((code("a", "x"), code("", "1/s")), (Code::InvalidPolicy, Code::InvalidArgument));
        assert_eq!(size(&cache), 0);
    }
}
