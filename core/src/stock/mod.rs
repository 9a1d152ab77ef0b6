//! Stocks: units of a sale that are held, then sold or returned; never more than there are. See ADR 11.

mod extend;
mod id;
mod ledger;
mod memory;
mod open;
mod options;
mod reservations;
mod restock;
mod sale;
mod settle;
mod status;
mod take;

use std::sync::Arc;

use once_cell::race::OnceBox;

use crate::client::Client;
use crate::error::{Code, Error, Result, shown};
use crate::key;
use crate::op::Op;
use crate::random;
use crate::resp::Value;
use crate::script::Script;
use extend::Extend;
use id::Hold;
pub(crate) use id::Id;
use ledger::ReadLedger;
pub use ledger::{LedgerEntry, LedgerKind};
use memory::Memory;
use open::Open;
pub use options::{
    DEFAULT_HOLD, DEFAULT_LEDGER_CAP, DEFAULT_STOCK_MEMORY, MAX_HOLD, MAX_LEDGER_CAP, MAX_PAGE, MAX_PRIZE_BYTES,
    MAX_PRIZES, MAX_PRIZES_OF_A_TAKE, MAX_QUANTITY, MAX_RESERVATIONS, MAX_STOCK_MEMORY, MAX_STOCKS, MIN_HOLD,
    MIN_LEDGER_CAP, MIN_STOCK_MEMORY, Opening, StockOptions,
};
use options::{check_count, check_hold, check_prizes, check_quantity, check_request_id};
use reservations::{Cursor, Reservations};
pub use reservations::{StockPage, StockReservation};
use restock::Restock;
use settle::{Settle, Settlement};
use status::Status;
pub use status::{StockPhase, StockStatus};
use take::Take;
pub use take::{TakeOutcome, Taken, TakenAll};

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
    place: Arc<Place>,
    options: Arc<StockOptions>,
}

/// Where a sale is kept.
struct Place {
    name: Vec<u8>,
    /// Hash, holds, ledger.
    keys: [Vec<u8>; 3],
    /// What it is called in messages: `stock "sale:42"`.
    shown: String,
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
        let whole = key::complete(&key::stock_stem(&self.shared.prefix, options.scope.as_deref()), name);
        let place = Place {
            name: name.to_vec(),
            keys: [whole.clone(), [&whole, b":holds".as_slice()].concat(), [&whole, b":ledger".as_slice()].concat()],
            shown: format!("stock \"{}\"", shown(name)),
        };
        Ok(Stock { client: self.clone(), place: Arc::new(place), options: Arc::new(options) })
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
        let mut places: Vec<(Arc<Place>, u64, usize)> = Vec::with_capacity(items.len());
        for (at, (stock, quantity)) in items.iter().enumerate() {
            self.check_own(stock)?;
            if places.iter().any(|(place, ..)| place.keys[0] == stock.place.keys[0]) {
                let message = format!("{} is given twice: give it once, with both quantities", stock.place.shown);
                return Err(Error::invalid(message));
            }
            places.push((stock.place.clone(), *quantity, at));
        }
        // The same stocks in another order are the same request.
        places.sort_by(|(a, ..), (b, ..)| a.keys[0].cmp(&b.keys[0]));
        Ok(Op::new(self, Box::new(Take::new(self, places, "take_all", buyer, hold, request_id, id)?), None))
    }

    /// Sells what several reservations hold, or nothing if one of them is over: one atomic call. 1 to [`MAX_RESERVATIONS`], each
    /// with its stock; else as [`Stock::confirm`].
    ///
    /// # Errors
    /// As [`Stock::confirm`], and for no reservation, too many, or one twice; `cross_slot` where a cluster cannot do it at once.
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
        Ok(Op::new(self, Box::new(Extend { items: self.held(reservations)?, hold }), None))
    }

    fn settle(&self, reservations: &[(&Stock, &str)], settlement: Settlement) -> Result<Op<bool>> {
        let items = self.held(reservations)?;
        Ok(Op::new(self, Box::new(Settle::new(items, settlement, self.shared.request_memory)), None))
    }

    /// What these reservations hold, by their ids.
    fn held(&self, reservations: &[(&Stock, &str)]) -> Result<Vec<(Arc<Place>, Hold)>> {
        if reservations.is_empty() {
            return Err(Error::invalid("no reservation was given: give at least one"));
        }
        if reservations.len() > MAX_RESERVATIONS {
            let given = reservations.len();
            return Err(Error::invalid(format!("{given} reservations are more than {MAX_RESERVATIONS}: give fewer")));
        }
        let mut held: Vec<(Arc<Place>, Hold)> = Vec::with_capacity(reservations.len());
        for (stock, id) in reservations {
            self.check_own(stock)?;
            let hold = id::decode(&stock.place, id)?;
            if held.iter().any(|(place, other)| place.keys[0] == stock.place.keys[0] && *other == hold) {
                return Err(Error::invalid(format!(
                    "reservation \"{}\" is given twice: give it once",
                    shown(id.as_bytes())
                )));
            }
            held.push((stock.place.clone(), hold));
        }
        Ok(held)
    }

    fn check_own(&self, stock: &Stock) -> Result<()> {
        if Arc::ptr_eq(&stock.client.shared, &self.shared) {
            return Ok(());
        }
        Err(Error::invalid(format!("{} is another client's: make it with this one", stock.place.shown)))
    }
}

impl Stock {
    /// The name given.
    pub fn name(&self) -> &[u8] {
        &self.place.name
    }

    /// The scope given.
    pub fn scope(&self) -> Option<&[u8]> {
        self.options.scope.as_deref()
    }

    /// The Redis keys: hash, holds, ledger.
    pub fn redis_keys(&self) -> &[Vec<u8>] {
        &self.place.keys
    }

    /// Opens the sale with `quantity` units (1 to [`MAX_QUANTITY`]): true if this call opened it, false if it is open with the
    /// same quantity, limit, end and prizes; then nothing changes, whatever was restocked or taken since. The handle's
    /// [`ledger_cap`](StockOptions::ledger_cap) and [`memory`](StockOptions::memory) become the sale's.
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
        let call = Open { place: self.place.clone(), id, quantity, opening, options: self.options.clone() };
        Ok(Op::new(&self.client, Box::new(call), None))
    }

    /// Adds `quantity` units (1 to [`MAX_QUANTITY`]) to an open sale, also one whose `ends` has passed, and answers how many
    /// there are now, sold ones included. A sale with prizes needs as many more, others none. With a request id, units are added once for it
    /// while it is remembered ([`Options::request_memory`](crate::Options)).
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
        let mut key = [&self.place.keys[0], b":restock:".as_slice()].concat();
        key::encode_into(&mut key, &id);
        let memory = Memory { key, length: self.client.shared.request_memory };
        let call = Restock { place: self.place.clone(), quantity, prizes: prizes.to_vec(), memory };
        Ok(Op::new(&self.client, Box::new(call), None))
    }

    /// Holds `quantity` units (1 to [`MAX_QUANTITY`]) for a buyer (1 to 1,024 bytes of anything) for `hold` microseconds
    /// ([`MIN_HOLD`] to [`MAX_HOLD`]), or says why not. What is not confirmed by then returns to stock.
    ///
    /// With a request id (1 to 256 bytes), which belongs to this stock and buyer, units are taken once for it: the same id gets the first
    /// reservation again, whatever became of it, while it is remembered ([`Options::request_memory`](crate::Options)). A refused call
    /// took nothing, so it is decided anew.
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
        let places = vec![(self.place.clone(), quantity, 0)];
        let call = Take::new(&self.client, places, "take", buyer, hold, request_id, id)?;
        Ok(Op::new(&self.client, Box::new(call), None))
    }

    /// Sells what a reservation holds: true, also if it was confirmed before and that is remembered
    /// ([`Options::request_memory`](crate::Options)); false if the hold was over or cancelled: then nothing is sold. The end of the sale does not
    /// matter.
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

    /// Has a hold last for at least `hold` microseconds from now ([`MIN_HOLD`] to [`MAX_HOLD`]); it never becomes shorter. False
    /// if it was over, confirmed or cancelled.
    ///
    /// # Errors
    /// As [`confirm`](Stock::confirm), and for a hold out of bounds.
    pub fn extend(&self, id: &str, hold: u64) -> Result<Op<bool>> {
        self.client.extend_all(&[(self, id)], hold)
    }

    /// The numbers of the sale, after up to 256 holds that are over have returned.
    pub fn status(&self) -> Op<StockStatus> {
        Op::new(&self.client, Box::new(Status { place: self.place.clone() }), None)
    }

    /// Lists holds that are not over in the order in which they end, up to `count` (1 to [`MAX_PAGE`]) from where `cursor` says:
    /// none for the first page, then the [`next`](StockPage::next) of the page before. What is extended meanwhile may be seen twice.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor that is none, or a count out of bounds.
    pub fn reservations(&self, cursor: Option<&str>, count: u64) -> Result<Op<StockPage>> {
        check_count(count)?;
        let from = cursor.map(Cursor::parse).transpose()?;
        Ok(Op::new(&self.client, Box::new(Reservations { place: self.place.clone(), from, count }), None))
    }

    /// Reads up to `count` (1 to [`MAX_PAGE`]) entries of the ledger, those after the entry with the id `after`, or from the first
    /// that is kept. Whoever stores the last id with what it did reads every entry at least once, as long as the ledger keeps
    /// them; the [`number`](LedgerEntry::number)s of one sale have no gaps.
    ///
    /// # Errors
    /// `invalid_argument` for an id that is none, or a count out of bounds.
    pub fn ledger(&self, after: Option<&str>, count: u64) -> Result<Op<Vec<LedgerEntry>>> {
        check_count(count)?;
        if let Some(id) = after {
            ledger::check_entry_id(id)?;
        }
        let call = ReadLedger { place: self.place.clone(), after: after.map(str::to_owned), count };
        Ok(Op::new(&self.client, Box::new(call), None))
    }
}

fn int(n: u64) -> Value {
    Value::Int(n as i64)
}

/// Bytes in a field of a reply.
fn bytes(fields: &[Value], at: usize) -> Result<Vec<u8>> {
    match fields.get(at) {
        Some(Value::Bytes(bytes)) => Ok(bytes.clone()),
        other => Err(crate::operation::odd_reply(format!("field {at} is {other:?}"))),
    }
}

const FORM: &str = include_str!("../../scripts/stock/form.lua");
const LOAD: &str = include_str!("../../scripts/stock/load.lua");
const SAVE: &str = include_str!("../../scripts/stock/save.lua");
const PRIZES: &str = include_str!("../../scripts/stock/prizes.lua");
const RELEASE: &str = include_str!("../../scripts/stock/release.lua");
const RECALL: &str = include_str!("../../scripts/stock/recall.lua");
const REMEMBER: &str = include_str!("../../scripts/stock/remember.lua");
const RETURN: &str = include_str!("../../scripts/stock/return.lua");

/// What is done with sales; a script each.
#[derive(Clone, Copy)]
enum Transition {
    Open,
    Restock,
    Take,
    TakeAll,
    TakeOnce,
    Settle,
    Extend,
    Status,
    Reservations,
    Ledger,
}

impl Transition {
    const ALL: [Transition; 10] = [
        Transition::Open,
        Transition::Restock,
        Transition::Take,
        Transition::TakeAll,
        Transition::TakeOnce,
        Transition::Settle,
        Transition::Extend,
        Transition::Status,
        Transition::Reservations,
        Transition::Ledger,
    ];

    fn name(self) -> &'static str {
        match self {
            Transition::Open => "open",
            Transition::Restock => "restock",
            Transition::Take => "take",
            Transition::TakeAll => "take-all",
            Transition::TakeOnce => "take-once",
            Transition::Settle => "settle",
            Transition::Extend => "extend",
            Transition::Status => "status",
            Transition::Reservations => "reservations",
            Transition::Ledger => "ledger",
        }
    }

    fn script(self) -> &'static Script {
        static SCRIPTS: [OnceBox<Script>; Transition::ALL.len()] = [const { OnceBox::new() }; Transition::ALL.len()];
        SCRIPTS[self as usize].get_or_init(|| Box::new(Script::new(self.parts())))
    }

    fn parts(self) -> &'static [&'static str] {
        const QUICK: &str = include_str!("../../scripts/stock/quick.lua");
        const TAKE: &str = include_str!("../../scripts/stock/take.lua");
        const MEMBERS: &str = include_str!("../../scripts/stock/members.lua");
        const OPEN: &str = include_str!("../../scripts/stock/open.lua");
        const RESTOCK: &str = include_str!("../../scripts/stock/restock.lua");
        const SETTLE: &str = include_str!("../../scripts/stock/settle.lua");
        const EXTEND: &str = include_str!("../../scripts/stock/extend.lua");
        const STATUS: &str = include_str!("../../scripts/stock/status.lua");
        const RESERVATIONS: &str = include_str!("../../scripts/stock/reservations.lua");
        const LEDGER: &str = include_str!("../../scripts/stock/ledger.lua");
        match self {
            Transition::Open => &[FORM, LOAD, SAVE, PRIZES, RELEASE, OPEN],
            Transition::Restock => &[FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, RESTOCK, RETURN],
            Transition::Take => &[QUICK, FORM, LOAD, SAVE, PRIZES, RELEASE, TAKE, RETURN],
            Transition::TakeAll => &[FORM, LOAD, SAVE, PRIZES, RELEASE, TAKE, RETURN],
            Transition::TakeOnce => &[FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, TAKE, MEMBERS, RETURN],
            Transition::Settle => &[FORM, LOAD, SAVE, PRIZES, RELEASE, SETTLE],
            Transition::Extend => &[FORM, LOAD, SAVE, PRIZES, RELEASE, EXTEND],
            Transition::Status => &[FORM, LOAD, SAVE, PRIZES, RELEASE, STATUS],
            Transition::Reservations => &[FORM, LOAD, PRIZES, RESERVATIONS],
            Transition::Ledger => &[LEDGER],
        }
    }
}

/// The scripts of stocks, with names such as `stock-take`.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let named =
        |transition: Transition| (format!("stock-{}", transition.name()), transition.script().text().to_owned());
    Transition::ALL.map(named).into()
}

/// The error for a state of a sale in which a call makes no sense.
fn refused(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
