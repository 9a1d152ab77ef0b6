//! Answers of stocks, packed in bytes: there may be more of them than numbers have room for.
//!
//! A number is a float of 8 bytes, -1 for none; bytes are a length of 4 bytes (all ones for none) and themselves; a list is
//! a number of 4 bytes and its items. All of them are little endian.

use quotalock::{Answer, LedgerEntry, StockPage, StockReservation, StockStatus, Taken, TakenAll, convert};

use super::{LEDGER, STOCK_PAGE, STOCK_STATUS, TAKEN, TAKEN_ALL};

/// Packs an answer of a stock: its kind, and the bytes; none for others.
pub fn packed(answer: &Answer) -> Option<(u32, Vec<u8>)> {
    let mut packed = Packed::default();
    let kind = if let Some(Taken { outcome, reservation, available }) = answer.get() {
        packed.bytes(outcome.as_str().as_bytes());
        packed.number(*available);
        packed.list(reservation.as_slice(), Packed::reservation);
        TAKEN
    } else if let Some(TakenAll { outcome, refused, reservations, available }) = answer.get() {
        packed.bytes(outcome.as_str().as_bytes());
        packed.maybe(refused.map(|place| place as u64));
        packed.list(reservations, Packed::reservation);
        packed.list(available, |packed, available| packed.number(*available));
        TAKEN_ALL
    } else if let Some(status) = answer.get() {
        let StockStatus { phase, quantity, available, held, sold, buyers, per_buyer, ends } = status;
        packed.bytes(phase.as_str().as_bytes());
        [quantity, available, held, sold, buyers].into_iter().for_each(|number| packed.number(*number));
        packed.maybe(*per_buyer);
        packed.maybe(ends.map(convert::moment));
        STOCK_STATUS
    } else if let Some(StockPage { reservations, next }) = answer.get() {
        packed.list(reservations, Packed::reservation);
        packed.maybe_bytes(next.as_ref().map(String::as_bytes));
        STOCK_PAGE
    } else {
        packed.list(answer.get::<Vec<LedgerEntry>>()?, Packed::entry);
        LEDGER
    };
    Some((kind, packed.bytes))
}

#[derive(Default)]
struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    fn number(&mut self, number: u64) {
        self.bytes.extend((number as f64).to_le_bytes());
    }

    fn maybe(&mut self, number: Option<u64>) {
        self.bytes.extend(number.map_or(-1.0, |number| number as f64).to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.bytes.extend((length as u32).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.bytes.extend(bytes);
    }

    fn maybe_bytes(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.length(u32::MAX as usize),
        }
    }

    fn list<T>(&mut self, items: &[T], item: impl Fn(&mut Packed, &T)) {
        self.length(items.len());
        items.iter().for_each(|each| item(self, each));
    }

    fn prizes(&mut self, prizes: &[Vec<u8>]) {
        self.list(prizes, |packed, prize| packed.bytes(prize));
    }

    fn reservation(&mut self, reservation: &StockReservation) {
        let StockReservation { id, quantity, buyer, prizes, until } = reservation;
        self.bytes(id.as_bytes());
        self.number(*quantity);
        self.bytes(buyer);
        self.prizes(prizes);
        self.number(convert::moment(*until));
    }

    fn entry(&mut self, entry: &LedgerEntry) {
        let LedgerEntry { id, number, kind, reservation, buyer, quantity, time, .. } = entry;
        self.bytes(id.as_bytes());
        self.number(*number);
        self.bytes(kind.as_str().as_bytes());
        self.maybe_bytes(reservation.as_ref().map(String::as_bytes));
        self.maybe_bytes(buyer.as_deref());
        self.number(*quantity);
        self.number(convert::moment(*time));
        [entry.available, entry.held, entry.sold].into_iter().for_each(|number| self.number(number));
        self.prizes(&entry.prizes);
    }
}
