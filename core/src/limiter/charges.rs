//! Charges of several limiters in one call: what it is given, and what it may not be.

use std::sync::Arc;

use super::all::CombinedCall;
use super::{Limiter, check_amount};
use crate::client::Client;
use crate::limiter::decision::CombinedDecision;
use wire::base::error::{Error, Result, shown};
use wire::op::Op;

/// The most charges in one [`Client::consume_all`].
pub const MAX_CHARGES: usize = 100;

/// One of several charges of [`Client::consume_all`].
#[derive(Clone, Copy)]
pub struct Charge<'a> {
    /// Which policy decides.
    pub limiter: &'a Limiter,
    /// About which key.
    pub key: &'a [u8],
    /// 1 to [`MAX_COST`](super::MAX_COST).
    pub cost: u64,
}

impl Client {
    /// Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none: one
    /// atomic call. 1 to [`MAX_CHARGES`] charges, no key twice for one limiter. All limiters are of this client. In a cluster they need
    /// a common [`scope`](super::LimiterOptions::scope).
    ///
    /// # Errors
    /// `invalid_argument` for a bad key, cost or request id, no charge, too many, one key twice, or a limiter of another
    /// client; `cross_slot` where a cluster cannot decide at once.
    pub fn consume_all(&self, charges: &[Charge], request_id: Option<&[u8]>) -> Result<Op<CombinedDecision>> {
        let Some(first) = charges.first() else {
            return Err(Error::invalid("consume_all was given no charge: give at least one limiter and key"));
        };
        if charges.len() > MAX_CHARGES {
            let given = charges.len();
            return Err(Error::invalid(format!("{given} charges are more than {MAX_CHARGES}: give fewer")));
        }
        let mut parts = Vec::with_capacity(charges.len());
        let mut recalls = Vec::with_capacity(charges.len());
        for charge in charges {
            let spec = &charge.limiter.spec;
            if !Arc::ptr_eq(&charge.limiter.client.session, &self.session) {
                let name = shown(spec.name.as_bytes());
                return Err(Error::invalid(format!(
                    "limiter \"{name}\" belongs to another client: make it with this one"
                )));
            }
            check_amount("consumed here", charge.cost)?;
            let key = charge.limiter.redis_key(charge.key)?;
            if let Some((earlier, _)) = charges.iter().zip(&parts).find(|(_, (_, other, _))| *other == key) {
                let (key, name) = (shown(charge.key), shown(spec.name.as_bytes()));
                return Err(Error::invalid(match earlier.limiter.spec.policy == spec.policy {
                    true => format!("\"{key}\" is given twice for limiter \"{name}\": give it once, with both costs"),
                    false => format!(
                        "\"{key}\" is given twice, under two policies of the limiter name \"{name}\": give the limiters two names"
                    ),
                }));
            }
            recalls.push(charge.limiter.recall(charge.key));
            parts.push((spec.clone(), key, charge.cost));
        }
        // Remembered under the first key of the alphabet: the same charges in another order are the same request.
        let first = charges.iter().zip(&parts).min_by_key(|(_, (_, key, _))| key).map_or(first, |(charge, _)| charge);
        let memory = request_id.map(|id| first.limiter.memory(first.key, "consume_all", id)).transpose()?;
        Ok(Op::new(&self.session, Box::new(CombinedCall::new(parts, memory, recalls)), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Options;
    use crate::limiter::LimiterOptions;
    use crate::limiter::policy::Policy;

    #[test]
    fn a_key_given_twice_is_refused_with_what_to_do() {
        let client = Client::new(Options { url: Some("memory://charges-twice".into()), ..Options::default() }).unwrap();
        let at = |name: &str, policy: &str| {
            client.limiter_with(name, Policy::parse(policy).unwrap(), LimiterOptions::default()).unwrap()
        };
        let (loose, again, strict, other) =
            (at("api", "9/hour"), at("api", "9/hour"), at("api", "5/minute"), at("web", "5/minute"));
        let refused = |limiters: [&Limiter; 2]| {
            let charges = limiters.map(|limiter| Charge { limiter, key: b"k", cost: 1 });
            client.consume_all(&charges, None).err().map(|error| error.message().to_owned())
        };
        for limiters in [[&loose, &loose], [&loose, &again]] {
            let told = refused(limiters).unwrap();
            assert_eq!(told, "\"k\" is given twice for limiter \"api\": give it once, with both costs");
        }
        for limiters in [[&loose, &strict], [&strict, &loose]] {
            let told = refused(limiters).unwrap();
            assert_eq!(
                told,
                "\"k\" is given twice, under two policies of the limiter name \"api\": give the limiters two names"
            );
        }
        assert_eq!(refused([&strict, &other]), None);
        assert_eq!(loose.peek(b"k", 1).unwrap().run().unwrap().remaining, 9, "nothing was charged");
    }
}
