//! The `charges` argument of `consumeAll`: a list of `[$limiter, $key]` and `[$limiter, $key, $cost]`.

use ext_php_rs::convert::FromZval;
use ext_php_rs::types::{ZendClassObject, ZendHashTable, Zval};
use quotalock::{Charge, Client, Code, CombinedDecision, Error, Op, convert};

use crate::advice;
use crate::argument::{Key, Maybe, parameter, type_name, whole, wrong_type};
use crate::call;
use crate::decision::DecidedAll;
use crate::exception::{Outcome, Problem};
use crate::limiter::Limiter;
use crate::record::Recorded;
use crate::registry::Handle;

parameter! {
    /// Charges as PHP gives them.
    Charges, Array
}

impl<'a> Charges<'a> {
    fn list(&self) -> Outcome<&'a ZendHashTable> {
        self.0.array().ok_or_else(|| wrong_type(1, c"array", self.0))
    }

    /// The keys, copied: a `__toString` among them may change what the list refers to, so nothing else of it is looked
    /// at before.
    fn keys(&self) -> Outcome<Vec<Vec<u8>>> {
        let key = |(place, value): (usize, &Zval)| {
            // Our own count keeps the charge alive while the text of its key is made.
            let charge = value.dereference().shallow_clone();
            Part::of(place, &charge)?.key()
        };
        self.list()?.values().enumerate().map(key).collect()
    }

    /// The keys as they were given.
    fn whom(&self) -> Vec<Zval> {
        let key = |(place, value)| {
            Part::of(place, Zval::dereference(value)).map_or_else(|_| Zval::new(), |part| part.key.shallow_clone())
        };
        self.0.array().map_or_else(Vec::new, |list| list.values().enumerate().map(key).collect())
    }

    /// Charges them all by a client, or none.
    pub fn consume(&self, client: &Handle, request_id: &Maybe<Key>) -> Outcome<DecidedAll> {
        let op = {
            let (id, keys) = (request_id.bytes(2)?, self.keys()?);
            self.op(&keys, client.shared()?.core(), id.as_deref())?
        };
        let combined = advice::after(call::run(op))?;
        match client.on_decision() {
            None => Ok(DecidedAll(combined.shown())),
            Some(hook) => hook.after_all(combined, self.whom()).map(DecidedAll),
        }
    }

    /// Describes the call.
    fn op(&self, keys: &[Vec<u8>], client: &Client, request_id: Option<&[u8]>) -> Outcome<Op<CombinedDecision>> {
        let mut charges = Vec::with_capacity(keys.len());
        for ((place, value), key) in self.list()?.values().enumerate().zip(keys) {
            let part = Part::of(place, value.dereference())?;
            charges.push(Charge { limiter: part.limiter()?, key, cost: part.cost()? });
        }
        Ok(client.consume_all(&charges, request_id)?)
    }
}

/// One charge, taken apart.
struct Part<'a> {
    place: usize,
    limiter: &'a Zval,
    key: &'a Zval,
    cost: Option<&'a Zval>,
}

impl<'a> Part<'a> {
    fn of(place: usize, value: &'a Zval) -> Outcome<Part<'a>> {
        let wrong = |found: &str| {
            let message = format!("charges[{place}] is {found}: give [$limiter, $key] or [$limiter, $key, $cost]");
            Problem::from(Error::new(Code::InvalidArgument, message))
        };
        let Some(list) = value.array() else { return Err(wrong(type_name(value))) };
        let at = |index| list.get_index(index).map(Zval::dereference);
        match (list.len(), at(0), at(1), at(2)) {
            (2, Some(limiter), Some(key), None) => Ok(Part { place, limiter, key, cost: None }),
            (3, Some(limiter), Some(key), Some(cost)) => Ok(Part { place, limiter, key, cost: Some(cost) }),
            (2 | 3, ..) => Err(wrong("an array with keys of its own")),
            (elements, ..) => Err(wrong(&format!("an array of {elements}"))),
        }
    }

    fn limiter(&self) -> Outcome<&'a quotalock::Limiter> {
        let object = <&ZendClassObject<Limiter>>::from_zval(self.limiter);
        Ok(object.ok_or_else(|| self.wrong("limiter", self.limiter, "Quotalock\\Limiter"))?.limiter()?)
    }

    fn key(&self) -> Outcome<Vec<u8>> {
        let bytes = Key(self.key).taken().ok_or_else(|| self.wrong("key", self.key, "Stringable|string|int"))?;
        Ok(bytes?.into_owned())
    }

    fn cost(&self) -> Outcome<u64> {
        let Some(cost) = self.cost else { return Ok(1) };
        Ok(convert::unsigned("cost", whole(cost).ok_or_else(|| self.wrong("cost", cost, "int"))?)?)
    }

    fn wrong(&self, what: &str, found: &Zval, wanted: &str) -> Problem {
        let (place, found) = (self.place, type_name(found));
        Error::new(Code::InvalidArgument, format!("charges[{place}] has {found} as its {what}: give {wanted}")).into()
    }
}
