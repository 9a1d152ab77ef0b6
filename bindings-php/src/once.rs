//! `Quotalock\Once`.

use std::borrow::Cow;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::{Claimed, OnceOptions};

use crate::argument::{Function, Int, Key, Maybe, Text};
use crate::call::{self, Stop};
use crate::exception::Outcome;
use crate::load::{self, Form};
use crate::property::{self, Bytes, MaybeBytes, Property, Type};
use crate::record::Shown;
use crate::registry::Handle;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("name", Type::Text)];
/// What the class is called.
pub const NAME: &str = "Quotalock\\Once";

/// The default of how long a claim or a result is remembered: a day.
pub const TTL_MS: i64 = 86_400_000;

/// What is done once for each id; it works for as long as the client that made it is open.
#[php_class]
#[php(name = "Quotalock\\Once")]
pub struct Once {
    once: quotalock::Once,
    handle: Rc<Handle>,
}

impl Once {
    /// The PHP object; `name`, `ttl`, `lease` and `error_ttl` are the first four arguments of the method that makes it.
    pub fn make(
        handle: &Rc<Handle>,
        name: &Text,
        [ttl, lease, error_ttl]: [Int; 3],
    ) -> Outcome<ZBox<ZendClassObject<Once>>> {
        let name = name.utf8(1, "name")?;
        let options = OnceOptions {
            ttl: ttl.micros(2, "ttl")?,
            lease: lease.micros(3, "lease")?,
            error_ttl: error_ttl.micros(4, "error_ttl")?,
        };
        let once = handle.shared()?.core().once(&name, options)?;
        let mut object = ZendClassObject::new(Once { once, handle: handle.clone() });
        property::fill(&mut object.std, 0, [property::text(&*name)]);
        Ok(object)
    }
}

#[php_impl]
impl Once {
    /// Claims an id; tells whether this caller is the first, and what the first gave.
    pub fn claim(&self, id: Key, value: Maybe<Text>) -> Outcome<Shown<Claimed>> {
        let op = {
            let (id, value) = (id.bytes(1)?, value.0.map(|value| value.bytes(2)).transpose()?);
            self.handle.check()?;
            self.once.claim(&id, value.map(Cow::into_owned))?
        };
        call::run(op).map(Shown)
    }

    /// Forgets an id; true if there was anything.
    pub fn release(&self, id: Key) -> Outcome<bool> {
        self.handle.check()?;
        let op = self.once.release(&id.bytes(1)?)?;
        call::run(op)
    }

    /// The result of the first who ran for the id, who is this caller if nobody was.
    pub fn run(&self, id: Key, function: Function, waitMs: Maybe<Int>) -> Outcome<MaybeBytes> {
        let function = function.get(2)?;
        let getting = {
            let (id, wait) = (id.bytes(1)?, load::patience(waitMs)?);
            self.handle.check()?;
            self.once.begin(&id, wait)?
        };
        load::one(getting, function, Form::Bytes).map(MaybeBytes).map_err(Stop::follow)
    }

    /// The Redis key of an id.
    pub fn redis_key(&self, id: Key) -> Outcome<Bytes> {
        Ok(Bytes(self.once.redis_key(&id.bytes(1)?)?))
    }
}
