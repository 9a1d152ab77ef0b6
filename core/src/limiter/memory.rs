//! What is remembered of a request that was charged: twin of `scripts/limit/{recall,remember}.lua`.

use super::state::milliseconds;
use crate::base::error::Result;
use crate::call::resp::Value;
use crate::call::space::Space;

const MAGIC: &[u8] = b"QR\x01";

/// Where and how long a request is remembered.
pub(super) struct Memory {
    pub key: Vec<u8>,
    /// Microseconds.
    pub length: u64,
}

impl Memory {
    /// The first answer, if it is remembered still.
    pub fn recall(&self, space: &dyn Space, now: u64) -> Result<Option<Vec<Value>>> {
        let Some(kept) = space.get(&self.key)?.and_then(|value| value.strip_prefix(MAGIC)) else { return Ok(None) };
        let (numbers, rest) = kept.as_chunks::<8>();
        if numbers.len() < 2 || !rest.is_empty() {
            return Ok(None);
        }
        if now >= u64::from_le_bytes(numbers[0]) {
            return Ok(None);
        }
        let kept = numbers[1..].iter().map(|bytes| Value::Int(i64::from_le_bytes(*bytes)));
        Ok(Some([Value::Int(1), Value::Int(now as i64)].into_iter().chain(kept).collect()))
    }

    /// Remembers a reply of numbers.
    pub fn remember(&self, space: &mut dyn Space, reply: &[Value], now: u64) {
        let mut value = MAGIC.to_vec();
        value.extend_from_slice(&(now + self.length).to_le_bytes());
        for field in &reply[2..] {
            let Value::Int(n) = field else { continue };
            value.extend_from_slice(&n.to_le_bytes());
        }
        space.set(&self.key, value, milliseconds(self.length));
    }
}
