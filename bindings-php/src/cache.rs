//! `Quotalock\Cache`.

use std::borrow::Cow;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::{CacheOptions, Got, Op, Seen, WhenAway};

use crate::argument::{Float, Function, Int, Key, Keys, Maybe, OrNull, Text};
use crate::call::{self, Stop};
use crate::exception::Outcome;
use crate::load::{self, Form};
use crate::property::{self, Array, Bytes, Live, MaybeBytes, Property, Type};
use crate::record::MaybeShown;
use crate::registry::Handle;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("name", Type::Text)];
/// What the class is called.
pub const NAME: &str = "Quotalock\\Cache";

/// The default of how long a value is fresh.
pub const FRESH_MS: i64 = 60_000;
/// The default of how long a loader keeps the others from loading.
pub const LEASE_MS: i64 = (quotalock::DEFAULT_CACHE_LEASE / 1_000) as i64;
/// The default of how long it is remembered that a loader failed.
pub const ERROR_TTL_MS: i64 = (quotalock::DEFAULT_ERROR_TTL / 1_000) as i64;
/// The default of how eagerly values are refreshed.
pub const BETA: f64 = 1.0;
/// The default of what happens when Redis cannot answer.
pub const RAISE: &str = "raise";

/// A cache; it works for as long as the client that made it is open.
#[php_class]
#[php(name = "Quotalock\\Cache")]
pub struct Cache {
    cache: quotalock::Cache,
    handle: Rc<Handle>,
}

/// The arguments of the method that makes it, from the second on.
pub struct CacheArguments<'a> {
    pub fresh: Int<'a>,
    pub stale: Int<'a>,
    pub lease: Int<'a>,
    pub negative: Maybe<Int<'a>>,
    pub error_ttl: Int<'a>,
    pub beta: Float<'a>,
    pub when_away: Text<'a>,
}

impl CacheArguments<'_> {
    fn read(&self) -> Outcome<CacheOptions> {
        Ok(CacheOptions {
            fresh: self.fresh.micros(2, "fresh")?,
            stale: self.stale.micros(3, "stale")?,
            lease: self.lease.micros(4, "lease")?,
            negative: self.negative.0.as_ref().map(|negative| negative.micros(5, "negative")).transpose()?,
            error_ttl: self.error_ttl.micros(6, "error_ttl")?,
            beta: self.beta.get(7)?,
            when_away: WhenAway::parse(&self.when_away.utf8(8, "when_away")?)?,
        })
    }
}

impl Cache {
    /// The PHP object.
    pub fn make(handle: &Rc<Handle>, name: &Text, given: &CacheArguments) -> Outcome<ZBox<ZendClassObject<Cache>>> {
        let (name, options) = (name.utf8(1, "name")?, given.read()?);
        let cache = handle.shared()?.core().cache(&name, options)?;
        let mut object = ZendClassObject::new(Cache { cache, handle: handle.clone() });
        property::fill(&mut object.std, 0, [property::text(&*name)]);
        Ok(object)
    }

    fn getting(&self, key: &Key, wait: Maybe<Int>) -> Outcome<Op<Got>> {
        let (key, wait) = (key.bytes(1)?, load::patience(wait)?);
        self.handle.check()?;
        Ok(self.cache.get(&key, wait)?)
    }
}

#[php_impl]
impl Cache {
    /// The value of a key, which the function loads if there is none.
    pub fn get(&self, key: Key, load: Function, waitMs: Maybe<Int>) -> Outcome<MaybeBytes> {
        let function = load.get(2)?;
        let getting = self.getting(&key, waitMs)?;
        load::one(getting, function, Form::Bytes).map(MaybeBytes).map_err(Stop::follow)
    }

    /// The values of several keys, of which the function loads those that are not there.
    pub fn get_many(&self, keys: Keys, load: Function, waitMs: Maybe<Int>) -> Outcome<Array> {
        let function = load.get(2)?;
        let wait = load::patience(waitMs)?;
        let keys = keys.get(1, "keys")?;
        self.handle.check()?;
        load::many(&self.cache, keys, function, wait).map(Array).map_err(Stop::follow)
    }

    /// As `get`, for values of any type, which are stored as JSON.
    pub fn get_json(&self, key: Key, load: Function, waitMs: Maybe<Int>) -> Outcome<Live> {
        let function = load.get(2)?;
        let getting = self.getting(&key, waitMs)?;
        load::one(getting, function, Form::Json).map(Live).map_err(Stop::follow)
    }

    /// The value of a key, if there is one; loads nothing.
    pub fn peek(&self, key: Key) -> Outcome<MaybeShown<Seen>> {
        self.handle.check()?;
        let op = self.cache.peek(&key.bytes(1)?)?;
        call::run(op).map(MaybeShown)
    }

    /// Stores a value.
    pub fn put(&self, key: Key, value: OrNull<Text>) -> Outcome<bool> {
        let op = {
            let (key, value) = (key.bytes(1)?, value.0.map(|value| value.bytes(2)).transpose()?);
            self.handle.check()?;
            self.cache.put(&key, value.map(Cow::into_owned))?
        };
        call::run(op)
    }

    /// Forgets a key; true if there was anything.
    pub fn invalidate(&self, key: Key) -> Outcome<bool> {
        self.handle.check()?;
        let op = self.cache.invalidate(&key.bytes(1)?)?;
        call::run(op)
    }

    /// The Redis key of a key.
    pub fn redis_key(&self, key: Key) -> Outcome<Bytes> {
        Ok(Bytes(self.cache.redis_key(&key.bytes(1)?)?))
    }
}
