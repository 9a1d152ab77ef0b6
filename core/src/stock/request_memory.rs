//! What is remembered of a request that did something: twin of `{recall,remember}.lua`.

use wire::base::error::{Result, wrong_type};
use wire::call::command::int;
use wire::call::resp::Reply;
use wire::call::space::Space;

/// Where and how long a request is remembered.
pub(super) struct StockRequestMemory {
    pub key: Vec<u8>,
    /// Microseconds.
    pub length: u64,
}

struct Remembered {
    until: u64,
    fields: Vec<Reply>,
}

impl StockRequestMemory {
    /// The first answer, if it is remembered still.
    pub fn recall(&self, space: &mut dyn Space, now: u64) -> Result<Option<Vec<Reply>>> {
        let Some(object) = space.object(&self.key)? else { return Ok(None) };
        let Some(kept) = object.downcast_ref::<Remembered>() else { return Err(wrong_type(&[&self.key])) };
        let first = || [int(1), int(now)].into_iter().chain(kept.fields.iter().cloned()).collect();
        Ok((now < kept.until).then(first))
    }

    pub fn remember(&self, space: &mut dyn Space, reply: &[Reply], now: u64) {
        let kept = Remembered { until: now + self.length, fields: reply[2..].to_vec() };
        space.set_object(&self.key, Box::new(kept), self.length.div_ceil(1_000) + 1);
    }
}
