//! The limiters behind a one-line `limit()`, which names its limiter and policy anew in each call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;
use crate::base::fork::ForkCell;
use crate::client::Client;
use crate::limiter::{Limiter, LimiterOptions};
use crate::rules::policy::Policy;

/// More limiters than a program has: one that makes them of what its users send must not fill the memory.
const KEPT: usize = 1_024;

/// A client that keeps the limiters it was asked for, by name, options and policy: up to 1,024, then all are forgotten
/// and it begins anew. What a limiter counts is not in here, so nothing is lost with one. Threads may share it; a forked
/// process begins with an empty one.
pub struct LimiterCache {
    client: Client,
    known: ForkCell<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    limiters: HashMap<Box<[u8]>, Limiter>,
    /// The name, options and policy that are looked for; kept, so that a limiter that is known costs no allocation.
    wanted: Vec<u8>,
}

impl LimiterCache {
    /// Makes an empty cache.
    pub fn new(client: Client) -> LimiterCache {
        LimiterCache { client, known: ForkCell::new() }
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
    pub fn limiter(&self, name: &str, policy: &str) -> Result<Limiter> {
        self.limiter_with(name, policy, LimiterOptions::default())
    }

    /// As [`limiter`](LimiterCache::limiter), with options.
    ///
    /// # Errors
    /// Those of [`Policy::parse`] and [`Client::limiter_with`].
    pub fn limiter_with(&self, name: &str, policy: &str, options: LimiterOptions) -> Result<Limiter> {
        let mut known = self.known.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let Known { limiters, wanted } = &mut *known;
        wanted.clear();
        wanted.extend_from_slice(&[u8::from(options.enforce), u8::from(options.scope.is_some())]);
        // With their lengths in front, no name, scope and policy look like others.
        wanted.extend_from_slice(&options.lease.unwrap_or(0).to_ne_bytes());
        for part in [name.as_bytes(), options.scope.as_deref().unwrap_or_default()] {
            wanted.extend_from_slice(&part.len().to_ne_bytes());
            wanted.extend_from_slice(part);
        }
        wanted.extend_from_slice(policy.as_bytes());
        if let Some(limiter) = limiters.get(wanted.as_slice()) {
            return Ok(limiter.clone());
        }
        let limiter = self.client.limiter_with(name, Policy::parse(policy)?, options)?;
        if limiters.len() >= KEPT {
            limiters.clear();
        }
        limiters.insert(wanted.as_slice().into(), limiter.clone());
        Ok(limiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Code;
    use crate::client::Options;

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
        assert_eq!((left("one more"), size(&cache)), (4_999, 1));
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
                cache.limiter_with("x", "1/s", LimiterOptions { scope: scope.clone(), enforce, lease: None }).unwrap()
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
