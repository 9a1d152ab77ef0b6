//! What is remembered of a request that was charged: twin of `script/{recall,remember}.lua`.

use super::MAX_CHARGES;
use super::state::milliseconds;
use crate::client::MAX_REQUEST_MEMORY;
use crate::limiter::policy::MAX_RULES;
use wire::base::error::Result;
use wire::call::lua::EXACT;
use wire::call::resp::Reply;
use wire::call::space::Space;

const MAGIC: &[u8] = b"QR\x01";
/// The largest number that a script tells exactly.
const MOST: i64 = EXACT as i64 - 1;
/// The most fields of an answer.
pub(super) const MOST_FIELDS: usize = 1 + MAX_CHARGES * (4 + 4 * MAX_RULES);

/// Where and how long a request is remembered.
pub(super) struct RequestMemory {
    pub key: Vec<u8>,
    /// Microseconds.
    pub length: u64,
}

/// What the answer to a request can be.
pub(super) struct Expected {
    /// What stands for the keys, if there may be several.
    pub whose: Option<u64>,
    /// How many decisions it has.
    pub decisions: usize,
    /// Whether it may deny although the request was charged.
    pub denies: bool,
}

impl RequestMemory {
    /// The first answer, if it is remembered still. What is not of this form is as nothing; what ends later than any memory
    /// can ends as if it were of now.
    pub fn recall(&self, space: &mut dyn Space, now: u64, expected: &Expected) -> Result<Option<Vec<Reply>>> {
        let Some(kept) = space.get(&self.key)?.and_then(|value| value.strip_prefix(MAGIC)) else { return Ok(None) };
        let ([until, fields @ ..], []) = kept.as_chunks::<8>() else { return Ok(None) };
        let until = u64::from_le_bytes(*until);
        let fields: Vec<i64> = fields.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        if until <= now || until > MOST as u64 || !expected.fits(&fields) {
            return Ok(None);
        }
        let reply = [1, now as i64].into_iter().chain(fields).map(Reply::Int).collect();
        if until > now + MAX_REQUEST_MEMORY.as_micros() as u64 {
            let value = [MAGIC, &(now + self.length).to_le_bytes(), &kept[8..]].concat();
            space.set(&self.key, value, milliseconds(self.length));
        }
        Ok(Some(reply))
    }

    /// Remembers a reply of numbers.
    pub fn remember(&self, space: &mut dyn Space, reply: &[Reply], now: u64) {
        let mut value = MAGIC.to_vec();
        value.extend_from_slice(&(now + self.length).to_le_bytes());
        for field in &reply[2..] {
            let Reply::Int(n) = field else { continue };
            value.extend_from_slice(&n.to_le_bytes());
        }
        space.set(&self.key, value, milliseconds(self.length));
    }
}

impl Expected {
    /// Whether these are the fields of such an answer.
    fn fits(&self, fields: &[i64]) -> bool {
        fields.len() <= MOST_FIELDS && self.read(fields).is_some()
    }

    fn read(&self, mut fields: &[i64]) -> Option<()> {
        let mut take = |least: i64, most: i64| {
            let (field, rest) = fields.split_first()?;
            fields = rest;
            (least..=most).contains(field).then_some((*field, rest.is_empty()))
        };
        let (least_wait, most_wait) = if self.denies { (-1, MOST) } else { (0, 0) };
        // Of other keys it is told as it is, so that the caller hears of it.
        let own = match self.whose {
            Some(whose) => take(0, MOST)?.0 as u64 == whose,
            None => true,
        };
        let (mut decisions, mut at_end) = (0, false);
        while !at_end {
            let (rules, _) = take(1, MAX_RULES as i64)?;
            take(0, MOST)?;
            take(0, 1)?;
            take(0, most_wait)?;
            for _ in 0..rules {
                let (limit, _) = take(1, MOST)?;
                take(least_wait, most_wait)?;
                take(0, limit)?;
                (_, at_end) = take(0, MOST)?;
            }
            decisions += 1;
        }
        (decisions == self.decisions || !own).then_some(())
    }
}
