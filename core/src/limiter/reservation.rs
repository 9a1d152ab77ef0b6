//! A reservation: an estimate that was charged, to be settled when the actual amount is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::Verb;
use super::holds::ID_SIZE;
use super::{Limiter, check_cost};
use crate::key;
use wire::base::error::{Error, Result, shown};
use wire::base::random;
use wire::op::Op;

/// An amount held by [`Limiter::reserve`]. Any process that knows its limiter, key and id can settle it.
#[derive(Clone)]
pub struct Reservation {
    limiter: Limiter,
    key: Vec<u8>,
    id: [u8; ID_SIZE],
    /// Whether only this and its clones can settle it: nobody has done so, nor asked for the id.
    alone: Arc<AtomicBool>,
}

impl Reservation {
    pub(super) fn new(limiter: &Limiter, key: &[u8]) -> Result<Reservation> {
        Ok(Reservation::of(limiter, key, random::bytes()?, true))
    }

    fn of(limiter: &Limiter, key: &[u8], id: [u8; ID_SIZE], alone: bool) -> Reservation {
        Reservation { limiter: limiter.clone(), key: key.to_vec(), id, alone: Arc::new(AtomicBool::new(alone)) }
    }

    pub(super) fn id_bytes(&self) -> [u8; ID_SIZE] {
        self.id
    }

    /// The key that the estimate was charged to.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The id: 32 hexadecimal digits.
    pub fn id(&self) -> String {
        self.alone.store(false, Ordering::Relaxed);
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// For a binding whose object of a held reservation goes away: what to warn its user of; none if it was settled, or its id is
    /// known.
    pub fn let_go(&self) -> Option<String> {
        self.alone.swap(false, Ordering::Relaxed).then(|| self.unkept())
    }

    /// Puts the `actual` amount (0 to [`MAX_COST`](crate::MAX_COST)) in the place of the estimate: what was too much is
    /// given back to the rules that still count it; what was too little is charged, whatever the limit. False if the
    /// reservation had ended, or was settled with another amount: then nothing changed.
    ///
    /// Settling again with the same amount within ten seconds is true and changes nothing, so it may be repeated after an
    /// error.
    ///
    /// # Errors
    /// `invalid_argument` for a bad amount; else as the limiter's other calls, whatever `on_error` says.
    pub fn settle(&self, actual: u64) -> Result<Op<bool>> {
        check_cost(actual)?;
        self.alone.store(false, Ordering::Relaxed);
        self.limiter.call(Verb::Settle { id: self.id }, &self.key, actual, None, None)
    }

    /// Gives the whole estimate back: [`settle`](Reservation::settle) with 0.
    ///
    /// # Errors
    /// As [`settle`](Reservation::settle).
    pub fn cancel(&self) -> Result<Op<bool>> {
        self.settle(0)
    }

    /// What to warn the user of a binding of, whose object went as soon as it was made.
    pub fn unkept(&self) -> String {
        let name = shown(self.limiter.name().as_bytes());
        format!("a reservation of limiter \"{name}\" was dropped: settle or cancel it, or keep its id")
    }
}

impl Limiter {
    /// The reservation of this id, made by [`reserve`](Limiter::reserve) here or in another process. Does no I/O.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key, or an id that is not 32 hexadecimal digits.
    pub fn reservation(&self, key: &[u8], id: &str) -> Result<Reservation> {
        key::check_key(key)?;
        let bad = || {
            let given = shown(id.as_bytes());
            Error::invalid(format!(
                "reservation id \"{given}\" is not 32 hexadecimal digits: give the id of a reservation"
            ))
        };
        let (pairs, rest) = id.as_bytes().as_chunks::<2>();
        if pairs.len() != ID_SIZE || !rest.is_empty() || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut bytes = [0; ID_SIZE];
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            let text = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(text, 16).map_err(|_| bad())?;
        }
        Ok(Reservation::of(self, key, bytes, false))
    }
}
