//! `Quotalock\Limiter`.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::convert;

use crate::argument::{Int, Key};
use crate::call;
use crate::decision::Decided;
use crate::exception::Outcome;
use crate::property::{self, Bytes, Property, Type};
use crate::registry::Handle;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("name", Type::Text), ("policy", Type::Text)];

/// A limiter; it works for as long as the client that made it is open.
#[php_class]
#[php(name = "Quotalock\\Limiter")]
pub struct Limiter {
    limiter: quotalock::Limiter,
    handle: Rc<Handle>,
}

impl Limiter {
    /// The PHP object of a limiter.
    pub fn object(limiter: quotalock::Limiter, handle: Rc<Handle>) -> ZBox<ZendClassObject<Limiter>> {
        let properties = [property::text(limiter.name()), property::text(limiter.policy().to_string())];
        let mut object = ZendClassObject::new(Limiter { limiter, handle });
        property::fill(&mut object.std, 0, properties);
        object
    }
}

#[php_impl]
impl Limiter {
    /// Charges `cost` to every rule if all admit it, else to none.
    #[php(defaults(cost = 1))]
    pub fn consume(&self, key: Key, cost: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let op = self.limiter.consume(&key.bytes(1)?, cost.unsigned(2, "cost")?)?;
        call::run(op).map(Decided)
    }

    /// Tells what `consume` would answer, and never writes.
    #[php(defaults(cost = 1))]
    pub fn peek(&self, key: Key, cost: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let op = self.limiter.peek(&key.bytes(1)?, cost.unsigned(2, "cost")?)?;
        call::run(op).map(Decided)
    }

    /// As `consume`, but a denial is thrown.
    #[php(defaults(cost = 1))]
    pub fn require(&self, key: Key, cost: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let op = self.limiter.require(&key.bytes(1)?, cost.unsigned(2, "cost")?)?;
        call::run(op).map(Decided)
    }

    /// As `consume`, and after a denial sleeps as it says and tries again, at most for `timeoutMs`.
    #[php(defaults(cost = 1))]
    pub fn wait(&self, key: Key, timeoutMs: Int, cost: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let (timeout, cost) = (timeoutMs.micros(2, "timeout")?, cost.unsigned(3, "cost")?);
        let op = self.limiter.wait(&key.bytes(1)?, cost, convert::duration(timeout))?;
        call::run(op).map(Decided)
    }

    /// Gives back what was consumed.
    pub fn refund(&self, key: Key, amount: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let op = self.limiter.refund(&key.bytes(1)?, amount.unsigned(2, "amount")?)?;
        call::run(op).map(Decided)
    }

    /// Denies everything for `durationMs`.
    pub fn block(&self, key: Key, durationMs: Int) -> Outcome<Decided> {
        self.handle.check()?;
        let op = self.limiter.block(&key.bytes(1)?, durationMs.micros(2, "duration")?)?;
        call::run(op).map(Decided)
    }

    /// Forgets everything about the key; true if there was anything.
    pub fn reset(&self, key: Key) -> Outcome<bool> {
        self.handle.check()?;
        let op = self.limiter.reset(&key.bytes(1)?)?;
        call::run(op)
    }

    /// The Redis key that holds the state of `key`.
    pub fn redis_key(&self, key: Key) -> Outcome<Bytes> {
        Ok(Bytes(self.limiter.redis_key(&key.bytes(1)?)?))
    }
}
