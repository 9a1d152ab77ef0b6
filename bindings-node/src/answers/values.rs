//! Answers that are no decisions, as plain objects with the names of index.d.ts. They are made when JavaScript takes them.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, BufferSlice, Object, ToNapiValue, Unknown};
use napi::{Env, Result};
use quotalock::testing::Stored;
use quotalock::{
    Answer, Claimed, Code, Error, Got, Holder, Inspection, LedgerEntry, Part, Seen, StockPage, StockReservation,
    StockStatus, Taken, TakenAll, convert,
};

use crate::ticket::{Ticket, Wait};

/// What JavaScript takes from among answers.
pub enum Value {
    /// An answer of the core.
    Answer(Answer),
    /// What is to be done about each of several keys.
    Parts(Vec<Part>),
    /// Why there is no answer.
    Failure(Error),
}

impl Value {
    /// The value as JavaScript has it.
    pub fn taken(self, env: &Env) -> Result<Unknown<'_>> {
        match self {
            Value::Answer(answer) => match answer.downcast() {
                Ok(got) => self::got(env, got),
                Err(answer) => self::answer(env, &answer),
            },
            Value::Parts(parts) => {
                let parts = parts.into_iter().map(|part| self::part(env, part));
                parts.collect::<Result<Vec<_>>>()?.into_unknown(env)
            }
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
    let mut object = Object::new(env)?;
    object.set("code", error.code().as_str())?;
    object.set("message", error.message())?;
    Ok(object)
}

fn got(env: &Env, got: Got) -> Result<Unknown<'_>> {
    match got {
        Got::Found(Seen { value, .. }) => value.map(bytes).into_unknown(env),
        Got::Load(inner) => Ticket { inner }.into_unknown(env),
    }
}

fn part(env: &Env, part: Part) -> Result<Unknown<'_>> {
    match part {
        Part::Got(got) => self::got(env, got),
        Part::Failed(error) => failure(env, &error)?.into_unknown(env),
        Part::Waits(getting) => Wait { inner: Some(getting) }.into_unknown(env),
    }
}

fn seen<'e>(env: &'e Env, seen: &Seen) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("value", seen.value.clone().map(bytes))?;
    object.set("stale", seen.stale)?;
    object.set("ageMs", ms(seen.age))?;
    Ok(object)
}

fn claimed<'e>(env: &'e Env, claimed: &Claimed) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("first", claimed.first)?;
    object.set("running", claimed.running)?;
    object.set("remainingMs", ms(claimed.left))?;
    object.set("ageMs", ms(claimed.age))?;
    object.set("value", claimed.value.clone().map(bytes))?;
    Ok(object)
}

fn taken<'e>(env: &'e Env, taken: &Taken) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("outcome", taken.outcome.as_str())?;
    object.set("available", taken.available as f64)?;
    object.set("reservation", taken.reservation.as_ref().map(|held| reservation(env, held)).transpose()?)?;
    Ok(object)
}

fn taken_all<'e>(env: &'e Env, taken: &TakenAll) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("outcome", taken.outcome.as_str())?;
    object.set("refused", taken.refused.map(|place| place as f64))?;
    object.set("reservations", list(&taken.reservations, |held| reservation(env, held))?)?;
    object.set("available", list(&taken.available, |available| Ok(*available as f64))?)?;
    Ok(object)
}

fn reservation<'e>(env: &'e Env, held: &StockReservation) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("id", &*held.id)?;
    object.set("quantity", held.quantity as f64)?;
    object.set("buyer", copy(env, &held.buyer)?)?;
    object.set("prizes", list(&held.prizes, |prize| copy(env, prize))?)?;
    object.set("untilMs", moment(held.until))?;
    Ok(object)
}

fn status<'e>(env: &'e Env, status: &StockStatus) -> Result<Object<'e>> {
    let StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends } = status;
    let mut object = Object::new(env)?;
    object.set("phase", phase.as_str())?;
    object.set("quantity", *quantity as f64)?;
    object.set("available", *available as f64)?;
    object.set("held", *held as f64)?;
    object.set("sold", *sold as f64)?;
    object.set("buyers", *buyers as f64)?;
    object.set("perBuyer", per_buyer.map(|most| most as f64))?;
    object.set("endsMs", ends.map(moment))?;
    Ok(object)
}

fn page<'e>(env: &'e Env, page: &StockPage) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("reservations", list(&page.reservations, |held| reservation(env, held))?)?;
    object.set("next", page.next.as_deref())?;
    Ok(object)
}

fn entry<'e>(env: &'e Env, entry: &LedgerEntry) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("id", &*entry.id)?;
    object.set("number", entry.number as f64)?;
    object.set("kind", entry.kind.as_str())?;
    object.set("reservation", entry.reservation.as_deref())?;
    object.set("buyer", entry.buyer.as_ref().map(|buyer| copy(env, buyer)).transpose()?)?;
    object.set("quantity", entry.quantity as f64)?;
    object.set("timeMs", moment(entry.time))?;
    object.set("available", entry.available as f64)?;
    object.set("held", entry.held as f64)?;
    object.set("sold", entry.sold as f64)?;
    object.set("prizes", list(&entry.prizes, |prize| copy(env, prize))?)?;
    Ok(object)
}

fn inspection<'e>(env: &'e Env, inspection: &Inspection) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("token", inspection.token as f64)?;
    object.set("waiters", inspection.waiters as f64)?;
    object.set("healed", inspection.healed)?;
    object.set("holders", list(&inspection.holders, |each| holder(env, each))?)?;
    Ok(object)
}

fn holder<'e>(env: &'e Env, holder: &Holder) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("host", &*holder.host)?;
    object.set("pid", holder.pid as f64)?;
    object.set("label", &*holder.label)?;
    object.set("token", holder.token as f64)?;
    object.set("permits", holder.permits as f64)?;
    object.set("sinceMs", moment(holder.since))?;
    object.set("untilMs", moment(holder.until))?;
    Ok(object)
}

fn stored<'e>(env: &'e Env, stored: &Stored) -> Result<Object<'e>> {
    let mut object = Object::new(env)?;
    object.set("value", copy(env, &stored.value)?)?;
    object.set("ttlMs", stored.ttl_ms.map(|ms| ms as f64))?;
    Ok(object)
}

fn list<T, V>(items: &[T], value: impl Fn(&T) -> Result<V>) -> Result<Vec<V>> {
    items.iter().map(value).collect()
}

/// Bytes that others may have too: they are copied only if so.
fn bytes(shared: Arc<Vec<u8>>) -> Buffer {
    Arc::unwrap_or_clone(shared).into()
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
