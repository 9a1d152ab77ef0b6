//! Looking at a sale: twin of `status.lua`.

use std::sync::Arc;

use super::SaleTarget;
use super::sale::{self, Budget, HOLDS};
use super::scripts::STATUS;
use wire::call::prelude::*;

/// Where a sale stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StockPhase {
    /// It was never opened, or is forgotten.
    NotOpen,
    /// Takes are decided.
    Open,
    /// Its `ends` has passed, or it was closed: holds can still be confirmed.
    Ended,
}

impl StockPhase {
    /// The stable text: `not_open`, `open` or `ended`.
    pub fn as_str(self) -> &'static str {
        match self {
            StockPhase::NotOpen => "not_open",
            StockPhase::Open => "open",
            StockPhase::Ended => "ended",
        }
    }
}

/// The numbers of a sale: `available + held + sold` are `quantity`. All 0 if it is not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockStatus {
    /// Where it stands.
    pub phase: StockPhase,
    /// All units there are.
    pub quantity: u64,
    /// Those that can be taken.
    pub available: u64,
    /// Those of reservations that are neither confirmed nor cancelled nor returned.
    pub held: u64,
    /// Those of confirmed reservations.
    pub sold: u64,
    /// How many buyers hold or have bought.
    pub buyers: u64,
    /// The most units of one buyer; none: as many as there are.
    pub per_buyer: Option<u64>,
    /// When takes end, in microseconds since the epoch by the server's clock, or when it was closed; none: never.
    pub ends: Option<u64>,
}

pub(super) struct Status {
    pub target: Arc<SaleTarget>,
}

impl Command for Status {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &STATUS,
            keys: &self.target.keys,
            effect: Effect::Repeatable,
            name: ("status of", &self.target.shown),
        }
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let Some(sale) = sale::find(space, &self.target, now)? else { return Ok([1, now, 0].map(int).to_vec()) };
        if sale.is_due() {
            sale.release(&self.target, HOLDS, &mut Budget::default());
        }
        sale.save_if_dirty();
        let phase = if sale.is_ended(now) { 2 } else { 1 };
        let numbers = [sale.available, sale.held, sale.sold, sale.buyers(), sale.per_buyer, sale.ends];
        let reply = [1, now, phase].into_iter().chain(numbers).map(int).collect();
        sale::store(space, &self.target, now)?;
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let phase = match unsigned(fields, 0)? {
            0 => StockPhase::NotOpen,
            1 => StockPhase::Open,
            2 => StockPhase::Ended,
            other => return Err(odd_reply(format!("phase {other}"))),
        };
        let number = |at| if phase == StockPhase::NotOpen { Ok(0) } else { unsigned(fields, at) };
        let (available, held, sold) = (number(1)?, number(2)?, number(3)?);
        Ok(Answer::new(StockStatus {
            phase,
            quantity: available + held + sold,
            available,
            held,
            sold,
            buyers: number(4)?,
            per_buyer: Some(number(5)?).filter(|number| *number > 0),
            ends: Some(number(6)?).filter(|ends| *ends > 0),
        }))
    }
}
