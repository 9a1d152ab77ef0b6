//! What stocks answer: `Quotalock\Taken` and its neighbours.

use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{LedgerEntry, StockPage, StockReservation, StockStatus, Taken, TakenAll};

use crate::property::{Type, int, maybe, moment, text};
use crate::record::{Record, list};

static RESERVATION: Record = Record::new(
    "Quotalock\\StockReservation",
    &[
        ("id", Type::Text),
        ("quantity", Type::Int),
        ("buyer", Type::Text),
        ("prizes", Type::Array),
        ("untilMs", Type::Int),
    ],
    |class, arguments| RESERVATION.keep(class, arguments),
);

static TAKEN: Record = Record::new(
    "Quotalock\\Taken",
    &[
        ("outcome", Type::Text),
        ("reservation", Type::MaybeObject("Quotalock\\StockReservation")),
        ("available", Type::Int),
    ],
    |class, arguments| TAKEN.keep(class, arguments),
);

static TAKEN_ALL: Record = Record::new(
    "Quotalock\\TakenAll",
    &[("outcome", Type::Text), ("refused", Type::MaybeInt), ("reservations", Type::Array), ("available", Type::Array)],
    |class, arguments| TAKEN_ALL.keep(class, arguments),
);

static PAGE: Record = Record::new(
    "Quotalock\\StockPage",
    &[("reservations", Type::Array), ("next", Type::MaybeText)],
    |class, arguments| PAGE.keep(class, arguments),
);

static STATUS: Record = Record::new(
    "Quotalock\\StockStatus",
    &[
        ("phase", Type::Text),
        ("quantity", Type::Int),
        ("available", Type::Int),
        ("held", Type::Int),
        ("sold", Type::Int),
        ("buyers", Type::Int),
        ("perBuyer", Type::MaybeInt),
        ("endsMs", Type::MaybeInt),
    ],
    |class, arguments| STATUS.keep(class, arguments),
);

static ENTRY: Record = Record::new(
    "Quotalock\\LedgerEntry",
    &[
        ("id", Type::Text),
        ("number", Type::Int),
        ("kind", Type::Text),
        ("reservation", Type::MaybeText),
        ("buyer", Type::MaybeText),
        ("quantity", Type::Int),
        ("timeMs", Type::Int),
        ("available", Type::Int),
        ("held", Type::Int),
        ("sold", Type::Int),
        ("prizes", Type::Array),
    ],
    |class, arguments| ENTRY.keep(class, arguments),
);

/// Registers the classes.
pub fn register() -> Result<()> {
    [&RESERVATION, &TAKEN, &TAKEN_ALL, &PAGE, &STATUS, &ENTRY].into_iter().try_for_each(Record::register)
}

fn texts(texts: &[Vec<u8>]) -> Zval {
    list(texts, |each| text(each))
}

fn reservation(held: &StockReservation) -> Zval {
    let until = moment(held.until);
    RESERVATION.value([text(&held.id), int(held.quantity), text(&held.buyer), texts(&held.prizes), until])
}

/// An entry of a ledger.
pub fn entry(entry: &LedgerEntry) -> Zval {
    ENTRY.value([
        text(&entry.id),
        int(entry.number),
        text(entry.kind.as_str()),
        maybe(entry.reservation.as_ref(), text),
        maybe(entry.buyer.as_ref(), text),
        int(entry.quantity),
        moment(entry.time),
        int(entry.available),
        int(entry.held),
        int(entry.sold),
        texts(&entry.prizes),
    ])
}

/// What `take` returns.
pub struct TakenUnits(pub Taken);

impl IntoZval for TakenUnits {
    const TYPE: DataType = DataType::object("Quotalock\\Taken");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let Taken { outcome, reservation: held, available } = &self.0;
        *zval = TAKEN.value([text(outcome.as_str()), maybe(held.as_ref(), reservation), int(*available)]);
        Ok(())
    }
}

/// What `takeAll` returns.
pub struct TakenTogether(pub TakenAll);

impl IntoZval for TakenTogether {
    const TYPE: DataType = DataType::object("Quotalock\\TakenAll");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let taken = &self.0;
        *zval = TAKEN_ALL.value([
            text(taken.outcome.as_str()),
            maybe(taken.refused, |place| int(place as u64)),
            list(&taken.reservations, reservation),
            list(&taken.available, |available| int(*available)),
        ]);
        Ok(())
    }
}

/// What `reservations` returns.
pub struct Paged(pub StockPage);

impl IntoZval for Paged {
    const TYPE: DataType = DataType::object("Quotalock\\StockPage");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = PAGE.value([list(&self.0.reservations, reservation), maybe(self.0.next, text)]);
        Ok(())
    }
}

/// What `status` returns.
pub struct Status(pub StockStatus);

impl IntoZval for Status {
    const TYPE: DataType = DataType::object("Quotalock\\StockStatus");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let status = self.0;
        *zval = STATUS.value([
            text(status.phase.as_str()),
            int(status.quantity),
            int(status.available),
            int(status.held),
            int(status.sold),
            int(status.buyers),
            maybe(status.per_buyer, int),
            maybe(status.ends, moment),
        ]);
        Ok(())
    }
}
