//! Adding units to a sale: twin of `restock.lua`.

use std::sync::Arc;

use super::options::MAX_QUANTITY;
use super::request_memory::StockRequestMemory;
use super::sale::{self, Budget, STEP};
use super::scripts::RESTOCK;
use super::{SaleTarget, refused};
use wire::call::prelude::*;

pub(super) struct Restock {
    pub target: Arc<SaleTarget>,
    pub quantity: u64,
    pub prizes: Vec<Vec<u8>>,
    pub memory: StockRequestMemory,
}

impl Command for Restock {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &RESTOCK, keys: &[], effect: Effect::Repeatable, name: ("restock of", &self.target.shown) }
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        match self.target.keys.get(at) {
            Some(key) => Some(key),
            None => (at == self.target.keys.len()).then_some(&self.memory.key),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.number(self.quantity);
        self.prizes.iter().for_each(|prize| args.bytes(prize));
        args.number(self.memory.length);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        if let Some(reply) = self.memory.recall(space, now)? {
            return Ok(reply);
        }
        let answer = |outcome: u64, quantity: u64| vec![int(1), int(now), int(outcome), int(quantity)];
        let Some(sale) = sale::find(space, &self.target, now)? else { return Ok(answer(0, 0)) };
        if sale.is_due() {
            sale.release(&self.target, STEP, &mut Budget::default());
        }
        let quantity = sale.available + sale.held + sale.sold;
        let outcome = match () {
            () if sale.prized == self.prizes.is_empty() => 2,
            () if quantity + self.quantity > MAX_QUANTITY => 3,
            () => 1,
        };
        if outcome > 1 {
            sale.save_if_dirty();
            return Ok(answer(outcome, quantity));
        }
        sale.restock(self.quantity, &self.prizes);
        sale::store(space, &self.target, now)?;
        let reply = answer(1, quantity + self.quantity);
        self.memory.remember(space, &reply, now);
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let (stock, quantity) = (&self.target.shown, unsigned(fields, 1)?);
        match unsigned(fields, 0)? {
            1 => Ok(Answer::new(quantity)),
            0 => Err(refused(format!("{stock} is not open: open it first"))),
            2 if self.prizes.is_empty() => Err(refused(format!("{stock} has prizes: give one for each unit"))),
            2 => Err(refused(format!("{stock} has no prizes: give none"))),
            3 => {
                let more = self.quantity;
                Err(refused(format!("{stock} has {quantity} units, {more} more are above {MAX_QUANTITY}: add fewer")))
            }
            other => Err(odd_reply(format!("outcome {other}"))),
        }
    }
}
