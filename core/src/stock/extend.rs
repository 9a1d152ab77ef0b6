//! Lengthening holds: twin of `extend.lua`.

use std::sync::Arc;

use super::SaleTarget;
use super::id::StockHold;
use super::sale::{self, Budget, step_of};
use super::scripts::EXTEND;
use wire::call::prelude::*;

pub(super) struct ExtendHolds {
    pub items: Vec<(Arc<SaleTarget>, StockHold)>,
    /// For how long from now, in microseconds.
    pub hold: u64,
}

impl Command for ExtendHolds {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame::bare(&EXTEND, Effect::Repeatable)
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        self.items.get(at / 3).map(|(target, _)| target.keys[at % 3].as_slice())
    }

    fn args(&self, args: &mut Args<'_>) {
        args.number(self.hold);
        self.items.iter().for_each(|(_, hold)| args.bytes(&hold.member()));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let mut ends = Vec::with_capacity(self.items.len());
        for (target, hold) in &self.items {
            let sale = sale::find(space, target, now)?;
            ends.push(sale.and_then(|sale| sale.end_of(&hold.member()).filter(|till| *till > sale.now())));
        }
        let all = ends.iter().all(Option::is_some);
        let (mut budget, step) = (Budget::default(), step_of(self.items.len()));
        for ((target, hold), end) in self.items.iter().zip(ends) {
            let Some(sale) = sale::find(space, target, now)? else { continue };
            if sale.is_due() {
                sale.release(target, step, &mut budget);
            }
            let till = sale.now() + self.hold;
            if all && end.is_some_and(|end| till > end) {
                sale.extend(target, hold, till);
            } else {
                sale.save_if_dirty();
            }
            sale::store(space, target, now)?;
        }
        Ok(vec![int(1), int(now), int(all.into())])
    }

    fn describe(&self) -> String {
        let names: Vec<&str> = self.items.iter().map(|(target, _)| target.shown.as_str()).collect();
        format!("extension of a reservation of {}", names.join(", "))
    }
}
