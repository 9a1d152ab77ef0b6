//! Listing holds: twin of `reservations.lua`.

use std::sync::Arc;

use super::id::{self, MAX_MEMBER_BYTES, StockHold};
use super::options::{MAX_PRIZE_BYTES, MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE};
use super::scripts::RESERVATIONS;
use super::{SaleTarget, sale};
use wire::base::error::shown;
use wire::call::prelude::*;

/// Units that are held for a buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockReservation {
    /// What it is known by, in every process: printable, opaque, not to be guessed. Anyone who knows it can confirm or cancel.
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

/// Where a page begins: after the hold that was listed last, by when it ended then.
pub(super) struct PageCursor {
    till: u64,
    member: Vec<u8>,
}

impl PageCursor {
    /// Reads the [`next`](StockPage::next) of a page: when its last hold ends, a point, and that reservation's id.
    ///
    /// # Errors
    /// `invalid_argument` if no page of this stock has it.
    pub fn parse(target: &SaleTarget, text: &str) -> Result<PageCursor> {
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number| plain && *number < 1_u64 << 53)
        };
        let parts = text.split_once('.');
        let cursor = parts.and_then(|(till, id)| {
            Some(PageCursor { till: number(till)?, member: id::decode(target, id).ok()?.member() })
        });
        cursor.ok_or_else(|| {
            let (text, stock) = (shown(text.as_bytes()), &target.shown);
            Error::invalid(format!("cursor \"{text}\" does not belong to {stock}: give the next of the page before"))
        })
    }
}

pub(super) struct Reservations {
    pub target: Arc<SaleTarget>,
    pub from: Option<PageCursor>,
    pub count: u64,
}

impl Command for Reservations {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &RESERVATIONS,
            keys: &self.target.keys,
            effect: Effect::Looks,
            name: ("listing of", &self.target.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        match &self.from {
            Some(cursor) => args.number(cursor.till),
            None => args.bytes(b""),
        }
        args.bytes(self.from.as_ref().map_or(b"", |cursor| &cursor.member));
        args.number(self.count);
    }

    fn reply_limit(&self) -> ReplyLimit {
        let each = MAX_PRIZES_OF_A_TAKE as usize;
        let count = self.count as usize;
        ReplyLimit::of(count * (3 + each), count * (MAX_MEMBER_BYTES + each * MAX_PRIZE_BYTES))
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let mut reply = vec![int(1), int(now), Reply::Int(-1)];
        let Some(sale) = sale::find(space, &self.target, now)? else { return Ok(reply) };
        let (end, after) = self.from.as_ref().map_or((0, &[][..]), |cursor| (cursor.till, &cursor.member));
        let mut moved = 0;
        let mut listed = (1..=self.count).zip(sale.holds_after(end, after)).peekable();
        while let Some((n, (till, member))) = listed.next() {
            let prizes = StockHold::of_member(member).map(|hold| sale.prizes_of(&hold.id)).unwrap_or_default();
            reply.extend([Reply::Bytes(member.clone()), int(sale.by_server(*till)), int(prizes.len() as u64)]);
            moved += prizes.len() as u64;
            reply.extend(prizes.into_iter().map(Reply::Bytes));
            if n == self.count || moved >= MAX_PRIZES_MOVED && listed.peek().is_some() {
                reply[2] = int(*till);
                break;
            }
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let mut reservations = Vec::new();
        let mut rest = fields.get(1..).unwrap_or_default();
        while !rest.is_empty() {
            let hold = StockHold::of_member(&bytes(rest, 0)?).ok_or_else(|| odd_reply("no member".into()))?;
            let (until, prizes) = (unsigned(rest, 1)?, unsigned(rest, 2)? as usize);
            let prizes = (3..prizes + 3).map(|at| bytes(rest, at)).collect::<Result<Vec<_>>>()?;
            rest = &rest[3 + prizes.len()..];
            let id = id::encode(&self.target, &hold);
            reservations.push(StockReservation { id, quantity: hold.quantity, buyer: hold.buyer, prizes, until });
        }
        let next = match (fields.first(), reservations.last()) {
            (Some(Reply::Int(-1)), _) | (_, None) => None,
            (_, Some(last)) => Some(format!("{}.{}", unsigned(fields, 0)?, last.id)),
        };
        Ok(Answer::new(StockPage { reservations, next }))
    }
}
