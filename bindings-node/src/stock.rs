//! Stocks: handles, and their calls.

use napi::bindgen_prelude::{Buffer, BufferSlice, ClassInstance};
use napi_derive::napi;
use quotalock::{DEFAULT_HOLD, Opening, StockOptions, convert};

use crate::channel::Channel;
use crate::client::Client;
use crate::error::{Result, thrown};

/// The units of a sale.
#[napi]
pub struct Stock {
    inner: quotalock::Stock,
}

#[napi]
impl Client {
    /// Makes a handle for the units of a sale; what is missing is as the core has it.
    #[napi(catch_unwind)]
    pub fn stock(
        &self,
        name: BufferSlice,
        scope: Option<BufferSlice>,
        ledger_cap: Option<f64>,
        retention_ms: Option<f64>,
    ) -> Result<Stock> {
        let base = StockOptions::default();
        let make = || {
            let ledger_cap =
                ledger_cap.map_or(Ok(base.ledger_cap), |cap| convert::unsigned_float("ledger_cap", cap))?;
            let retention =
                retention_ms.map_or(Ok(base.retention), |ms| convert::micros_from_float_ms("retention", ms))?;
            let scope = scope.map(|scope| scope.to_vec());
            self.inner.stock(&name, StockOptions { scope, ledger_cap, retention })
        };
        make().map(|inner| Stock { inner }).map_err(thrown)
    }
}

#[napi]
impl Stock {
    /// The Redis keys: hash, holds, ledger.
    #[napi(getter, catch_unwind)]
    pub fn redis_keys(&self) -> Vec<Buffer> {
        self.inner.redis_keys().iter().map(|key| key.clone().into()).collect()
    }
}

#[napi]
impl Channel {
    /// Describes an opening.
    #[napi(catch_unwind)]
    pub fn open(
        &mut self,
        stock: &Stock,
        quantity: f64,
        per_buyer: Option<f64>,
        ends_ms: Option<f64>,
        prizes: Vec<Buffer>,
    ) -> Result<()> {
        self.describe(|_| {
            let per_buyer = per_buyer.map(|most| convert::unsigned_float("per_buyer", most)).transpose()?;
            // Whether there is such a time, the core says.
            let ends =
                ends_ms.map(|ms| convert::unsigned_float("ends", ms)).transpose()?.map(|ms| ms.saturating_mul(1_000));
            let opening = Opening { per_buyer, ends, prizes: owned(&prizes) };
            Ok(stock.inner.open(convert::unsigned_float("quantity", quantity)?, opening)?.erased())
        })
    }

    /// Describes that a sale ends now.
    #[napi(catch_unwind)]
    pub fn close_stock(&mut self, stock: &Stock) -> Result<()> {
        self.describe(|_| Ok(stock.inner.close()?.erased()))
    }

    /// Describes that units are added.
    #[napi(catch_unwind)]
    pub fn restock(
        &mut self,
        stock: &Stock,
        quantity: f64,
        prizes: Vec<Buffer>,
        request_id: Option<BufferSlice>,
    ) -> Result<()> {
        self.describe(|_| {
            let quantity = convert::unsigned_float("quantity", quantity)?;
            Ok(stock.inner.restock(quantity, &owned(&prizes), request_id.as_deref())?.erased())
        })
    }

    /// Describes a take.
    #[napi(catch_unwind)]
    pub fn take(
        &mut self,
        stock: &Stock,
        buyer: BufferSlice,
        quantity: f64,
        hold_ms: Option<f64>,
        request_id: Option<BufferSlice>,
    ) -> Result<()> {
        self.describe(|_| {
            let (quantity, hold) = (convert::unsigned_float("quantity", quantity)?, hold(hold_ms)?);
            Ok(stock.inner.take(&buyer, quantity, hold, request_id.as_deref())?.erased())
        })
    }

    /// Describes a take of several stocks, of each so many.
    #[napi(catch_unwind)]
    pub fn take_all(
        &mut self,
        client: &Client,
        stocks: Vec<ClassInstance<Stock>>,
        quantities: Vec<f64>,
        buyer: BufferSlice,
        hold_ms: Option<f64>,
        request_id: Option<BufferSlice>,
    ) -> Result<()> {
        self.describe(|_| {
            let quantities: quotalock::Result<Vec<u64>> =
                quantities.iter().map(|quantity| convert::unsigned_float("quantity", *quantity)).collect();
            let takes: Vec<_> = stocks.iter().map(|stock| &stock.inner).zip(quantities?).collect();
            Ok(client.inner.take_all(&takes, &buyer, hold(hold_ms)?, request_id.as_deref())?.erased())
        })
    }

    /// Describes that reservations, each of its stock, are sold.
    #[napi(catch_unwind)]
    pub fn confirm_all(&mut self, client: &Client, stocks: Vec<ClassInstance<Stock>>, ids: Vec<String>) -> Result<()> {
        self.describe(|_| Ok(client.inner.confirm_all(&pairs(&stocks, &ids))?.erased()))
    }

    /// Describes that reservations, each of its stock, are returned.
    #[napi(catch_unwind)]
    pub fn cancel_all(&mut self, client: &Client, stocks: Vec<ClassInstance<Stock>>, ids: Vec<String>) -> Result<()> {
        self.describe(|_| Ok(client.inner.cancel_all(&pairs(&stocks, &ids))?.erased()))
    }

    /// Describes that reservations, each of its stock, are held longer.
    #[napi(catch_unwind)]
    pub fn extend_all(
        &mut self,
        client: &Client,
        stocks: Vec<ClassInstance<Stock>>,
        ids: Vec<String>,
        hold_ms: Option<f64>,
    ) -> Result<()> {
        self.describe(|_| Ok(client.inner.extend_all(&pairs(&stocks, &ids), hold(hold_ms)?)?.erased()))
    }

    /// Describes that a reservation is sold.
    #[napi(catch_unwind)]
    pub fn confirm_taken(&mut self, stock: &Stock, id: String) -> Result<()> {
        self.describe(|_| Ok(stock.inner.confirm(&id)?.erased()))
    }

    /// Describes that a reservation is returned.
    #[napi(catch_unwind)]
    pub fn cancel_taken(&mut self, stock: &Stock, id: String) -> Result<()> {
        self.describe(|_| Ok(stock.inner.cancel(&id)?.erased()))
    }

    /// Describes that a reservation is held longer.
    #[napi(catch_unwind)]
    pub fn extend_taken(&mut self, stock: &Stock, id: String, hold_ms: Option<f64>) -> Result<()> {
        self.describe(|_| Ok(stock.inner.extend(&id, hold(hold_ms)?)?.erased()))
    }

    /// Describes a look at the sale.
    #[napi(catch_unwind)]
    pub fn stock_status(&mut self, stock: &Stock) -> Result<()> {
        self.describe(|_| Ok(stock.inner.status().erased()))
    }

    /// Describes a page of holds.
    #[napi(catch_unwind)]
    pub fn reservations(&mut self, stock: &Stock, cursor: Option<String>, count: f64) -> Result<()> {
        self.describe(|_| {
            Ok(stock.inner.reservations(cursor.as_deref(), convert::unsigned_float("count", count)?)?.erased())
        })
    }

    /// Describes a reading of the ledger.
    #[napi(catch_unwind)]
    pub fn ledger(&mut self, stock: &Stock, after: Option<String>, count: f64) -> Result<()> {
        self.describe(|_| Ok(stock.inner.ledger(after.as_deref(), convert::unsigned_float("count", count)?)?.erased()))
    }
}

fn hold(given_ms: Option<f64>) -> quotalock::Result<u64> {
    given_ms.map_or(Ok(DEFAULT_HOLD), |ms| convert::micros_from_float_ms("hold", ms))
}

fn owned(prizes: &[Buffer]) -> Vec<Vec<u8>> {
    prizes.iter().map(|prize| prize.to_vec()).collect()
}

fn pairs<'a>(stocks: &'a [ClassInstance<Stock>], ids: &'a [String]) -> Vec<(&'a quotalock::Stock, &'a str)> {
    stocks.iter().map(|stock| &stock.inner).zip(ids.iter().map(String::as_str)).collect()
}
