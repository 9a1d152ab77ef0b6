//! Confirming and cancelling: twin of `settle.lua`.

use std::sync::Arc;

use super::id::StockHold;
use super::ledger_entry::LedgerKind;
use super::options::MAX_PRIZES_MOVED;
use super::sale::{self, Budget, step_of};
use super::scripts::SETTLE;
use super::{SaleTarget, refused};
use wire::call::prelude::*;

const MAGIC: &[u8] = b"QD\x01";

/// What becomes of holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    Confirm,
    Cancel,
}

impl Settlement {
    fn byte(self) -> u8 {
        match self {
            Settlement::Confirm => b'c',
            Settlement::Cancel => b'u',
        }
    }
}

pub(super) struct Settle {
    items: Vec<SettledHold>,
    settlement: Settlement,
    /// How long it is remembered, in microseconds.
    memory: u64,
}

struct SettledHold {
    target: Arc<SaleTarget>,
    hold: StockHold,
    /// Where it is remembered.
    key: Vec<u8>,
}

impl Settle {
    pub fn new(holds: Vec<(Arc<SaleTarget>, StockHold)>, settlement: Settlement, memory: u64) -> Settle {
        let item = |(target, hold): (Arc<SaleTarget>, StockHold)| {
            let id: String = hold.id.iter().map(|byte| format!("{byte:02x}")).collect();
            SettledHold { key: [&target.keys[0], format!(":settled:{id}").as_bytes()].concat(), target, hold }
        };
        Settle { items: holds.into_iter().map(item).collect(), settlement, memory }
    }
}

impl Command for Settle {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame::bare(&SETTLE, Effect::Repeatable)
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        let item = self.items.get(at / 4)?;
        Some(item.target.keys.get(at % 4).unwrap_or(&item.key))
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&[self.settlement.byte()]);
        args.number(self.memory);
        self.items.iter().for_each(|item| args.bytes(&item.hold.member()));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let byte = self.settlement.byte();
        let mut alive = Vec::with_capacity(self.items.len());
        let (mut all, mut prizes, mut budget) = (true, 0_u64, Budget::default());
        for item in &self.items {
            let sale = sale::find(space, &item.target, now)?;
            let prized = sale.as_ref().is_some_and(|sale| sale.prized);
            let is_alive =
                sale.is_some_and(|sale| sale.end_of(&item.hold.member()).is_some_and(|till| till > sale.now()));
            if is_alive && prized {
                prizes += item.hold.quantity;
            }
            let known = space.get(&item.key)?.and_then(|value| value.strip_prefix(MAGIC));
            let is_settled = known
                .and_then(<[u8]>::split_first_chunk)
                .is_some_and(|(until, kind)| kind == [byte] && now < u64::from_le_bytes(*until));
            all &= is_alive || is_settled;
            alive.push(is_alive);
        }
        let step = step_of(self.items.len());
        if prizes > MAX_PRIZES_MOVED {
            return Ok([1, now, 2].map(int).to_vec());
        }
        for (item, is_alive) in self.items.iter().zip(alive) {
            let Some(sale) = sale::find(space, &item.target, now)? else { continue };
            if sale.is_due() {
                sale.release(&item.target, step, &mut budget);
            }
            if !is_alive || (!all && self.settlement == Settlement::Confirm) {
                sale.save_if_dirty();
                continue;
            }
            match self.settlement {
                Settlement::Confirm => sale.sell(&item.target, &item.hold),
                Settlement::Cancel => sale.give_back(&item.target, &item.hold, LedgerKind::Cancelled),
            }
            sale::store(space, &item.target, now)?;
            let value = [MAGIC, &(now + self.memory).to_le_bytes(), &[byte]].concat();
            space.set(&item.key, value, self.memory.div_ceil(1_000) + 1);
        }
        Ok(vec![int(1), int(now), int(all.into())])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        if unsigned(fields, 0)? == 2 {
            let most = MAX_PRIZES_MOVED;
            return Err(refused(format!("{} is of more than {most} prizes: settle fewer at once", self.describe())));
        }
        Ok(Answer::new(flag(fields, 0)?))
    }

    fn describe(&self) -> String {
        let verb = if self.settlement == Settlement::Confirm { "confirmation" } else { "cancellation" };
        let names: Vec<&str> = self.items.iter().map(|item| item.target.shown.as_str()).collect();
        format!("{verb} of a reservation of {}", names.join(", "))
    }
}
