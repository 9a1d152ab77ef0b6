//! `Quotalock\Client`.

#![expect(clippy::too_many_arguments, reason = "a method of PHP has the parameters that its callers may name")]

use std::borrow::Cow;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::{LimiterOptions, TakenAll};

use crate::advice;
use crate::argument::{Flag, Float, Function, Int, Key, Maybe, Text};
use crate::cache::{BETA, Cache, CacheArguments, ERROR_TTL_MS, FRESH_MS, LEASE_MS, RAISE};
use crate::call;
use crate::charges::Charges;
use crate::class;
use crate::decision::DecidedAll;
use crate::exception::Outcome;
use crate::hook::Hook;
use crate::limiter::Limiter;
use crate::lock::Lock;
use crate::lock_makers::with_lock_makers;
use crate::once::{self, Once};
use crate::policy::PolicyArgument;
use crate::property::{self, Property, Type};
use crate::record::Shown;
use crate::registry::{self, Handle};
use crate::request_locks;
use crate::settings::{Arguments, REQUEST_MEMORY_MS, Settings, given_ms};
use crate::stock::{HOLD_MS, LEDGER_CAP, RETENTION_MS, Stock};
use crate::stock_pairs::StockPairs;
use crate::unkept;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("server", Type::Text), ("prefix", Type::Text)];

/// A client; objects with the same settings share connections, also with later requests of this process.
#[php_class]
#[php(name = "Quotalock\\Client")]
pub struct Client(Rc<Handle>);

impl Client {
    /// What this object holds of the shared client.
    pub fn handle(&self) -> &Rc<Handle> {
        &self.0
    }
}

// The macro adds the methods that make locks, whose parameters are written from api/surface.toml.
with_lock_makers!(
    #[php_impl]
    impl Client {
        /// Makes a client. Does no I/O.
        #[php(defaults(requestMemoryMs = REQUEST_MEMORY_MS))]
        pub fn __construct(
            url: Maybe<Text>,
            prefix: Maybe<Text>,
            timeoutMs: Maybe<Int>,
            onError: Maybe<Text>,
            requestMemoryMs: Int,
            password: Maybe<Function>,
            denyCacheMaxMs: Maybe<Int>,
            onDecision: Maybe<Function>,
            onLost: Maybe<Function>,
            report: Maybe<Flag>,
        ) -> Outcome<Client> {
            let given = Arguments {
                url: url.0.map(|text| text.utf8(1, "url")).transpose()?,
                prefix: prefix.0.map(|text| text.utf8(2, "prefix")).transpose()?,
                timeout_ms: given_ms(&timeoutMs, 3)?,
                on_error: onError.0.map(|text| text.utf8(4, "on_error")).transpose()?,
                request_memory_ms: Some(requestMemoryMs.get(5)?),
                deny_cache_max_ms: given_ms(&denyCacheMaxMs, 7)?,
                report: report.0.map(|flag| flag.get(10)).transpose()?.map(|yes| if yes { "1" } else { "0" }.into()),
            };
            let password = password.0.map(|function| function.get(6)).transpose()?;
            let hooks = [Hook::of(&onDecision, 8)?, Hook::of(&onLost, 9)?];
            let shared = registry::client(&Settings::of(given), password.is_some())?;
            class::fill_this([property::text(&shared.server), property::text(&shared.prefix)]);
            Ok(Client(Handle::new(shared, password, hooks)))
        }

        /// Makes a limiter.
        #[php(defaults(enforce = true))]
        pub fn limiter(
            &self,
            name: Text,
            policy: PolicyArgument,
            scope: Maybe<Key>,
            enforce: Flag,
            prefetch: Maybe<Int>,
        ) -> Outcome<ZBox<ZendClassObject<Limiter>>> {
            let (name, scope, enforce) = (name.utf8(1, "name")?, scope.bytes(3)?, enforce.get(4)?);
            let prefetch = prefetch.0.map(|prefetch| prefetch.unsigned(5, "prefetch")).transpose()?;
            let options = LimiterOptions { scope: scope.map(Cow::into_owned), enforce, prefetch };
            let shared = self.0.shared()?;
            let limiter = shared.limiters.limiter_at(&name, &policy.text(2)?, options, advice::place)?;
            let (limiter, warning) = (Limiter::object(limiter, self.0.clone()), shared.limiters.warning());
            drop((name, shared));
            match warning {
                Some(message) => unkept::advise(message, limiter),
                None => Ok(limiter),
            }
        }

        /// Charges several keys, each by its own limiter, if all of them admit it, else none.
        pub fn consume_all(&self, charges: Charges, requestId: Maybe<Key>) -> Outcome<DecidedAll> {
            charges.consume(&self.0, &requestId)
        }

        /// Makes a handle of a lock that was handed over, and takes its lease over.
        pub fn adopt(&self, text: Text, name: Maybe<Text>, ttlMs: Maybe<Int>) -> Outcome<ZBox<ZendClassObject<Lock>>> {
            Lock::adopt(text, name, ttlMs, &self.0)
        }

        /// Makes a handle for the units of a sale.
        #[php(defaults(ledgerCap = LEDGER_CAP, retentionMs = RETENTION_MS))]
        pub fn stock(
            &self,
            name: Text,
            scope: Maybe<Key>,
            ledgerCap: Int,
            retentionMs: Int,
        ) -> Outcome<ZBox<ZendClassObject<Stock>>> {
            Stock::make(&self.0, &name, &scope, [ledgerCap, retentionMs])
        }

        /// Holds units of several stocks for one buyer, or of none.
        #[php(defaults(holdMs = HOLD_MS))]
        pub fn take_all(
            &self,
            takes: StockPairs,
            buyer: Key,
            holdMs: Int,
            requestId: Maybe<Key>,
        ) -> Outcome<Shown<TakenAll>> {
            takes.take(&self.0, &buyer, &holdMs, &requestId)
        }

        /// Sells what several reservations hold, or nothing if one of them is over.
        pub fn confirm_all(&self, reservations: StockPairs) -> Outcome<bool> {
            let op = self.0.shared()?.core().confirm_all(&reservations.reservations()?)?;
            call::run(op)
        }

        /// Returns what several reservations hold to their stocks; false if one of them was over.
        pub fn cancel_all(&self, reservations: StockPairs) -> Outcome<bool> {
            let op = self.0.shared()?.core().cancel_all(&reservations.reservations()?)?;
            call::run(op)
        }

        /// Lengthens several holds, or none if one of them is over.
        #[php(defaults(holdMs = HOLD_MS))]
        pub fn extend_all(&self, reservations: StockPairs, holdMs: Int) -> Outcome<bool> {
            let hold = holdMs.micros(2, "hold")?;
            let op = self.0.shared()?.core().extend_all(&reservations.reservations()?, hold)?;
            call::run(op)
        }

        /// Makes a handle for what is done once for each id.
        #[php(defaults(ttlMs = once::TTL_MS, leaseMs = LEASE_MS, errorTtlMs = 0))]
        pub fn once(
            &self,
            name: Text,
            ttlMs: Int,
            leaseMs: Int,
            errorTtlMs: Int,
        ) -> Outcome<ZBox<ZendClassObject<Once>>> {
            Once::make(&self.0, &name, [ttlMs, leaseMs, errorTtlMs])
        }

        /// Makes a cache.
        #[php(defaults(
        freshMs = FRESH_MS, staleMs = 0, leaseMs = LEASE_MS, errorTtlMs = ERROR_TTL_MS, beta = BETA, whenAway = RAISE
    ))]
        pub fn cache(
            &self,
            name: Text,
            freshMs: Int,
            staleMs: Int,
            leaseMs: Int,
            negativeMs: Maybe<Int>,
            errorTtlMs: Int,
            beta: Float,
            whenAway: Text,
        ) -> Outcome<ZBox<ZendClassObject<Cache>>> {
            let given = CacheArguments {
                fresh: freshMs,
                stale: staleMs,
                lease: leaseMs,
                negative: negativeMs,
                error_ttl: errorTtlMs,
                beta,
                when_away: whenAway,
            };
            Cache::make(&self.0, &name, &given)
        }

        /// Closes this object, its limiters and its locks, which are released.
        pub fn close(&self) {
            request_locks::give_back_of(&self.0);
            self.0.close();
        }
    }
);
