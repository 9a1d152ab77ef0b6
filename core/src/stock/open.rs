//! Opening a sale: twin of `open.lua`.

use std::sync::Arc;

use super::id::Id;
use super::sale::{self, Budget, Opened, STEP, Sale};
use super::scripts::OPEN;
use super::{Opening, SaleTarget, StockOptions, refused};
use wire::call::prelude::*;

pub(super) struct OpenSale {
    pub target: Arc<SaleTarget>,
    /// Of the call: when it is repeated, it opened the sale.
    pub id: Id,
    pub quantity: u64,
    pub opening: Opening,
    pub options: Arc<StockOptions>,
}

impl OpenSale {
    fn opened(&self) -> Opened {
        Opened {
            quantity: self.quantity,
            per_buyer: self.opening.per_buyer.unwrap_or(0),
            ends: self.opening.ends.unwrap_or(0),
            prizes: digest(&self.opening.prizes),
        }
    }

    /// How the sale is open instead.
    fn conflict(&self, fields: &[Reply]) -> Result<String> {
        let told = |number: u64| if number == 0 { "none".to_owned() } else { number.to_string() };
        let (quantity, per_buyer, ends) = (unsigned(fields, 1)?, unsigned(fields, 2)?, unsigned(fields, 3)?);
        let prizes = if unsigned(fields, 4)? == 1 { "" } else { " and other prizes" };
        let given = self.opened();
        Ok(format!(
            "{} is open with quantity {quantity}, per_buyer {}, ends {}{prizes}, not {}, {}, {}: give the same, restock it, or \
             give the new sale another name",
            self.target.shown,
            told(per_buyer),
            told(ends),
            given.quantity,
            told(given.per_buyer),
            told(given.ends)
        ))
    }
}

/// What tells one list of prizes from another; zeros for none.
fn digest(prizes: &[Vec<u8>]) -> [u8; 20] {
    if prizes.is_empty() {
        return [0; 20];
    }
    let mut sha = sha1_smol::Sha1::new();
    for prize in prizes {
        sha.update(&(prize.len() as u64).to_le_bytes());
        sha.update(prize);
    }
    sha.digest().bytes()
}

impl Command for OpenSale {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &OPEN,
            keys: &self.target.keys,
            effect: Effect::Repeatable,
            name: ("opening of", &self.target.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        let opened = self.opened();
        args.bytes(&self.id);
        args.numbers([opened.quantity, opened.per_buyer, opened.ends, self.options.retention, self.options.ledger_cap]);
        args.bytes(&opened.prizes);
        self.opening.prizes.iter().for_each(|prize| args.bytes(prize));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let opened = self.opened();
        let reply = |outcome: u64, with: &Opened, same: bool| {
            [1, now, outcome, with.quantity, with.per_buyer, with.ends, same.into()].map(int).to_vec()
        };
        if let Some(sale) = sale::find(space, &self.target, now)? {
            if sale.is_due() {
                sale.release(&self.target, STEP, &mut Budget::default());
            }
            sale.save_if_dirty();
            let outcome = match () {
                () if sale.opened != opened => 2,
                () if sale.opener == self.id => 1,
                () => 0,
            };
            return Ok(reply(outcome, &sale.opened, sale.opened.prizes == opened.prizes));
        }
        if opened.ends > 0 && opened.ends <= now {
            return Ok(reply(3, &opened, false));
        }
        let kept = (self.options.retention, self.options.ledger_cap);
        let sale = Sale::new(opened.clone(), self.id, kept, self.opening.prizes.clone(), now);
        space.set_object(&self.target.keys[0], Box::new(sale), self.options.retention.div_ceil(1_000));
        sale::store(space, &self.target, now)?;
        Ok(reply(1, &opened, true))
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        match unsigned(fields, 0)? {
            outcome @ (0 | 1) => Ok(Answer::new(outcome == 1)),
            2 => Err(refused(self.conflict(fields)?)),
            3 => {
                let ends = self.opened().ends;
                Err(refused(format!("ends {ends} of {} has passed: give a later one", self.target.shown)))
            }
            other => Err(odd_reply(format!("outcome {other}"))),
        }
    }
}
