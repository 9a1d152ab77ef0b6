//! What stocks answer: `Quotalock\Taken` and its neighbours.

use ext_php_rs::error::Result;
use ext_php_rs::types::Zval;
use quotalock::{LedgerEntry, StockPage, StockReservation, StockStatus, Taken, TakenAll};

use crate::property::{Type, int, maybe, moment, text};
use crate::record::{Record, Recorded, list};

static RESERVATION: Record<StockReservation> = Record::new(
    &[
        ("id", Type::Text, |r| text(&r.id)),
        ("quantity", Type::Int, |r| int(r.quantity)),
        ("buyer", Type::Text, |r| text(&r.buyer)),
        ("prizes", Type::Array, |r| texts(&r.prizes)),
        ("untilMs", Type::Int, |r| moment(r.until)),
    ],
    |class, arguments| RESERVATION.keep(class, arguments),
);

impl Recorded for StockReservation {
    const NAME: &'static str = "Quotalock\\StockReservation";

    fn record() -> &'static Record<StockReservation> {
        &RESERVATION
    }
}

static TAKEN: Record<Taken> = Record::new(
    &[
        ("outcome", Type::Text, |taken| text(taken.outcome.as_str())),
        ("reservation", Type::MaybeObject(StockReservation::NAME), |taken| {
            maybe(taken.reservation.as_ref(), Recorded::shown)
        }),
        ("available", Type::Int, |taken| int(taken.available)),
    ],
    |class, arguments| TAKEN.keep(class, arguments),
);

impl Recorded for Taken {
    const NAME: &'static str = "Quotalock\\Taken";

    fn record() -> &'static Record<Taken> {
        &TAKEN
    }
}

static TAKEN_ALL: Record<TakenAll> = Record::new(
    &[
        ("outcome", Type::Text, |taken| text(taken.outcome.as_str())),
        ("refused", Type::MaybeInt, |taken| maybe(taken.refused, |place| int(place as u64))),
        ("reservations", Type::Array, |taken| list(&taken.reservations, Recorded::shown)),
        ("available", Type::Array, |taken| list(&taken.available, |available| int(*available))),
    ],
    |class, arguments| TAKEN_ALL.keep(class, arguments),
);

impl Recorded for TakenAll {
    const NAME: &'static str = "Quotalock\\TakenAll";

    fn record() -> &'static Record<TakenAll> {
        &TAKEN_ALL
    }
}

static PAGE: Record<StockPage> = Record::new(
    &[
        ("reservations", Type::Array, |page| list(&page.reservations, Recorded::shown)),
        ("next", Type::MaybeText, |page| maybe(page.next.as_ref(), text)),
    ],
    |class, arguments| PAGE.keep(class, arguments),
);

impl Recorded for StockPage {
    const NAME: &'static str = "Quotalock\\StockPage";

    fn record() -> &'static Record<StockPage> {
        &PAGE
    }
}

static STATUS: Record<StockStatus> = Record::new(
    &[
        ("phase", Type::Text, |status| text(status.phase.as_str())),
        ("quantity", Type::Int, |status| int(status.quantity)),
        ("available", Type::Int, |status| int(status.available)),
        ("held", Type::Int, |status| int(status.held)),
        ("sold", Type::Int, |status| int(status.sold)),
        ("buyers", Type::Int, |status| int(status.buyers)),
        ("perBuyer", Type::MaybeInt, |status| maybe(status.per_buyer, int)),
        ("endsMs", Type::MaybeInt, |status| maybe(status.ends, moment)),
    ],
    |class, arguments| STATUS.keep(class, arguments),
);

impl Recorded for StockStatus {
    const NAME: &'static str = "Quotalock\\StockStatus";

    fn record() -> &'static Record<StockStatus> {
        &STATUS
    }
}

static ENTRY: Record<LedgerEntry> = Record::new(
    &[
        ("id", Type::Text, |entry| text(&entry.id)),
        ("number", Type::Int, |entry| int(entry.number)),
        ("kind", Type::Text, |entry| text(entry.kind.as_str())),
        ("reservation", Type::MaybeText, |entry| maybe(entry.reservation.as_ref(), text)),
        ("buyer", Type::MaybeText, |entry| maybe(entry.buyer.as_ref(), text)),
        ("quantity", Type::Int, |entry| int(entry.quantity)),
        ("timeMs", Type::Int, |entry| moment(entry.time)),
        ("available", Type::Int, |entry| int(entry.available)),
        ("held", Type::Int, |entry| int(entry.held)),
        ("sold", Type::Int, |entry| int(entry.sold)),
        ("prizes", Type::Array, |entry| texts(&entry.prizes)),
    ],
    |class, arguments| ENTRY.keep(class, arguments),
);

impl Recorded for LedgerEntry {
    const NAME: &'static str = "Quotalock\\LedgerEntry";

    fn record() -> &'static Record<LedgerEntry> {
        &ENTRY
    }
}

/// Registers the classes.
pub fn register() -> Result<()> {
    RESERVATION.register()?;
    TAKEN.register()?;
    TAKEN_ALL.register()?;
    PAGE.register()?;
    STATUS.register()?;
    ENTRY.register()
}

fn texts(texts: &[Vec<u8>]) -> Zval {
    list(texts, |each| text(each))
}
