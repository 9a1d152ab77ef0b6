//! Listing holds: twin of `scripts/stock/reservations.lua`.

use std::sync::Arc;

use super::id::{self, Hold};
use super::{Place, Transition, bytes, int, sale};
use crate::decision::Source;
use crate::error::{Error, Result, shown};
use crate::operation::{Answer, Operation, odd_reply, unsigned};
use crate::resp::{self, Value};
use crate::script::Script;
use crate::store::memory::Space;

/// Units that are held for a buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockReservation {
    /// What it is known by, in every process: printable, opaque, not to be guessed. Whoever knows it can confirm or cancel.
    pub id: String,
    /// How many units.
    pub quantity: u64,
    /// For whom.
    pub buyer: Vec<u8>,
    /// Their payloads, one for each unit; empty if the sale has none.
    pub prizes: Vec<Vec<u8>>,
    /// When the hold ends, in microseconds since the epoch by the server's clock.
    pub until: u64,
}

/// Some reservations of a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockPage {
    /// In the order in which they end.
    pub reservations: Vec<StockReservation>,
    /// The cursor of the next page; none if there is none.
    pub next: Option<String>,
}

/// Where a page begins: at an end, leaving some of that end out.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    till: u64,
    skip: u64,
}

impl Cursor {
    pub fn parse(text: &str) -> Result<Cursor> {
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number| plain && *number < 1_u64 << 53)
        };
        let parts = text.split_once('.').and_then(|(till, skip)| Some((number(till)?, number(skip)?)));
        let (till, skip) = parts.ok_or_else(|| {
            let text = shown(text.as_bytes());
            Error::invalid(format!("cursor \"{text}\" is none: give the next of the page before"))
        })?;
        Ok(Cursor { till, skip })
    }
}

pub(super) struct Reservations {
    pub place: Arc<Place>,
    pub from: Option<Cursor>,
    pub count: u64,
}

impl Operation for Reservations {
    fn script(&self) -> &Script {
        Transition::Reservations.script()
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        self.place.keys.get(at).map(Vec::as_slice)
    }

    fn arg_count(&self) -> usize {
        3
    }

    fn encode_args(&self, out: &mut Vec<u8>) {
        match self.from {
            Some(cursor) => resp::number_part(out, cursor.till),
            None => resp::part(out, b""),
        }
        resp::number_part(out, self.from.map_or(0, |cursor| cursor.skip));
        resp::number_part(out, self.count);
    }

    fn mutates(&self) -> bool {
        false
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Value>> {
        let mut reply = vec![int(1), int(now), Value::Int(-1), int(0)];
        let Some(sale) = sale::find(space, &self.place, now)? else { return Ok(reply) };
        let first = Cursor { till: sale.now() + 1, skip: 0 };
        let mut from = self.from.filter(|cursor| cursor.till > sale.now()).unwrap_or(first);
        let mut found = 0;
        for (till, member) in sale.holds_from(from.till).skip(from.skip as usize).take(self.count as usize) {
            if *till > from.till {
                from = Cursor { till: *till, skip: 0 };
            }
            from.skip += 1;
            found += 1;
            let prizes = Hold::of_member(member).map(|hold| sale.prizes_of(&hold.id)).unwrap_or_default();
            reply.extend([Value::Bytes(member.clone()), int(sale.by_server(*till)), int(prizes.len() as u64)]);
            reply.extend(prizes.into_iter().map(Value::Bytes));
        }
        if found == self.count {
            (reply[2], reply[3]) = (int(from.till), int(from.skip));
        }
        Ok(reply)
    }

    fn decode(&self, fields: &[Value], _source: Source) -> Result<Answer> {
        let next = match fields.first() {
            Some(Value::Int(-1)) => None,
            _ => Some(format!("{}.{}", unsigned(fields, 0)?, unsigned(fields, 1)?)),
        };
        let mut reservations = Vec::new();
        let mut rest = fields.get(2..).unwrap_or_default();
        while !rest.is_empty() {
            let hold = Hold::of_member(&bytes(rest, 0)?).ok_or_else(|| odd_reply("no member".into()))?;
            let (until, prizes) = (unsigned(rest, 1)?, unsigned(rest, 2)? as usize);
            let prizes = (3..prizes + 3).map(|at| bytes(rest, at)).collect::<Result<Vec<_>>>()?;
            rest = &rest[3 + prizes.len()..];
            let id = id::encode(&self.place, &hold);
            reservations.push(StockReservation { id, quantity: hold.quantity, buyer: hold.buyer, prizes, until });
        }
        Ok(Answer::StockPage(StockPage { reservations, next }))
    }

    fn describe(&self) -> String {
        format!("listing of {}", self.place.shown)
    }
}
