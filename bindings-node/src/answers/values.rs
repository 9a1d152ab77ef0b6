//! Answers that are no decisions, as plain objects with the names of index.d.ts. They are made when JavaScript takes them.

use napi::bindgen_prelude::{BufferSlice, JsObjectValue, Object, ToNapiValue, Unknown};
use napi::{Env, Result};
use quotalock::testing::Stored;
use quotalock::{
    Answer, Claimed, Code, Error, Holder, Inspection, LedgerEntry, Seen, StockPage, StockReservation, StockStatus,
    Taken, TakenAll, convert,
};

/// A plain object with these properties.
macro_rules! object {
    ($env:ident, { $($name:literal: $value:expr),+ $(,)? }) => {{
        let mut object = Object::new($env)?;
        $(object.set_c_named_property($name, $value)?;)+
        Ok(object)
    }};
}

/// What JavaScript takes from among answers.
pub enum Value {
    /// An answer of the core.
    Answer(Answer),
    /// Why there is no answer.
    Failure(Error),
}

impl Value {
    /// The value as JavaScript has it.
    pub fn taken(self, env: &Env) -> Result<Unknown<'_>> {
        match self {
            Value::Answer(answer) => self::answer(env, &answer),
            Value::Failure(error) => failure(env, &error)?.into_unknown(env),
        }
    }
}

fn answer<'e>(env: &'e Env, answer: &Answer) -> Result<Unknown<'e>> {
    if let Some(taken) = answer.get() {
        self::taken(env, taken)?.into_unknown(env)
    } else if let Some(seen) = answer.get::<Option<Seen>>() {
        seen.as_ref().map(|seen| self::seen(env, seen)).transpose()?.into_unknown(env)
    } else if let Some(claimed) = answer.get() {
        self::claimed(env, claimed)?.into_unknown(env)
    } else if let Some(count) = answer.get::<u64>() {
        (*count as f64).into_unknown(env)
    } else if let Some(status) = answer.get() {
        self::status(env, status)?.into_unknown(env)
    } else if let Some(taken) = answer.get() {
        taken_all(env, taken)?.into_unknown(env)
    } else if let Some(page) = answer.get() {
        self::page(env, page)?.into_unknown(env)
    } else if let Some(ledger) = answer.get::<Vec<LedgerEntry>>() {
        list(ledger, |each| entry(env, each))?.into_unknown(env)
    } else if let Some(inspection) = answer.get() {
        self::inspection(env, inspection)?.into_unknown(env)
    } else if let Some(stored) = answer.get::<Option<Stored>>() {
        stored.as_ref().map(|stored| self::stored(env, stored)).transpose()?.into_unknown(env)
    } else {
        failure(env, &Error::new(Code::Internal, format!("no value of JavaScript for {answer:?}")))?.into_unknown(env)
    }
}

fn failure<'e>(env: &'e Env, error: &Error) -> Result<Object<'e>> {
    object!(env, {
        c"code": error.code().as_str(),
        c"message": error.message(),
        c"thrown": error.cause::<f64>().copied(),
    })
}

fn seen<'e>(env: &'e Env, seen: &Seen) -> Result<Object<'e>> {
    object!(env, {
        c"value": seen.value.as_ref().map(|value| copy(env, value)).transpose()?,
        c"stale": seen.stale,
        c"ageMs": ms(seen.age),
    })
}

fn claimed<'e>(env: &'e Env, claimed: &Claimed) -> Result<Object<'e>> {
    object!(env, {
        c"first": claimed.first,
        c"running": claimed.running,
        c"remainingMs": ms(claimed.left),
        c"ageMs": ms(claimed.age),
        c"value": claimed.value.as_ref().map(|value| copy(env, value)).transpose()?,
    })
}

fn taken<'e>(env: &'e Env, taken: &Taken) -> Result<Object<'e>> {
    object!(env, {
        c"outcome": taken.outcome.as_str(),
        c"available": taken.available as f64,
        c"reservation": taken.reservation.as_ref().map(|held| reservation(env, held)).transpose()?,
    })
}

fn taken_all<'e>(env: &'e Env, taken: &TakenAll) -> Result<Object<'e>> {
    object!(env, {
        c"outcome": taken.outcome.as_str(),
        c"refused": taken.refused.map(|place| place as f64),
        c"reservations": list(&taken.reservations, |held| reservation(env, held))?,
        c"available": list(&taken.available, |available| Ok(*available as f64))?,
    })
}

fn reservation<'e>(env: &'e Env, held: &StockReservation) -> Result<Object<'e>> {
    object!(env, {
        c"id": &*held.id,
        c"quantity": held.quantity as f64,
        c"buyer": copy(env, &held.buyer)?,
        c"prizes": list(&held.prizes, |prize| copy(env, prize))?,
        c"untilMs": moment(held.until),
    })
}

fn status<'e>(env: &'e Env, status: &StockStatus) -> Result<Object<'e>> {
    let StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends } = status;
    object!(env, {
        c"phase": phase.as_str(),
        c"quantity": *quantity as f64,
        c"available": *available as f64,
        c"held": *held as f64,
        c"sold": *sold as f64,
        c"buyers": *buyers as f64,
        c"perBuyer": per_buyer.map(|most| most as f64),
        c"endsMs": ends.map(moment),
    })
}

fn page<'e>(env: &'e Env, page: &StockPage) -> Result<Object<'e>> {
    object!(env, {
        c"reservations": list(&page.reservations, |held| reservation(env, held))?,
        c"next": page.next.as_deref(),
    })
}

fn entry<'e>(env: &'e Env, entry: &LedgerEntry) -> Result<Object<'e>> {
    object!(env, {
        c"id": &*entry.id,
        c"number": entry.number as f64,
        c"kind": entry.kind.as_str(),
        c"reservation": entry.reservation.as_deref(),
        c"buyer": entry.buyer.as_ref().map(|buyer| copy(env, buyer)).transpose()?,
        c"quantity": entry.quantity as f64,
        c"timeMs": moment(entry.time),
        c"available": entry.available as f64,
        c"held": entry.held as f64,
        c"sold": entry.sold as f64,
        c"prizes": list(&entry.prizes, |prize| copy(env, prize))?,
    })
}

fn inspection<'e>(env: &'e Env, inspection: &Inspection) -> Result<Object<'e>> {
    object!(env, {
        c"token": inspection.token as f64,
        c"waiters": inspection.waiters as f64,
        c"healed": inspection.healed,
        c"holders": list(&inspection.holders, |each| holder(env, each))?,
    })
}

fn holder<'e>(env: &'e Env, holder: &Holder) -> Result<Object<'e>> {
    object!(env, {
        c"host": &*holder.host,
        c"pid": holder.pid as f64,
        c"label": &*holder.label,
        c"token": holder.token as f64,
        c"permits": holder.permits as f64,
        c"sinceMs": moment(holder.since),
        c"untilMs": moment(holder.until),
    })
}

fn stored<'e>(env: &'e Env, stored: &Stored) -> Result<Object<'e>> {
    object!(env, {
        c"value": copy(env, &stored.value)?,
        c"ttlMs": stored.ttl_ms.map(|ms| ms as f64),
    })
}

fn list<T, V>(items: &[T], value: impl Fn(&T) -> Result<V>) -> Result<Vec<V>> {
    items.iter().map(value).collect()
}

fn copy<'e>(env: &'e Env, bytes: &[u8]) -> Result<BufferSlice<'e>> {
    BufferSlice::copy_from(env, bytes)
}

fn ms(micros: u64) -> f64 {
    convert::ms(micros) as f64
}

fn moment(micros: u64) -> f64 {
    convert::moment(micros) as f64
}
