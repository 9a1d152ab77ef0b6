//! Stocks: units of a sale that are held, then sold or returned; never more than there are. See ADR 11.

mod close;
mod extend;
mod id;
mod ledger;
mod ledger_entry;
mod open;
mod options;
mod request_memory;
mod reservations;
mod restock;
mod sale;
mod scripts;
mod settle;
mod status;
mod stored;
mod take;

use std::sync::Arc;

use crate::client::Client;
use crate::key;
use close::Close;
use extend::ExtendHolds;
pub(crate) use id::Id;
use id::StockHold;
use ledger::ReadLedger;
pub use ledger_entry::{LedgerEntry, LedgerKind};
use open::OpenSale;
pub use options::{
    DEFAULT_HOLD, DEFAULT_LEDGER_CAP, DEFAULT_STOCK_RETENTION, MAX_HOLD, MAX_LEDGER_CAP, MAX_PAGE, MAX_PRIZE_BYTES,
    MAX_PRIZES, MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE, MAX_QUANTITY, MAX_RESERVATIONS, MAX_STOCK_RETENTION,
    MAX_STOCKS, MIN_HOLD, MIN_LEDGER_CAP, MIN_STOCK_RETENTION, Opening, SETTLED_MEMORY, StockOptions,
};
use options::{check_count, check_hold, check_prizes, check_quantity, check_request_id};
use request_memory::StockRequestMemory;
use reservations::{PageCursor, Reservations};
pub use reservations::{StockPage, StockReservation};
use restock::Restock;
pub(crate) use scripts::scripts;
use settle::{Settle, Settlement};
use status::Status;
pub use status::{StockPhase, StockStatus};
pub use stored::StoredStock;
use take::Take;
pub use take::{TakeOutcome, Taken, TakenAll};
use wire::base::error::{Code, Error, Result, shown};
use wire::base::random;
use wire::metrics::TakeCounters;
use wire::op::Op;

/// The units of one sale. Cheap to clone; made by [`Client::stock`].
///
/// Every method describes a call: `.run()` it on this thread or `.await` it. All of them can fail with `unavailable`,
/// `timeout`, `not_permitted`, `wrong_type` and `closed`, whatever `on_error` says, and with `invalid_argument` for what can
/// never be right, before anything is sent.
///
/// In every state that anybody can see, `available + held + sold` are all the units there are. A hold that is over returns
/// to stock at the next call that writes, 16 of them a call; a take that would be refused looks at up to 256. All calls may be repeated after a lost
/// reply and are, within the client's timeout: nothing is taken, sold or added twice.
#[derive(Clone)]
pub struct Stock {
    client: Client,
    target: Arc<SaleTarget>,
    options: Arc<StockOptions>,
}

/// Where a sale is kept.
struct SaleTarget {
    name: Vec<u8>,
    /// Hash, holds, ledger.
    keys: [Vec<u8>; 3],
    /// What it is called in messages: `stock "sale:42"`.
    shown: String,
    /// Where it is counted what became of those who took of it.
    counters: TakeCounters,
}

impl Client {
    /// Makes a handle for the units of a sale, by its name: 1 to 1,024 bytes of anything. Does no I/O; [`Stock::open`] makes
    /// the sale itself.
    ///
    /// # Errors
    /// `invalid_argument` for an empty or too long name, or options out of bounds.
    pub fn stock(&self, name: &[u8], options: StockOptions) -> Result<Stock> {
        key::check_stock_name(name)?;
        options.check()?;
        let whole = key::complete(&key::stock_stem(&self.prefix, options.scope.as_deref()), name);
        let target = SaleTarget {
            name: name.to_vec(),
            keys: [whole.clone(), [&whole, b":holds".as_slice()].concat(), [&whole, b":ledger".as_slice()].concat()],
            shown: format!("stock \"{}\"", shown(name)),
            counters: TakeCounters::of(name),
        };
        Ok(Stock { client: self.clone(), target: Arc::new(target), options: Arc::new(options) })
    }

    /// Holds units of several stocks, each so many, for one buyer, or of none: one atomic call. 1 to [`MAX_STOCKS`] stocks of
    /// this client, none twice; else as [`Stock::take`]. The reservations are ordinary ones, each of its stock;
    /// [`confirm_all`](Client::confirm_all) sells all of them or none. In a cluster the stocks need a common [`scope`](StockOptions::scope).
    ///
    /// A request id belongs to the first of the stocks, by their Redis keys, and the buyer.
    ///
    /// # Errors
    /// As [`Stock::take`]; `invalid_argument` for no stock, too many, one twice or of another client, or a request id that was
    /// used for other stocks; `cross_slot` where a cluster cannot decide at once.
    pub fn take_all(
        &self,
        items: &[(&Stock, u64)],
        buyer: &[u8],
        hold: u64,
        request_id: Option<&[u8]>,
    ) -> Result<Op<TakenAll>> {
        self.take_all_as(random::bytes()?, items, buyer, hold, request_id)
    }

    pub(crate) fn take_all_as(
        &self,
        id: Id,
        items: &[(&Stock, u64)],
        buyer: &[u8],
        hold: u64,
        request_id: Option<&[u8]>,
    ) -> Result<Op<TakenAll>> {
        if items.is_empty() {
            return Err(Error::invalid("take_all was given no stock: give at least one"));
        }
        if items.len() > MAX_STOCKS {
            return Err(Error::invalid(format!("{} stocks are more than {MAX_STOCKS}: give fewer", items.len())));
        }
        let mut targets: Vec<(Arc<SaleTarget>, u64, usize)> = Vec::with_capacity(items.len());
        for (at, (stock, quantity)) in items.iter().enumerate() {
            self.check_own(stock)?;
            if targets.iter().any(|(target, ..)| target.keys[0] == stock.target.keys[0]) {
                let message = format!("{} is given twice: give it once, with both quantities", stock.target.shown);
                return Err(Error::invalid(message));
            }
            targets.push((stock.target.clone(), *quantity, at));
        }
        // The same stocks in another order are the same request.
        targets.sort_by(|(a, ..), (b, ..)| a.keys[0].cmp(&b.keys[0]));
        Ok(Op::new(&self.session, Box::new(Take::new(self, targets, "take_all", buyer, hold, request_id, id)?), None))
    }

    /// Sells what several reservations hold, or nothing if one of them is over: one atomic call. 1 to [`MAX_RESERVATIONS`], each
    /// with its stock; else as [`Stock::confirm`].
    ///
    /// # Errors
    /// As [`Stock::confirm`], and for no reservation, too many, one twice, or more than [`MAX_PRIZES_MOVED`] prizes; `cross_slot` where a cluster cannot do it at once.
    pub fn confirm_all(&self, reservations: &[(&Stock, &str)]) -> Result<Op<bool>> {
        self.settle(reservations, Settlement::Confirm)
    }

    /// Returns what several reservations hold to their stocks: one atomic call. Those that hold return even if others are over;
    /// true if all of them held, or had been cancelled. Else as [`confirm_all`](Client::confirm_all).
    ///
    /// # Errors
    /// As [`confirm_all`](Client::confirm_all).
    pub fn cancel_all(&self, reservations: &[(&Stock, &str)]) -> Result<Op<bool>> {
        self.settle(reservations, Settlement::Cancel)
    }

    /// Lengthens several holds, or none if one of them is over: one atomic call. Else as [`Stock::extend`].
    ///
    /// # Errors
    /// As [`Stock::extend`] and [`confirm_all`](Client::confirm_all).
    pub fn extend_all(&self, reservations: &[(&Stock, &str)], hold: u64) -> Result<Op<bool>> {
        check_hold(hold)?;
        Ok(Op::new(&self.session, Box::new(ExtendHolds { items: self.held(reservations)?, hold }), None))
    }

    fn settle(&self, reservations: &[(&Stock, &str)], settlement: Settlement) -> Result<Op<bool>> {
        let items = self.held(reservations)?;
        Ok(Op::new(&self.session, Box::new(Settle::new(items, settlement, self.settled_memory())), None))
    }

    /// How long what was settled or restocked is remembered, in microseconds.
    fn settled_memory(&self) -> u64 {
        self.repeat_memory(SETTLED_MEMORY)
    }

    /// How long what may be repeated is remembered, in microseconds: for so long, and until this client repeats it no more.
    fn repeat_memory(&self, at_least: u64) -> u64 {
        at_least.max(self.request_memory)
    }

    /// What these reservations hold, by their ids.
    fn held(&self, reservations: &[(&Stock, &str)]) -> Result<Vec<(Arc<SaleTarget>, StockHold)>> {
        if reservations.is_empty() {
            return Err(Error::invalid("no reservation was given: give at least one"));
        }
        if reservations.len() > MAX_RESERVATIONS {
            let given = reservations.len();
            return Err(Error::invalid(format!("{given} reservations are more than {MAX_RESERVATIONS}: give fewer")));
        }
        let mut held: Vec<(Arc<SaleTarget>, StockHold)> = Vec::with_capacity(reservations.len());
        for (stock, id) in reservations {
            self.check_own(stock)?;
            let hold = id::decode(&stock.target, id)?;
            if held.iter().any(|(target, other)| target.keys[0] == stock.target.keys[0] && *other == hold) {
                return Err(Error::invalid(format!(
                    "reservation \"{}\" is given twice: give it once",
                    shown(id.as_bytes())
                )));
            }
            held.push((stock.target.clone(), hold));
        }
        Ok(held)
    }

    fn check_own(&self, stock: &Stock) -> Result<()> {
        if Arc::ptr_eq(&stock.client.session, &self.session) {
            return Ok(());
        }
        Err(Error::invalid(format!("{} belongs to another client: make it with this one", stock.target.shown)))
    }
}

impl Stock {
    /// The name given.
    pub fn name(&self) -> &[u8] {
        &self.target.name
    }

    /// What to warn the user of a binding of, who threw away the answer of a take.
    pub fn unkept(&self) -> String {
        let name = shown(self.name());
        format!("a reservation of stock \"{name}\" was dropped: confirm or cancel it, or give the take a request id")
    }

    /// The scope given.
    pub fn scope(&self) -> Option<&[u8]> {
        self.options.scope.as_deref()
    }

    /// The Redis keys: hash, holds, ledger.
    pub fn redis_keys(&self) -> &[Vec<u8>] {
        &self.target.keys
    }

    /// Opens the sale with `quantity` units (1 to [`MAX_QUANTITY`]): true if this call opened it, false if it is open with the
    /// same quantity, limit, end and prizes; then nothing changes, whatever was restocked or taken since. The handle's
    /// [`ledger_cap`](StockOptions::ledger_cap) and [`retention`](StockOptions::retention) become the sale's.
    ///
    /// # Errors
    /// `invalid_argument` if it is open with others, which are named; for a quantity or limit out of bounds, an end that has
    /// passed, or prizes that are not as many as the units.
    pub fn open(&self, quantity: u64, opening: Opening) -> Result<Op<bool>> {
        self.open_as(random::bytes()?, quantity, opening)
    }

    pub(crate) fn open_as(&self, id: Id, quantity: u64, opening: Opening) -> Result<Op<bool>> {
        check_quantity("quantity", quantity)?;
        opening.check(quantity)?;
        let call = OpenSale { target: self.target.clone(), id, quantity, opening, options: self.options.clone() };
        Ok(Op::new(&self.client.session, Box::new(call), None))
    }

    /// Ends the sale now, for good: true if this call did, false if it had ended before. Takes answer
    /// [`Ended`](TakeOutcome::Ended), what is held can still be confirmed, cancelled and extended, and nothing else changes. The
    /// sale is kept for its [`retention`](StockOptions::retention) after the last of its holds has ended, or from now; until
    /// then its name is taken.
    ///
    /// # Errors
    /// `invalid_argument` if the sale is not open.
    pub fn close(&self) -> Result<Op<bool>> {
        self.close_as(random::bytes()?)
    }

    pub(crate) fn close_as(&self, id: Id) -> Result<Op<bool>> {
        Ok(Op::new(&self.client.session, Box::new(Close { target: self.target.clone(), id }), None))
    }

    /// Adds `quantity` units (1 to [`MAX_QUANTITY`]) to an open sale, also one that has ended, and answers how many
    /// there are now, sold ones included. A sale with prizes needs as many more, others none. With a request id, units are added once for it
    /// while it is remembered: a day, or [`Options::request_memory`](crate::Options) if that is longer.
    ///
    /// # Errors
    /// `invalid_argument` if the sale is not open, would have more than [`MAX_QUANTITY`], or for bad prizes or a bad request id.
    pub fn restock(&self, quantity: u64, prizes: &[Vec<u8>], request_id: Option<&[u8]>) -> Result<Op<u64>> {
        check_quantity("quantity", quantity)?;
        check_prizes(quantity, prizes)?;
        let id: Vec<u8> = match request_id {
            Some(id) => check_request_id(id).map(|()| id.to_vec())?,
            // So that it can be repeated.
            None => random::bytes::<16>()?.to_vec(),
        };
        let mut key = [&self.target.keys[0], b":restock:".as_slice()].concat();
        key::encode_into(&mut key, &id);
        let memory = StockRequestMemory { key, length: self.client.settled_memory() };
        let call = Restock { target: self.target.clone(), quantity, prizes: prizes.to_vec(), memory };
        Ok(Op::new(&self.client.session, Box::new(call), None))
    }

    /// Holds `quantity` units (1 to [`MAX_QUANTITY`]) for a buyer (1 to 1,024 bytes of anything) for `hold` microseconds
    /// ([`MIN_HOLD`] to [`MAX_HOLD`]), or says why not. What is not confirmed by then returns to stock.
    ///
    /// With a request id (1 to 256 bytes), which belongs to this stock and buyer, units are taken once for it: the same id gets the first
    /// reservation again, whatever happened to it, while it is remembered: as long as the hold,
    /// or [`Options::request_memory`](crate::Options) if that is longer. A refused call took nothing, so it is decided again.
    ///
    /// # Errors
    /// `invalid_argument` for a bad buyer, quantity, hold or request id, or more than [`MAX_PRIZES_OF_A_TAKE`] units with prizes.
    pub fn take(&self, buyer: &[u8], quantity: u64, hold: u64, request_id: Option<&[u8]>) -> Result<Op<Taken>> {
        self.take_as(random::bytes()?, buyer, quantity, hold, request_id)
    }

    pub(crate) fn take_as(
        &self,
        id: Id,
        buyer: &[u8],
        quantity: u64,
        hold: u64,
        request_id: Option<&[u8]>,
    ) -> Result<Op<Taken>> {
        let targets = vec![(self.target.clone(), quantity, 0)];
        let call = Take::new(&self.client, targets, "take", buyer, hold, request_id, id)?;
        Ok(Op::new(&self.client.session, Box::new(call), None))
    }

    /// Sells what a reservation holds: true, also if it was confirmed before and that is remembered (a day,
    /// or [`Options::request_memory`](crate::Options) if that is longer); false if the hold was over or cancelled: then nothing
    /// is sold. The end of the sale does not matter.
    ///
    /// # Errors
    /// `invalid_argument` for an id that is not of this stock.
    pub fn confirm(&self, id: &str) -> Result<Op<bool>> {
        self.client.confirm_all(&[(self, id)])
    }

    /// Returns what a reservation holds to stock: true, also if it was cancelled before and that is remembered; false if the
    /// hold was over or confirmed.
    ///
    /// # Errors
    /// As [`confirm`](Stock::confirm).
    pub fn cancel(&self, id: &str) -> Result<Op<bool>> {
        self.client.cancel_all(&[(self, id)])
    }

    /// Makes a hold last for at least `hold` microseconds from now ([`MIN_HOLD`] to [`MAX_HOLD`]); it never becomes shorter. False
    /// if it was over, confirmed or cancelled.
    ///
    /// # Errors
    /// As [`confirm`](Stock::confirm), and for a hold out of bounds.
    pub fn extend(&self, id: &str, hold: u64) -> Result<Op<bool>> {
        self.client.extend_all(&[(self, id)], hold)
    }

    /// The numbers of the sale, after up to 256 holds that are over have returned.
    pub fn status(&self) -> Op<StockStatus> {
        Op::new(&self.client.session, Box::new(Status { target: self.target.clone() }), None)
    }

    /// Lists holds that are not over in the order in which they end, up to `count` (1 to [`MAX_PAGE`]) from where `cursor` says:
    /// none for the first page, then the [`next`](StockPage::next) of the page before. A page ends early once it has [`MAX_PRIZES_MOVED`] prizes. What is extended meanwhile may be seen twice,
    /// and so may its neighbours that end at the same moment; nothing is left out.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor that is none of this stock, or a count out of bounds.
    pub fn reservations(&self, cursor: Option<&str>, count: u64) -> Result<Op<StockPage>> {
        check_count(count)?;
        let from = cursor.map(|cursor| PageCursor::parse(&self.target, cursor)).transpose()?;
        Ok(Op::new(&self.client.session, Box::new(Reservations { target: self.target.clone(), from, count }), None))
    }

    /// Reads up to `count` (1 to [`MAX_PAGE`]) entries of the ledger, those after the entry with the id `after`, or from the first
    /// that is kept. A page ends early once it has 1 MiB, and is empty only at the end. If you store the last id together with your own changes, you read every entry at least once, as long as the ledger keeps
    /// them; the [`number`](LedgerEntry::number)s of one sale have no gaps.
    ///
    /// # Errors
    /// `invalid_argument` for an id that is none, or a count out of bounds.
    pub fn ledger(&self, after: Option<&str>, count: u64) -> Result<Op<Vec<LedgerEntry>>> {
        check_count(count)?;
        if let Some(id) = after {
            ledger::check_entry_id(id)?;
        }
        let call = ReadLedger { target: self.target.clone(), after: after.map(str::to_owned), count };
        Ok(Op::new(&self.client.session, Box::new(call), None))
    }
}

/// The error for a state of a sale in which a call makes no sense.
fn refused(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
