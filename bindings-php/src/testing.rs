//! `Quotalock\Testing`: a time of one's own, and raw values under the limiters' keys.

use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::flags::DataType;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendClassObject, ZendHashTable, Zval};
use quotalock::testing::Stored;
use quotalock::testing::{self, TestValueKind};

use crate::argument::{Int, Maybe, Text};
use crate::call;
use crate::client::Client;
use crate::exception::Outcome;
use crate::property;

/// Holds nothing; all its methods are static.
#[php_class]
#[php(name = "Quotalock\\Testing")]
pub struct Testing;

#[php_impl]
impl Testing {
    /// Sets the time of all later calls of the client; null goes back to the server's clock.
    pub fn set_time(client: &ZendClassObject<Client>, micros: Maybe<Int>) -> Outcome<()> {
        let micros = micros.0.map(|number| number.unsigned(2, "time")).transpose()?;
        Ok(testing::set_time(client.handle().shared()?.core(), micros)?)
    }

    /// Moves the client's time on; the first call stops it.
    pub fn advance(client: &ZendClassObject<Client>, byMs: Int) -> Outcome<()> {
        let by = byMs.micros(2, "by")?;
        Ok(testing::advance(client.handle().shared()?.core(), by)?)
    }

    /// Replaces what stands at a raw Redis key.
    pub fn put(client: &ZendClassObject<Client>, redisKey: Text, kind: Text, value: Text) -> Outcome<bool> {
        let op = {
            let kind = TestValueKind::parse(&kind.utf8(3, "kind")?)?;
            testing::put(client.handle().shared()?.core(), &redisKey.bytes(2)?, kind, &value.bytes(4)?)
        };
        call::run(op)
    }

    /// Reads what stands at a raw Redis key.
    pub fn get(client: &ZendClassObject<Client>, redisKey: Text) -> Outcome<Option<Found>> {
        let op = testing::get(client.handle().shared()?.core(), &redisKey.bytes(2)?);
        Ok(call::run(op)?.map(Found))
    }
}

/// A raw value as the array `['value' => string, 'ttlMs' => ?int]`.
pub struct Found(Stored);

impl IntoZval for Found {
    const TYPE: DataType = DataType::Array;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let mut table = ZendHashTable::with_capacity(2);
        table.insert("value", property::text(self.0.value))?;
        table.insert("ttlMs", self.0.ttl_ms.map_or_else(Zval::null, property::int))?;
        zval.set_hashtable(table);
        Ok(())
    }
}
