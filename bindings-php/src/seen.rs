//! `Quotalock\Seen` and `Quotalock\Claimed`: what is known of a key of a cache, and of an id that is done once.

use std::sync::Arc;

use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{Claimed, Seen};

use crate::property::{Type, bool, maybe, milliseconds, text};
use crate::record::Record;

static SEEN: Record = Record::new(
    "Quotalock\\Seen",
    &[("value", Type::MaybeText), ("stale", Type::Bool), ("ageMs", Type::Int)],
    |class, arguments| SEEN.keep(class, arguments),
);

static CLAIMED: Record = Record::new(
    "Quotalock\\Claimed",
    &[
        ("first", Type::Bool),
        ("value", Type::MaybeText),
        ("running", Type::Bool),
        ("remainingMs", Type::Int),
        ("ageMs", Type::Int),
    ],
    |class, arguments| CLAIMED.keep(class, arguments),
);

/// Registers the classes.
pub fn register() -> Result<()> {
    SEEN.register()?;
    CLAIMED.register()
}

/// Bytes that may be none.
pub fn value(value: Option<&Arc<Vec<u8>>>) -> Zval {
    maybe(value, |bytes| text(bytes.as_slice()))
}

/// What `peek` returns.
pub struct MaybeSeen(pub Option<Seen>);

impl IntoZval for MaybeSeen {
    const TYPE: DataType = DataType::object("Quotalock\\Seen");
    const NULLABLE: bool = true;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval =
            maybe(self.0, |seen| SEEN.value([value(seen.value.as_ref()), bool(seen.stale), milliseconds(seen.age)]));
        Ok(())
    }
}

/// What `claim` returns.
pub struct Claim(pub Claimed);

impl IntoZval for Claim {
    const TYPE: DataType = DataType::object("Quotalock\\Claimed");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let claimed = self.0;
        *zval = CLAIMED.value([
            bool(claimed.first),
            value(claimed.value.as_ref()),
            bool(claimed.running),
            milliseconds(claimed.left),
            milliseconds(claimed.age),
        ]);
        Ok(())
    }
}
