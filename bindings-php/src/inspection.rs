//! `Quotalock\Inspection` and `Quotalock\Holder`: who holds a lock.

use ext_php_rs::error::Result;
use quotalock::{Holder, Inspection};

use crate::property::{Type, bool, int, moment, text};
use crate::record::{Record, Recorded, list};

static INSPECTION: Record<Inspection> = Record::new(
    &[
        ("token", Type::Int, |seen| int(seen.token)),
        ("waiters", Type::Int, |seen| int(seen.waiters)),
        ("holders", Type::Array, |seen| list(&seen.holders, Recorded::shown)),
        ("healed", Type::Bool, |seen| bool(seen.healed)),
    ],
    |class, arguments| INSPECTION.keep(class, arguments),
);

impl Recorded for Inspection {
    const NAME: &'static str = "Quotalock\\Inspection";

    fn record() -> &'static Record<Inspection> {
        &INSPECTION
    }
}

static HOLDER: Record<Holder> = Record::new(
    &[
        ("host", Type::Text, |holder| text(&holder.host)),
        ("pid", Type::Int, |holder| int(holder.pid)),
        ("label", Type::Text, |holder| text(&holder.label)),
        ("token", Type::Int, |holder| int(holder.token)),
        ("permits", Type::Int, |holder| int(holder.permits)),
        ("sinceMs", Type::Int, |holder| moment(holder.since)),
        ("untilMs", Type::Int, |holder| moment(holder.until)),
    ],
    |class, arguments| HOLDER.keep(class, arguments),
);

impl Recorded for Holder {
    const NAME: &'static str = "Quotalock\\Holder";

    fn record() -> &'static Record<Holder> {
        &HOLDER
    }
}

/// Registers the classes.
pub fn register() -> Result<()> {
    HOLDER.register()?;
    INSPECTION.register()
}
