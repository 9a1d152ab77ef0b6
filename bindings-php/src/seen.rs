//! `Quotalock\Seen` and `Quotalock\Claimed`: what is known of a key of a cache, and of an id that is done once.

use std::sync::Arc;

use ext_php_rs::error::Result;
use ext_php_rs::types::Zval;
use quotalock::{Claimed, Seen};

use crate::property::{Type, bool, maybe, milliseconds, text};
use crate::record::{Record, Recorded};

static SEEN: Record<Seen> = Record::new(
    &[
        ("value", Type::MaybeText, |seen| value(seen.value.as_ref())),
        ("stale", Type::Bool, |seen| bool(seen.stale)),
        ("ageMs", Type::Int, |seen| milliseconds(seen.age)),
    ],
    |class, arguments| SEEN.keep(class, arguments),
);

impl Recorded for Seen {
    const NAME: &'static str = "Quotalock\\Seen";

    fn record() -> &'static Record<Seen> {
        &SEEN
    }
}

static CLAIMED: Record<Claimed> = Record::new(
    &[
        ("first", Type::Bool, |claimed| bool(claimed.first)),
        ("value", Type::MaybeText, |claimed| value(claimed.value.as_ref())),
        ("running", Type::Bool, |claimed| bool(claimed.running)),
        ("remainingMs", Type::Int, |claimed| milliseconds(claimed.left)),
        ("ageMs", Type::Int, |claimed| milliseconds(claimed.age)),
    ],
    |class, arguments| CLAIMED.keep(class, arguments),
);

impl Recorded for Claimed {
    const NAME: &'static str = "Quotalock\\Claimed";

    fn record() -> &'static Record<Claimed> {
        &CLAIMED
    }
}

/// Registers the classes.
pub fn register() -> Result<()> {
    SEEN.register()?;
    CLAIMED.register()
}

/// Bytes that may be none.
pub fn value(value: Option<&Arc<Vec<u8>>>) -> Zval {
    maybe(value, |bytes| text(bytes.as_slice()))
}
