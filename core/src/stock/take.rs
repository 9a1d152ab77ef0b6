//! Holding units, of one stock or of several: twin of `{take_simple,take,members}.lua`.

use std::sync::Arc;

use super::id::{self, Id, MAX_MEMBER_BYTES, StockHold};
use super::options::{MAX_PRIZE_BYTES, MAX_PRIZES_OF_A_TAKE, MAX_STOCKS, check_hold, check_quantity, check_request_id};
use super::request_memory::StockRequestMemory;
use super::sale::{self, Budget, ROUNDS, Sale, step_of};
use super::scripts::{TAKE, TAKE_ALL, TAKE_ONCE};
use super::{SaleTarget, StockReservation, refused};
use crate::client::Client;
use crate::key;
use wire::base::error::Code;
use wire::call::prelude::*;

/// What became of a take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TakeOutcome {
    /// The units are held.
    Held,
    /// There are not as many available.
    SoldOut,
    /// The buyer would have more than one buyer may.
    BuyerLimit,
    /// The sale was never opened, or is forgotten.
    NotOpen,
    /// Its `ends` has passed, or it was closed.
    Ended,
}

impl TakeOutcome {
    /// The stable text: `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`.
    pub fn as_str(self) -> &'static str {
        match self {
            TakeOutcome::Held => "held",
            TakeOutcome::SoldOut => "sold_out",
            TakeOutcome::BuyerLimit => "buyer_limit",
            TakeOutcome::NotOpen => "not_open",
            TakeOutcome::Ended => "ended",
        }
    }

    fn of_reply(number: u64) -> Result<TakeOutcome> {
        match number {
            0 => Ok(TakeOutcome::Held),
            1 => Ok(TakeOutcome::SoldOut),
            2 => Ok(TakeOutcome::BuyerLimit),
            3 => Ok(TakeOutcome::NotOpen),
            4 => Ok(TakeOutcome::Ended),
            5 => {
                let most = MAX_PRIZES_OF_A_TAKE;
                Err(refused(format!("a take gets at most {most} units with prizes: take fewer at once")))
            }
            other => Err(odd_reply(format!("outcome {other}"))),
        }
    }
}

/// The answer to a take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What became of it.
    pub outcome: TakeOutcome,
    /// What is held; none unless the outcome is [`Held`](TakeOutcome::Held).
    pub reservation: Option<StockReservation>,
    /// How many units are available after it.
    pub available: u64,
}

/// The answer to a take of several stocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenAll {
    /// What became of it; if it was refused, why by the first stock that refuses.
    pub outcome: TakeOutcome,
    /// The place of the stock that refuses among those given, from 0; none if none does.
    pub refused: Option<usize>,
    /// What is held of each stock, in the order given; empty unless the outcome is [`Held`](TakeOutcome::Held).
    pub reservations: Vec<StockReservation>,
    /// How many units of each stock are available after it, in the order given.
    pub available: Vec<u64>,
}

pub(super) struct Take {
    /// By the stocks' keys.
    items: Vec<TakenHold>,
    /// `b` and the buyer.
    buyer: Vec<u8>,
    hold: u64,
    memory: Option<StockRequestMemory>,
    verb: &'static str,
}

struct TakenHold {
    target: Arc<SaleTarget>,
    hold: StockHold,
    member: Vec<u8>,
    /// Where it was among those given.
    given_at: usize,
}

/// What a call has done for its decisions.
#[derive(Default)]
struct Spent {
    rounds: u64,
    /// The units with prizes that were asked for.
    prizes: u64,
    budget: Budget,
}

impl Take {
    /// Describes a take of stocks, with quantities and their places among those given, in the order of their keys.
    pub fn new(
        client: &Client,
        targets: Vec<(Arc<SaleTarget>, u64, usize)>,
        verb: &'static str,
        buyer: &[u8],
        hold: u64,
        request_id: Option<&[u8]>,
        id: Id,
    ) -> Result<Take> {
        key::check_buyer(buyer)?;
        check_hold(hold)?;
        let mut items = Vec::with_capacity(targets.len());
        for (target, quantity, given_at) in targets {
            check_quantity("quantity", quantity)?;
            let hold = StockHold { id, quantity, buyer: buyer.to_vec() };
            items.push(TakenHold { target, member: hold.member(), hold, given_at });
        }
        let memory = match (request_id, items.first()) {
            (Some(id), Some(first)) => {
                check_request_id(id)?;
                let mut key = [&first.target.keys[0], format!(":{verb}:{{").as_bytes()].concat();
                key::encode_into(&mut key, buyer);
                key.extend_from_slice(b"}:");
                key::encode_into(&mut key, id);
                Some(StockRequestMemory { key, length: client.repeat_memory(hold) })
            }
            _ => None,
        };
        Ok(Take { items, buyer: [b"b", buyer].concat(), hold, memory, verb })
    }

    /// What tells these stocks from others.
    fn set(&self) -> [u8; 20] {
        let mut sha = sha1_smol::Sha1::new();
        for item in &self.items {
            sha.update(&item.target.keys[0]);
            sha.update(&[0]);
        }
        sha.digest().bytes()
    }

    fn refusal(sale: Option<&Sale>, item: &TakenHold, now: u64, prizes: u64) -> u64 {
        let Some(sale) = sale else { return 3 };
        let had = sale.of_buyer(&item.hold.buyer);
        match item.hold.quantity {
            _ if sale.is_ended(now) => 4,
            n if sale.per_buyer > 0 && had + n > sale.per_buyer => 2,
            n if n > sale.available => 1,
            _ if sale.prized && prizes > MAX_PRIZES_OF_A_TAKE => 5,
            _ => 0,
        }
    }

    /// Decides about one stock, after what is over has returned, as far as the call may.
    fn decide(&self, space: &mut dyn Space, item: &TakenHold, now: u64, spent: &mut Spent) -> Result<u64> {
        let step = step_of(self.items.len());
        let Some(sale) = sale::find(space, &item.target, now)? else { return Ok(3) };
        if sale.prized {
            spent.prizes += item.hold.quantity;
        }
        loop {
            if sale.is_due() {
                sale.release(&item.target, step, &mut spent.budget);
                spent.rounds += 1;
            }
            let why = Self::refusal(Some(sale), item, now, spent.prizes);
            if !matches!(why, 1 | 2) || !sale.is_due() || spent.rounds >= ROUNDS {
                return Ok(why);
            }
        }
    }
}

impl Command for Take {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        let script = match self.memory {
            Some(_) => &TAKE_ONCE,
            None if self.items.len() > 1 => &TAKE_ALL,
            None => &TAKE,
        };
        Frame::bare(script, Effect::Repeatable)
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        match self.items.get(at / 3) {
            Some(item) => Some(&item.target.keys[at % 3]),
            None if at == 3 * self.items.len() => self.memory.as_ref().map(|memory| memory.key.as_slice()),
            None => None,
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.buyer);
        args.number(self.hold);
        self.items.iter().for_each(|item| args.bytes(&item.member));
        if let Some(memory) = &self.memory {
            args.bytes(&self.set());
            args.number(memory.length);
        }
    }

    fn reply_limit(&self) -> ReplyLimit {
        let each = MAX_PRIZES_OF_A_TAKE as usize;
        // A request that was seen before may have been about others.
        let count = if self.memory.is_some() { MAX_STOCKS } else { self.items.len() };
        ReplyLimit::of(count * (4 + each), count * (MAX_MEMBER_BYTES + each * MAX_PRIZE_BYTES))
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        if let Some(memory) = &self.memory
            && let Some(reply) = memory.recall(space, now)?
        {
            return Ok(reply);
        }
        let mut known = false;
        for item in &self.items {
            let sale = sale::find(space, &item.target, now)?;
            known |= sale.is_some_and(|sale| sale.end_of(&item.member).is_some());
        }
        let (mut outcome, mut refused, mut spent) = (0, 0, Spent::default());
        for (at, item) in self.items.iter().enumerate().filter(|_| !known) {
            let why = self.decide(space, item, now, &mut spent)?;
            if why > 0 && outcome == 0 {
                (outcome, refused) = (why, at as u64 + 1);
            }
        }
        let mut reply = vec![int(1), int(now), int(outcome), int(refused)];
        for item in &self.items {
            let Some(sale) = sale::find(space, &item.target, now)? else {
                reply.push(int(0));
                if outcome == 0 {
                    reply.extend([int(0), int(0)]);
                }
                continue;
            };
            let (till, drawn) = match () {
                () if known => (sale.end_of(&item.member).unwrap_or(sale.now()), sale.prizes_of(&item.hold.id)),
                () if outcome == 0 => {
                    let till = sale.now() + self.hold;
                    (till, sale.hold(&item.target, &item.hold, till))
                }
                () => {
                    sale.save_if_dirty();
                    (0, Vec::new())
                }
            };
            reply.push(int(sale.available));
            if outcome == 0 {
                reply.extend([int(sale.by_server(till)), int(drawn.len() as u64)]);
                reply.extend(drawn.into_iter().map(Reply::Bytes));
            }
            sale::store(space, &item.target, now)?;
        }
        if let Some(memory) = &self.memory {
            reply.extend(self.items.iter().map(|item| Reply::Bytes(item.member.clone())));
            reply.push(Reply::Bytes(self.set().to_vec()));
            if outcome == 0 {
                memory.remember(space, &reply, now);
            }
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let outcome = TakeOutcome::of_reply(unsigned(fields, 0)?)?;
        let refused = (unsigned(fields, 1)? as usize).checked_sub(1);
        let mut members = Vec::new();
        let mut rest = fields.get(2..).unwrap_or_default();
        if self.memory.is_some() {
            let Some((set, before)) = rest.split_last() else { return Err(odd_reply("no fields".into())) };
            if *set != Reply::Bytes(self.set().to_vec()) {
                return Err(Error::invalid(
                    "request_id was already used for other stocks: use another id for another request",
                ));
            }
            let split = before.len().checked_sub(self.items.len());
            let texts;
            (rest, texts) = before.split_at(split.ok_or_else(|| odd_reply("too few fields".into()))?);
            members = (0..texts.len()).map(|at| bytes(texts, at)).collect::<Result<_>>()?;
        }
        let mut reservations = vec![None; self.items.len()];
        let mut available = vec![0; self.items.len()];
        for (at, item) in self.items.iter().enumerate() {
            available[item.given_at] = unsigned(rest, 0)?;
            rest = &rest[1..];
            if outcome != TakeOutcome::Held {
                continue;
            }
            let (until, prizes) = (unsigned(rest, 0)?, unsigned(rest, 1)? as usize);
            let hold = match members.get(at) {
                Some(member) => StockHold::of_member(member).ok_or_else(|| odd_reply("no member".into()))?,
                None => item.hold.clone(),
            };
            let prizes = (2..prizes + 2).map(|at| bytes(rest, at)).collect::<Result<Vec<_>>>()?;
            rest = &rest[2 + prizes.len()..];
            let id = id::encode(&item.target, &hold);
            let (quantity, buyer) = (hold.quantity, hold.buyer);
            reservations[item.given_at] = Some(StockReservation { id, quantity, buyer, prizes, until });
        }
        if !rest.is_empty() {
            return Err(odd_reply(format!("{} fields too many", rest.len())));
        }
        let refused = refused.and_then(|at| self.items.get(at)).map(|item| item.given_at);
        let reservations: Vec<StockReservation> = reservations.into_iter().flatten().collect();
        Ok(if self.verb == "take" {
            let available = available.first().copied().unwrap_or_default();
            Answer::new(Taken { outcome, reservation: reservations.into_iter().next(), available })
        } else {
            Answer::new(TakenAll { outcome, refused, reservations, available })
        })
    }

    fn has_written(&self, answer: &Answer) -> bool {
        let one = answer.get::<Taken>().is_some_and(|taken| taken.reservation.is_some());
        one || answer.get::<TakenAll>().is_some_and(|taken| !taken.reservations.is_empty())
    }

    fn describe(&self) -> String {
        let names: Vec<&str> = self.items.iter().map(|item| item.target.shown.as_str()).collect();
        format!("{} from {}", self.verb, names.join(", "))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for Take {
    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        let decided = result.as_ref().map(|answer| match (answer.get::<Taken>(), answer.get::<TakenAll>()) {
            (Some(taken), _) => Some((taken.outcome, None)),
            (_, Some(taken)) => Some((taken.outcome, taken.refused)),
            _ => None,
        });
        for item in &self.items {
            let counters = &item.target.counters;
            match decided {
                // Of several stocks the one that refused.
                Ok(Some((outcome, refused))) if refused.is_none_or(|refused| refused == item.given_at) => {
                    counters.count(outcome as usize);
                }
                Ok(_) => {}
                Err(error) if error.code() == Code::InvalidArgument => {}
                Err(_) => counters.count_error(),
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::TakeOutcome;
    use wire::metrics::TAKE_RESULTS;

    #[test]
    fn every_outcome_is_counted_by_its_name() {
        for number in 0..TAKE_RESULTS.len() as u64 - 1 {
            let outcome = TakeOutcome::of_reply(number).unwrap();
            assert_eq!(outcome.as_str(), TAKE_RESULTS[outcome as usize]);
        }
        assert!(TakeOutcome::of_reply(TAKE_RESULTS.len() as u64 - 1).is_err(), "one more has no name here");
    }
}
