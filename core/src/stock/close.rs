//! Closing a sale: twin of `close.lua`.

use std::sync::Arc;

use super::id::Id;
use super::sale::{self, Budget, STEP};
use super::scripts::CLOSE;
use super::{SaleTarget, refused};
use wire::call::prelude::*;

pub(super) struct Close {
    pub target: Arc<SaleTarget>,
    /// Of the call: when it is repeated, it closed the sale.
    pub id: Id,
}

impl Command for Close {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &CLOSE,
            keys: &self.target.keys,
            effect: Effect::Repeatable,
            name: ("closing of", &self.target.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let Some(sale) = sale::find(space, &self.target, now)? else { return Ok([1, now, 2].map(int).to_vec()) };
        if sale.is_due() {
            sale.release(&self.target, STEP, &mut Budget::default());
        }
        if sale.is_ended(now) {
            if !std::mem::replace(&mut sale.closed, true) {
                sale.save();
            }
            sale.save_if_dirty();
        } else {
            sale.close(self.id, now);
        }
        let closed = sale.closer == Some(self.id);
        sale::store(space, &self.target, now)?;
        Ok(vec![int(1), int(now), int(closed.into())])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        match unsigned(fields, 0)? {
            outcome @ (0 | 1) => Ok(Answer::new(outcome == 1)),
            2 => Err(refused(format!("{} is not open: there is nothing to close", self.target.shown))),
            other => Err(odd_reply(format!("outcome {other}"))),
        }
    }
}
