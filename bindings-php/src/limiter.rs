//! `Quotalock\Limiter`.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{Decision, Op, Unsettled, convert};

use crate::advice;
use crate::argument::{Int, Key, Maybe, Text};
use crate::call;
use crate::decision::Decided;
use crate::exception::{Outcome, Problem};
use crate::property::{self, Bytes, Property, Type};
use crate::record::Shown;
use crate::registry::Handle;
use crate::reservation::Reservation;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[
    ("name", Type::Text),
    ("policy", Type::Text),
    ("scope", Type::MaybeText),
    ("enforce", Type::Bool),
    ("prefetch", Type::MaybeInt),
];

const SPENT: &str = "spent";

/// A limiter; it works for as long as the client that made it is open.
#[php_class]
#[php(name = "Quotalock\\Limiter")]
pub struct Limiter {
    limiter: quotalock::Limiter,
    handle: Rc<Handle>,
    /// Its name as PHP has it.
    name: Zval,
}

impl Limiter {
    /// The PHP object of a limiter.
    pub fn object(limiter: quotalock::Limiter, handle: Rc<Handle>) -> ZBox<ZendClassObject<Limiter>> {
        let name = property::text(limiter.name());
        let properties = [
            name.shallow_clone(),
            property::text(limiter.policy().to_string()),
            limiter.scope().map_or_else(Zval::null, property::text),
            property::bool(limiter.enforce()),
            property::maybe(limiter.prefetch(), property::int),
        ];
        let mut object = ZendClassObject::new(Limiter { limiter, handle, name });
        property::fill(&mut object.std, 0, properties);
        object
    }

    /// The limiter of the core.
    ///
    /// # Errors
    /// `closed` if its client was.
    pub fn limiter(&self) -> quotalock::Result<&quotalock::Limiter> {
        self.handle.check().map(|()| &self.limiter)
    }

    fn decided(&self, decision: &Decision) -> Decided {
        Decided::new(decision, &self.name)
    }

    /// Makes a call that decides, and tells of it. As of [`call::run`].
    fn decide(&self, key: &Key, op: Op<Decision>) -> Outcome<Decided> {
        let decided = call::run(op).map(|decision| self.decided(&decision));
        self.tell(key, decided)
    }

    /// Tells of what was decided.
    #[inline]
    fn tell(&self, key: &Key, decided: Outcome<Decided>) -> Outcome<Decided> {
        let decided = advice::after(decided);
        match self.handle.on_decision() {
            None => decided,
            Some(hook) => hook.after(key.0, decided),
        }
    }
}

#[php_impl]
impl Limiter {
    /// Charges `cost` to every rule if all admit it, else to none.
    #[php(defaults(cost = 1))]
    pub fn consume(&self, key: Key, cost: Int, requestId: Maybe<Key>) -> Outcome<Decided> {
        let (bytes, cost, id) = (key.bytes(1)?, cost.unsigned(2, "cost")?, requestId.bytes(3)?);
        let limiter = self.limiter()?;
        let shown = |decision: &Decision| self.decided(decision);
        let at_once = if id.is_none() { limiter.consume_at_once_with(&bytes, cost, shown) } else { None };
        let Some(decided) = at_once else {
            let op = limiter.consume_once(&bytes, cost, id.as_deref())?;
            drop((bytes, id));
            return self.decide(&key, op);
        };
        drop((bytes, id));
        self.tell(&key, decided.map_err(Problem::from))
    }

    /// Charges as much as is admitted now, up to `most`.
    pub fn consume_up_to(&self, key: Key, most: Int) -> Outcome<Decided> {
        let op = self.limiter()?.consume_up_to(&key.bytes(1)?, most.unsigned(2, "most")?)?;
        self.decide(&key, op)
    }

    /// Charges `estimate` and holds it for `ttlMs`, to be settled with the actual amount.
    #[php(defaults(unsettled = SPENT))]
    pub fn reserve(
        &self,
        key: Key,
        estimate: Int,
        ttlMs: Int,
        unsettled: Text,
    ) -> Outcome<ZBox<ZendClassObject<Reservation>>> {
        let (reservation, op) = {
            let (key, estimate, ttl) = (key.bytes(1)?, estimate.unsigned(2, "estimate")?, ttlMs.micros(3, "ttl")?);
            let unsettled = Unsettled::parse(&unsettled.utf8(4, "unsettled")?)?;
            self.limiter()?.reserve(&key, estimate, ttl, unsettled)?
        };
        Reservation::decided(Reservation::object(reservation, self.handle.clone()), op, key.0)
    }

    /// The reservation of this id, made here or in another process. Does no I/O.
    pub fn reservation(&self, key: Key, id: Text) -> Outcome<ZBox<ZendClassObject<Reservation>>> {
        let reservation = self.limiter()?.reservation(&key.bytes(1)?, &id.utf8(2, "id")?)?;
        Ok(Reservation::object(reservation, self.handle.clone()))
    }

    /// Tells what `consume` would return, and never writes.
    #[php(defaults(cost = 1))]
    pub fn peek(&self, key: Key, cost: Int) -> Outcome<Shown<Decision>> {
        let op = self.limiter()?.peek(&key.bytes(1)?, cost.unsigned(2, "cost")?)?;
        call::run(op).map(Shown)
    }

    /// As `consume`, but a denial is thrown.
    #[php(defaults(cost = 1))]
    pub fn require(&self, key: Key, cost: Int) -> Outcome<Decided> {
        let (bytes, cost, limiter) = (key.bytes(1)?, cost.unsigned(2, "cost")?, self.limiter()?);
        let Some(decided) = limiter.require_at_once(&bytes, cost) else {
            let op = limiter.require(&bytes, cost)?;
            drop(bytes);
            return self.decide(&key, op);
        };
        let decided = decided.map(|decision| self.decided(&decision));
        drop(bytes);
        self.tell(&key, decided.map_err(Problem::from))
    }

    /// As `consume`, and after a denial sleeps as it says and tries again, at most for `timeoutMs`.
    #[php(defaults(cost = 1))]
    pub fn wait(&self, key: Key, timeoutMs: Int, cost: Int) -> Outcome<Decided> {
        let (timeout, cost) = (timeoutMs.micros(2, "timeout")?, cost.unsigned(3, "cost")?);
        let op = self.limiter()?.wait(&key.bytes(1)?, cost, convert::duration(timeout))?;
        self.decide(&key, op)
    }

    /// Gives back what was consumed.
    pub fn refund(&self, key: Key, amount: Int, requestId: Maybe<Key>) -> Outcome<Shown<Decision>> {
        let op = {
            let (key, amount, id) = (key.bytes(1)?, amount.unsigned(2, "amount")?, requestId.bytes(3)?);
            self.limiter()?.refund_once(&key, amount, id.as_deref())?
        };
        call::run(op).map(Shown)
    }

    /// Denies everything for `durationMs`.
    pub fn block(&self, key: Key, durationMs: Int) -> Outcome<Shown<Decision>> {
        let op = self.limiter()?.block(&key.bytes(1)?, durationMs.micros(2, "duration")?)?;
        call::run(op).map(Shown)
    }

    /// Forgets everything about the key; true if there was anything.
    pub fn reset(&self, key: Key) -> Outcome<bool> {
        let op = self.limiter()?.reset(&key.bytes(1)?)?;
        call::run(op)
    }

    /// The Redis key that holds the state of `key`.
    pub fn redis_key(&self, key: Key) -> Outcome<Bytes> {
        Ok(Bytes(self.limiter.redis_key(&key.bytes(1)?)?))
    }
}
