//! `Quotalock\Inspection` and `Quotalock\Holder`: who holds a lock.

use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{Holder, Inspection};

use crate::property::{Type, bool, int, moment, text};
use crate::record::{Record, list};

static INSPECTION: Record = Record::new(
    "Quotalock\\Inspection",
    &[("token", Type::Int), ("waiters", Type::Int), ("holders", Type::Array), ("healed", Type::Bool)],
    |class, arguments| INSPECTION.keep(class, arguments),
);

static HOLDER: Record = Record::new(
    "Quotalock\\Holder",
    &[
        ("host", Type::Text),
        ("pid", Type::Int),
        ("label", Type::Text),
        ("token", Type::Int),
        ("permits", Type::Int),
        ("sinceMs", Type::Int),
        ("untilMs", Type::Int),
    ],
    |class, arguments| HOLDER.keep(class, arguments),
);

/// Registers the classes.
pub fn register() -> Result<()> {
    HOLDER.register()?;
    INSPECTION.register()
}

fn holder(holder: &Holder) -> Zval {
    HOLDER.value([
        text(&holder.host),
        int(holder.pid),
        text(&holder.label),
        int(holder.token),
        int(holder.permits),
        moment(holder.since),
        moment(holder.until),
    ])
}

/// What a method that looks at a lock returns.
pub struct Inspected(pub Inspection);

impl IntoZval for Inspected {
    const TYPE: DataType = DataType::object("Quotalock\\Inspection");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let seen = self.0;
        *zval = INSPECTION.value([int(seen.token), int(seen.waiters), list(&seen.holders, holder), bool(seen.healed)]);
        Ok(())
    }
}
