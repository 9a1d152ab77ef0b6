//! How stocks are made and opened, and the bounds of what they are given.

use crate::key;
use crate::limiter::MAX_REQUEST_ID_BYTES;
use crate::limiter::policy::MAX_PERIOD;
use wire::base::error::{Error, Result, shown, span};

/// The most units of a sale, 2^52.
pub const MAX_QUANTITY: u64 = 1 << 52;
/// The shortest hold in microseconds: 1 ms.
pub const MIN_HOLD: u64 = 1_000;
/// The longest hold in microseconds: 30 days.
pub const MAX_HOLD: u64 = 30 * DAY;
/// The hold that packages take if none is given, in microseconds: 10 minutes.
pub const DEFAULT_HOLD: u64 = 600_000_000;
/// How long what was confirmed, cancelled or restocked is remembered at least, in microseconds: a day. Who is told of a
/// payment may be told again hours later, and "not held any more" would have the shop pay back what it sold.
pub const SETTLED_MEMORY: u64 = DAY;
/// The fewest entries a ledger can be capped at.
pub const MIN_LEDGER_CAP: u64 = 1_000;
/// The most entries a ledger can be capped at.
pub const MAX_LEDGER_CAP: u64 = 100_000_000;
/// The default cap of a ledger.
pub const DEFAULT_LEDGER_CAP: u64 = 100_000;
/// The shortest time that a sale is kept, in microseconds: a minute.
pub const MIN_STOCK_RETENTION: u64 = 60_000_000;
/// The longest time that a sale is kept, in microseconds: 36,500 days.
pub const MAX_STOCK_RETENTION: u64 = MAX_PERIOD;
/// How long a sale is kept by default, in microseconds: 30 days.
pub const DEFAULT_STOCK_RETENTION: u64 = 30 * DAY;
/// The most prizes of one opening or restock.
pub const MAX_PRIZES: usize = 10_000;
/// The most prizes of the reservations that one call confirms or cancels, and about the most that one returns or lists.
pub const MAX_PRIZES_MOVED: u64 = 2_000;
/// The most prizes that one take gets, of all its stocks together.
pub const MAX_PRIZES_OF_A_TAKE: u64 = 1_000;
/// The longest prize in bytes.
pub const MAX_PRIZE_BYTES: usize = 1_024;
/// The most stocks of one [`Client::take_all`](crate::Client::take_all).
pub const MAX_STOCKS: usize = 100;
/// The most reservations of one [`Client::confirm_all`](crate::Client::confirm_all) and its neighbours.
pub const MAX_RESERVATIONS: usize = 100;
/// The most entries of a page.
pub const MAX_PAGE: u64 = 1_000;

const DAY: u64 = 86_400_000_000;

/// How a stock is made, besides its name.
#[derive(Clone, Debug)]
pub struct StockOptions {
    /// What all keys of the stock share as their hash tag, so that several stocks lie in one slot of a cluster and can be taken
    /// from together; none: each stock is its own. It is part of where the sale is kept: all handles of a sale have the same.
    pub scope: Option<Vec<u8>>,
    /// How many entries the ledger keeps, approximately: [`MIN_LEDGER_CAP`] to [`MAX_LEDGER_CAP`]. Counts when the sale is opened.
    pub ledger_cap: u64,
    /// For how many microseconds after its end, its last hold or the last call the sale is kept, ledger included:
    /// [`MIN_STOCK_RETENTION`] to [`MAX_STOCK_RETENTION`]; half of that for certain. Calls that only read do not count, refused takes do.
    /// After that it is as if it had never been opened. Counts when the sale is opened.
    pub retention: u64,
}

impl Default for StockOptions {
    fn default() -> Self {
        StockOptions { scope: None, ledger_cap: DEFAULT_LEDGER_CAP, retention: DEFAULT_STOCK_RETENTION }
    }
}

impl StockOptions {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(scope) = &self.scope {
            key::check_scope(scope)?;
        }
        if !(MIN_LEDGER_CAP..=MAX_LEDGER_CAP).contains(&self.ledger_cap) {
            let given = self.ledger_cap;
            let message = format!("ledger_cap {given} is not between {MIN_LEDGER_CAP} and {MAX_LEDGER_CAP}: change it");
            return Err(Error::invalid(message));
        }
        if !(MIN_STOCK_RETENTION..=MAX_STOCK_RETENTION).contains(&self.retention) {
            let given = span(self.retention);
            return Err(Error::invalid(format!(
                "retention of {given} is not between 1 minute and 36500 days: change it"
            )));
        }
        Ok(())
    }
}

/// How a sale is opened, besides its quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The most units that one buyer holds and has bought, 1 to [`MAX_QUANTITY`]; none: as many as there are.
    pub per_buyer: Option<u64>,
    /// When takes end, in microseconds since the epoch by the server's clock; none: never. Confirming goes on.
    pub ends: Option<u64>,
    /// A payload of 1 to [`MAX_PRIZE_BYTES`] bytes for each unit (a coupon code, a seat), of which each reservation gets its own, in this
    /// order; empty: units have none. At most [`MAX_PRIZES`] at once, more by restocking.
    pub prizes: Vec<Vec<u8>>,
}

impl Opening {
    pub(super) fn check(&self, quantity: u64) -> Result<()> {
        if let Some(per_buyer) = self.per_buyer {
            check_quantity("per_buyer", per_buyer)?;
        }
        if let Some(ends) = self.ends.filter(|ends| *ends == 0 || *ends > 1 << 52) {
            return Err(Error::invalid(format!(
                "ends {ends} is not a time in microseconds since the epoch: change it"
            )));
        }
        check_prizes(quantity, &self.prizes)
    }
}

pub(super) fn check_quantity(what: &str, quantity: u64) -> Result<()> {
    if quantity == 0 || quantity > MAX_QUANTITY {
        return Err(Error::invalid(format!("{what} {quantity} is not between 1 and {MAX_QUANTITY} (2^52): change it")));
    }
    Ok(())
}

/// Checks prizes for so many units; none are for a sale without.
pub(super) fn check_prizes(quantity: u64, prizes: &[Vec<u8>]) -> Result<()> {
    if prizes.is_empty() {
        return Ok(());
    }
    if prizes.len() > MAX_PRIZES {
        let given = prizes.len();
        return Err(Error::invalid(format!("{given} prizes are more than {MAX_PRIZES}: restock with the others")));
    }
    if prizes.len() as u64 != quantity {
        let given = prizes.len();
        return Err(Error::invalid(format!("{given} prizes do not match {quantity} units: give one for each unit")));
    }
    for (at, prize) in prizes.iter().enumerate() {
        if prize.is_empty() || prize.len() > MAX_PRIZE_BYTES {
            let (number, length) = (at + 1, prize.len());
            return Err(Error::invalid(format!("prize {number} has {length} bytes: give 1 to {MAX_PRIZE_BYTES}")));
        }
    }
    Ok(())
}

pub(super) fn check_hold(hold: u64) -> Result<()> {
    if !(MIN_HOLD..=MAX_HOLD).contains(&hold) {
        return Err(Error::invalid(format!("hold of {} is not between 1 ms and 30 days: change it", span(hold))));
    }
    Ok(())
}

pub(super) fn check_count(count: u64) -> Result<()> {
    if count == 0 || count > MAX_PAGE {
        return Err(Error::invalid(format!("count {count} is not between 1 and {MAX_PAGE}: change it")));
    }
    Ok(())
}

pub(super) fn check_request_id(id: &[u8]) -> Result<()> {
    if id.is_empty() || id.len() > MAX_REQUEST_ID_BYTES {
        let (id, length) = (shown(id), id.len());
        let message =
            format!("request_id \"{id}\" has {length} bytes: give 1 to {MAX_REQUEST_ID_BYTES}, such as a UUID");
        return Err(Error::invalid(message));
    }
    Ok(())
}
