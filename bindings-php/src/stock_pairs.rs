//! The arguments of the calls about several stocks: lists of `[$stock, $quantity]` and of `[$stock, $id]`.

use ext_php_rs::convert::FromZval;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{Code, Error, TakenAll, convert};

use crate::argument::{Int, Key, Maybe, parameter, type_name, whole, wrong_type};
use crate::call;
use crate::exception::{Outcome, Problem};
use crate::record::Shown;
use crate::registry::Handle;
use crate::stock::Stock;
use crate::unkept;

parameter! {
    /// A parameter of type `array` that holds pairs of a stock and something.
    StockPairs, Array
}

impl<'a> StockPairs<'a> {
    /// Holds units of all of them by a client for one buyer, or of none.
    pub fn take(
        &self,
        client: &Handle,
        buyer: &Key,
        hold_ms: &Int,
        request_id: &Maybe<Key>,
    ) -> Outcome<Shown<TakenAll>> {
        let op = {
            let (buyer, id, hold) = (buyer.bytes(2)?, request_id.bytes(4)?, hold_ms.micros(3, "hold")?);
            client.shared()?.core().take_all(&self.takes()?, &buyer, hold, id.as_deref())?
        };
        let taken = call::run(op)?;
        if !taken.reservations.is_empty() && request_id.0.is_none() && unkept::is_returned() {
            return unkept::warn(self.takes()?[0].0.unkept(), Shown(taken));
        }
        Ok(Shown(taken))
    }

    /// Stocks with quantities: the argument `takes`.
    fn takes(&self) -> Outcome<Vec<(&'a quotalock::Stock, u64)>> {
        self.pairs("takes", "$quantity", |wrong, value| {
            Ok(convert::unsigned("quantity", whole(value).ok_or_else(|| wrong("quantity", value, "int"))?)?)
        })
    }

    /// Stocks with ids: the argument `reservations`.
    pub fn reservations(&self) -> Outcome<Vec<(&'a quotalock::Stock, &'a str)>> {
        self.pairs("reservations", "$id", |wrong, value| {
            let bytes = value.zend_str().ok_or_else(|| wrong("id", value, "string"))?.as_bytes();
            let odd = |_| Error::new(Code::InvalidArgument, "id is not UTF-8: give one of a reservation");
            Ok(std::str::from_utf8(bytes).map_err(odd)?)
        })
    }

    fn pairs<T>(
        &self,
        what: &str,
        second: &str,
        read: impl Fn(&dyn Fn(&str, &Zval, &str) -> Problem, &'a Zval) -> Outcome<T>,
    ) -> Outcome<Vec<(&'a quotalock::Stock, T)>> {
        let list = self.0.array().ok_or_else(|| wrong_type(1, c"array", self.0))?;
        let pair = |(place, value): (usize, &'a Zval)| {
            let odd = |found: &str| {
                let message = format!("{what}[{place}] is {found}: give [$stock, {second}]");
                Problem::from(Error::new(Code::InvalidArgument, message))
            };
            let wrong = |part: &str, found: &Zval, wanted: &str| -> Problem {
                let message = format!("{what}[{place}] has {} as its {part}: give {wanted}", type_name(found));
                Error::new(Code::InvalidArgument, message).into()
            };
            let value = value.dereference();
            let pair = value.array().ok_or_else(|| odd(type_name(value)))?;
            let at = |index| pair.get_index(index).map(Zval::dereference);
            let (Some(stock), Some(other), 2) = (at(0), at(1), pair.len()) else {
                return Err(odd(&format!("an array of {}", pair.len())));
            };
            let object = <&ZendClassObject<Stock>>::from_zval(stock);
            let stock = object.ok_or_else(|| wrong("stock", stock, "Quotalock\\Stock"))?.stock()?;
            Ok((stock, read(&wrong, other)?))
        };
        list.values().enumerate().map(pair).collect()
    }
}
