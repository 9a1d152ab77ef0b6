//! `Quotalock\Stock`.

use std::borrow::Cow;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{
    DEFAULT_HOLD, DEFAULT_LEDGER_CAP, DEFAULT_STOCK_RETENTION, Opening, StockOptions, StockPage, StockStatus, Taken,
};

use crate::argument::{Int, Key, Keys, Maybe, Text};
use crate::call;
use crate::exception::Outcome;
use crate::property::{self, Array, Property, Type};
use crate::record::{Recorded, Shown, list};
use crate::registry::Handle;
use crate::unkept;

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("name", Type::Text), ("scope", Type::MaybeText), ("redisKeys", Type::Array)];

/// The default of how long units are held.
pub const HOLD_MS: i64 = (DEFAULT_HOLD / 1_000) as i64;
/// The default of how many entries a ledger keeps.
pub const LEDGER_CAP: i64 = DEFAULT_LEDGER_CAP as i64;
/// The default of how long a sale is kept.
pub const RETENTION_MS: i64 = (DEFAULT_STOCK_RETENTION / 1_000) as i64;
/// The default of how much of a list is read.
const COUNT: i64 = 100;

/// The units of a sale; it works for as long as the client that made it is open.
#[php_class]
#[php(name = "Quotalock\\Stock")]
pub struct Stock {
    stock: quotalock::Stock,
    handle: Rc<Handle>,
}

impl Stock {
    /// The PHP object; `name`, `scope`, `ledger_cap` and `retention` are the first four arguments of the method that makes it.
    pub fn make(
        handle: &Rc<Handle>,
        name: &Text,
        scope: &Maybe<Key>,
        [ledger_cap, retention]: [Int; 2],
    ) -> Outcome<ZBox<ZendClassObject<Stock>>> {
        let options = StockOptions {
            scope: scope.bytes(2)?.map(Cow::into_owned),
            ledger_cap: ledger_cap.unsigned(3, "ledger_cap")?,
            retention: retention.micros(4, "retention")?,
        };
        let stock = handle.shared()?.core().stock(&name.bytes(1)?, options)?;
        let properties = [
            property::text(stock.name()),
            stock.scope().map_or_else(Zval::null, property::text),
            list(stock.redis_keys(), |key| property::text(key)),
        ];
        let mut object = ZendClassObject::new(Stock { stock, handle: handle.clone() });
        property::fill(&mut object.std, 0, properties);
        Ok(object)
    }

    /// The stock of the core.
    ///
    /// # Errors
    /// `closed` if its client was.
    pub fn stock(&self) -> quotalock::Result<&quotalock::Stock> {
        self.handle.check().map(|()| &self.stock)
    }
}

/// Prizes as the core takes them.
fn prizes(given: &Maybe<Keys>, position: u32) -> Outcome<Vec<Vec<u8>>> {
    Ok(given.0.as_ref().map(|prizes| prizes.get(position, "prizes")).transpose()?.unwrap_or_default())
}

/// A cursor or an id, if one is given.
fn place<'a>(given: &Maybe<Text<'a>>, position: u32, what: &str) -> Outcome<Option<Cow<'a, str>>> {
    given.0.as_ref().map(|text| text.utf8(position, what)).transpose()
}

#[php_impl]
impl Stock {
    /// Opens the sale with so many units; false if it is open with the same numbers.
    pub fn open(&self, quantity: Int, perBuyer: Maybe<Int>, endsMs: Maybe<Int>, prizes: Maybe<Keys>) -> Outcome<bool> {
        let op = {
            let quantity = quantity.unsigned(1, "quantity")?;
            let per_buyer = perBuyer.0.map(|most| most.unsigned(2, "per_buyer")).transpose()?;
            let ends = endsMs.0.map(|ends| ends.micros(3, "ends")).transpose()?;
            let prizes = self::prizes(&prizes, 4)?;
            self.stock()?.open(quantity, Opening { per_buyer, ends, prizes })?
        };
        call::run(op)
    }

    /// Ends the sale now, for good; false if it had ended before.
    pub fn close(&self) -> Outcome<bool> {
        let op = self.stock()?.close()?;
        call::run(op)
    }

    /// Adds units; answers how many there are now.
    pub fn restock(&self, quantity: Int, prizes: Maybe<Keys>, requestId: Maybe<Key>) -> Outcome<i64> {
        let op = {
            let (quantity, prizes) = (quantity.unsigned(1, "quantity")?, self::prizes(&prizes, 2)?);
            self.stock()?.restock(quantity, &prizes, requestId.bytes(3)?.as_deref())?
        };
        // A sale has at most 2^52 units.
        call::run(op).map(|quantity: u64| quantity as i64)
    }

    /// Holds units for a buyer, or says why not.
    #[php(defaults(quantity = 1, holdMs = HOLD_MS))]
    pub fn take(&self, buyer: Key, quantity: Int, holdMs: Int, requestId: Maybe<Key>) -> Outcome<Shown<Taken>> {
        let op = {
            let (buyer, quantity) = (buyer.bytes(1)?, quantity.unsigned(2, "quantity")?);
            let (hold, id) = (holdMs.micros(3, "hold")?, requestId.bytes(4)?);
            self.stock()?.take(&buyer, quantity, hold, id.as_deref())?
        };
        let taken = call::run(op)?;
        // By its request id a take is told again.
        if taken.reservation.is_some() && requestId.0.is_none() && unkept::is_returned() {
            return unkept::warn(self.stock.unkept(), Shown(taken));
        }
        Ok(Shown(taken))
    }

    /// Sells what a reservation holds; false if it was over.
    pub fn confirm(&self, id: Text) -> Outcome<bool> {
        let op = self.stock()?.confirm(&id.utf8(1, "id")?)?;
        call::run(op)
    }

    /// Returns what a reservation holds to stock; false if it was over.
    pub fn cancel(&self, id: Text) -> Outcome<bool> {
        let op = self.stock()?.cancel(&id.utf8(1, "id")?)?;
        call::run(op)
    }

    /// Makes a hold last for at least `holdMs` from now; false if it was over.
    #[php(defaults(holdMs = HOLD_MS))]
    pub fn extend(&self, id: Text, holdMs: Int) -> Outcome<bool> {
        let op = self.stock()?.extend(&id.utf8(1, "id")?, holdMs.micros(2, "hold")?)?;
        call::run(op)
    }

    /// The numbers of the sale.
    pub fn status(&self) -> Outcome<Shown<StockStatus>> {
        call::run(self.stock()?.status()).map(Shown)
    }

    /// Lists holds in the order in which they end.
    #[php(defaults(count = COUNT))]
    pub fn reservations(&self, cursor: Maybe<Text>, count: Int) -> Outcome<Shown<StockPage>> {
        let op = {
            let (cursor, count) = (place(&cursor, 1, "cursor")?, count.unsigned(2, "count")?);
            self.stock()?.reservations(cursor.as_deref(), count)?
        };
        call::run(op).map(Shown)
    }

    /// Reads entries of the ledger, those after the one with this id.
    #[php(defaults(count = COUNT))]
    pub fn ledger(&self, after: Maybe<Text>, count: Int) -> Outcome<Array> {
        let op = {
            let (after, count) = (place(&after, 1, "after")?, count.unsigned(2, "count")?);
            self.stock()?.ledger(after.as_deref(), count)?
        };
        call::run(op).map(|entries| Array(list(&entries, Recorded::shown)))
    }
}
