//! The stored form of a lease table, as `codec.lua` describes it.

use super::table::{Held, Table, Tombstone, Waiter};
use super::{MOST_TOMBSTONES, MOST_WAITERS};
use crate::call::lua::EXACT;

const MAGIC: &[u8] = b"QK\x01";
/// The bytes before the first record.
pub(super) const HEAD: usize = 17;
/// The bytes of a record, of a holder without who it is.
pub(super) const TOMBSTONE_SIZE: usize = 24;
pub(super) const WAITER_SIZE: usize = 53;
pub(super) const HOLDER_SIZE: usize = 54;
/// What is added to how a waiter waits once it was told.
pub(super) const TOLD: u8 = 128;

/// The table that a value says; none if it is not ours.
pub(super) fn decode(value: &[u8]) -> Option<Table> {
    let mut rest = Bytes(value.strip_prefix(MAGIC)?);
    let mut table = Table { last: rest.exact()?, ..Table::default() };
    let (tombstones, waiters) = (u32::from_le_bytes(rest.take()?) as usize, u16::from_le_bytes(rest.take()?));
    let crowded = tombstones > TOMBSTONE_SIZE * MOST_TOMBSTONES || usize::from(waiters) > MOST_WAITERS;
    if crowded || tombstones % TOMBSTONE_SIZE != 0 {
        return None;
    }
    for _ in 0..tombstones / TOMBSTONE_SIZE {
        table.tombstones.push_back(Tombstone { id: rest.take()?, until: u64::from_le_bytes(rest.take()?) });
    }
    for _ in 0..waiters {
        let (id, until, since, weight) = (rest.take()?, rest.exact()?, rest.exact()?, rest.weight()?);
        let [how] = rest.take()?;
        let (told, fair) = (how & TOLD != 0, how & !TOLD == 2);
        if !fair && how & !TOLD != 1 {
            return None;
        }
        table.waiters.push(Waiter { id, until, since, weight, fair, told, channel: rest.take()? });
    }
    while !rest.0.is_empty() {
        let id = rest.take()?;
        let (deadline, ttl, token, since) = (rest.exact()?, rest.exact()?, rest.exact()?, rest.exact()?);
        let (weight, size) = (rest.weight()?, u16::from_le_bytes(rest.take()?));
        let (who, others) = rest.0.split_at_checked(size.into())?;
        rest.0 = others;
        table.holders.push(Held { id, deadline, ttl, token, since, weight, who: who.to_vec() });
    }
    Some(table)
}

/// The value that says a table.
pub(super) fn encode(table: &Table) -> Vec<u8> {
    let mut value = MAGIC.to_vec();
    put(&mut value, &[table.last]);
    value.extend_from_slice(&((table.tombstones.len() * TOMBSTONE_SIZE) as u32).to_le_bytes());
    value.extend_from_slice(&(table.waiters.len() as u16).to_le_bytes());
    for tombstone in &table.tombstones {
        value.extend_from_slice(&tombstone.id);
        put(&mut value, &[tombstone.until]);
    }
    for waiter in &table.waiters {
        value.extend_from_slice(&waiter.id);
        put(&mut value, &[waiter.until, waiter.since]);
        value.extend_from_slice(&(waiter.weight as u32).to_le_bytes());
        value.push(if waiter.fair { 2 } else { 1 } | if waiter.told { TOLD } else { 0 });
        value.extend_from_slice(&waiter.channel);
    }
    for held in &table.holders {
        value.extend_from_slice(&held.id);
        put(&mut value, &[held.deadline, held.ttl, held.token, held.since]);
        value.extend_from_slice(&(held.weight as u32).to_le_bytes());
        value.extend_from_slice(&(held.who.len() as u16).to_le_bytes());
        value.extend_from_slice(&held.who);
    }
    value
}

fn put(value: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// A number that scripts can count exactly.
    fn exact(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take()?)).filter(|n| *n < EXACT)
    }

    fn weight(&mut self) -> Option<u64> {
        Some(u32::from_le_bytes(self.take()?).into())
    }
}
