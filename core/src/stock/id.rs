//! What a reservation is known by: a text that carries all that a script needs to find its hold.
//!
//! Base64url without padding of: id (16 bytes), what ties it to its stock (6), quantity (in sevens of bits, the lowest
//! first), buyer.

use super::SaleTarget;
use crate::key::MAX_KEY_BYTES;
use wire::base::error::{Error, Result, shown};

/// Of one take; all its tries have the same, and no other take ever has.
pub(crate) type Id = [u8; 16];

/// The longest member of a hold.
pub(super) const MAX_MEMBER_BYTES: usize = ID + 8 + 1 + MAX_KEY_BYTES;

const ID: usize = 16;
const TIE: usize = 6;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StockHold {
    pub id: Id,
    pub quantity: u64,
    pub buyer: Vec<u8>,
}

impl StockHold {
    /// As it stands among the holds of its sale: id, quantity (8 bytes), `b` and the buyer.
    pub fn member(&self) -> Vec<u8> {
        [self.id.as_slice(), &self.quantity.to_le_bytes(), b"b", &self.buyer].concat()
    }

    /// The hold of a member; none if it is no member.
    pub fn of_member(member: &[u8]) -> Option<StockHold> {
        let (id, rest) = member.split_first_chunk::<ID>()?;
        let (quantity, rest) = rest.split_first_chunk::<8>()?;
        let buyer = if rest.is_empty() { rest } else { rest.strip_prefix(b"b")? };
        Some(StockHold { id: *id, quantity: u64::from_le_bytes(*quantity), buyer: buyer.to_vec() })
    }
}

/// The text of a hold.
pub(super) fn encode(target: &SaleTarget, hold: &StockHold) -> String {
    let mut tail = Vec::with_capacity(hold.buyer.len() + 4);
    let mut quantity = hold.quantity;
    while quantity > 0x7f {
        tail.push(quantity as u8 | 0x80);
        quantity >>= 7;
    }
    tail.push(quantity as u8);
    tail.extend_from_slice(&hold.buyer);
    to_text(&[hold.id.as_slice(), &tie(target, &hold.id, &tail), &tail].concat())
}

/// The hold of a text.
///
/// # Errors
/// `invalid_argument` if no take of this stock can have returned it.
pub(super) fn decode(target: &SaleTarget, text: &str) -> Result<StockHold> {
    read(target, text).ok_or_else(|| {
        let (text, stock) = (shown(text.as_bytes()), &target.shown);
        Error::invalid(format!(
            "reservation \"{text}\" does not belong to {stock}: give the id of a reservation that was taken there"
        ))
    })
}

fn read(target: &SaleTarget, text: &str) -> Option<StockHold> {
    let raw = from_text(text)?;
    let (id, rest) = raw.split_first_chunk::<ID>()?;
    let (given, tail) = rest.split_first_chunk::<TIE>()?;
    if *given != tie(target, id, tail) {
        return None;
    }
    let length = 1 + tail.iter().position(|byte| *byte < 0x80)?;
    let (digits, buyer) = tail.split_at(length);
    let add = |sum: u64, digit: &u8| sum.checked_mul(128)?.checked_add(u64::from(digit & 0x7f));
    let quantity = digits.iter().rev().try_fold(0, add)?;
    Some(StockHold { id: *id, quantity, buyer: buyer.to_vec() })
}

/// The first bytes of the SHA-1 over the stock's key and what is tied to it.
fn tie(target: &SaleTarget, id: &Id, tail: &[u8]) -> [u8; TIE] {
    let mut sha = sha1_smol::Sha1::new();
    for part in [target.keys[0].as_slice(), &[0], id, tail] {
        sha.update(part);
    }
    let digest = sha.digest().bytes();
    std::array::from_fn(|at| digest[at])
}

fn to_text(raw: &[u8]) -> String {
    let mut text = String::with_capacity(raw.len().div_ceil(3) * 4);
    for chunk in raw.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    text
}

/// None for a text that [`to_text`] does not make.
fn from_text(text: &str) -> Option<Vec<u8>> {
    let mut raw = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in chunk {
            bits = bits << 6 | DIGITS.iter().position(|digit| digit == byte)? as u32;
        }
        bits <<= 6 * (4 - chunk.len());
        raw.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    (to_text(&raw) == text).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::metrics::TakeCounters;

    #[test]
    fn a_text_is_read_as_it_was_written_and_nothing_else_is() {
        let target = |name: &str| SaleTarget {
            name: vec![],
            keys: [name.into(), vec![], vec![]],
            shown: name.into(),
            counters: TakeCounters::of(b"any"),
        };
        for (quantity, buyer) in [(1, &b"user:42"[..]), (300, b"\x00\xff"), (1 << 52, b"b"), (127, b"x"), (128, b"xy")]
        {
            let hold = StockHold { id: *b"0123456789abcdef", quantity, buyer: buyer.to_vec() };
            let text = encode(&target("here"), &hold);
            assert_eq!(read(&target("here"), &text), Some(hold.clone()));
            assert_eq!(read(&target("there"), &text), None);
            assert_eq!(StockHold::of_member(&hold.member()), Some(hold));
            for at in 0..text.len() {
                assert_eq!(read(&target("here"), &text[..at]), None);
                let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
                let changed = [&text[..at], other, &text[at + 1..]].concat();
                assert_eq!(read(&target("here"), &changed), None, "{changed}");
            }
        }
        for text in ["", "é", "A", "AA==", " "] {
            assert_eq!(read(&target("here"), text), None);
        }
    }
}
