//! What stands at a sale's key, told without a call.

/// How a sale's numbers begin: `scripts/stock/form.lua` says what follows.
const MAGIC: &[u8] = b"QS\x01";
/// Their length.
const SIZE: usize = 4 + 14 * 8;

/// What a sale's numbers say. They are one field of its hash, the one with an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredStock {
    /// Pieces that can be taken.
    pub available: u64,
    /// Pieces that are held, also by holds that are over and that the next call returns.
    pub held: u64,
    /// Pieces that are sold.
    pub sold: u64,
    /// Whether no more can be taken.
    pub has_ended: bool,
}

impl StoredStock {
    /// What the field says at a time of the server's clock, in microseconds; none if it is not ours.
    pub fn read(field: &[u8], now: u64) -> Option<StoredStock> {
        if field.len() != SIZE || !field.starts_with(MAGIC) {
            return None;
        }
        let number = |at: usize| {
            let bytes = field.get(4 + at * 8..12 + at * 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        // A flag beside that of prizes says that it was closed.
        let (is_closed, ends) = (field[3] > 1, number(1)?);
        Some(StoredStock {
            available: number(5)?,
            held: number(6)?,
            sold: number(7)?,
            has_ended: is_closed || ends > 0 && now >= ends,
        })
    }
}
