//! Lengthening a lease: twin of `extend.lua`.

use std::sync::Arc;

use super::{AttemptId, EXTEND, kept_for, load_all, save};
use wire::call::prelude::*;

/// Lengthens the lease of an id in every table, or in none. Answers whether it holds in all.
#[derive(Clone, Debug)]
pub struct ExtendLease {
    /// The whole Redis keys of the tables, each once.
    pub keys: Arc<[Vec<u8>]>,
    /// Of the attempt that was granted.
    pub id: AttemptId,
    /// How long the lease lasts at least, in microseconds from now by the server's clock.
    pub ttl: u64,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

impl Command for ExtendLease {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &EXTEND, keys: &self.keys, effect: Effect::Repeatable, name: ("extension of", &self.shown) }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.number(self.ttl);
        args.number(kept_for(self.ttl));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let tables = load_all(space, &self.keys, now, None)?;
        let places: Option<Vec<usize>> = tables.iter().map(|table| table.holding(&self.id)).collect();
        let held = places.is_some();
        for (n, (key, mut table)) in self.keys.iter().zip(tables).enumerate() {
            if let Some(places) = &places {
                table.renew(places[n], now, self.ttl);
            }
            if held || table.changed {
                save(space, key, &table, now, &[], b"");
            }
        }
        Ok(vec![Reply::Int(1), int(now), int(held.into())])
    }
}
