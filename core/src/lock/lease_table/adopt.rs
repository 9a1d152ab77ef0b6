//! Passing a lease on: twin of `adopt.lua`.

use std::sync::Arc;

use super::{ADOPT, AttemptId, load_all, save};
use wire::call::prelude::*;

/// Gives the lease of an id to another id, in every table, or in none, and lengthens it. Answers the token; none if the id
/// does not hold in all of them.
#[derive(Clone, Debug)]
pub struct Adopt {
    /// The whole Redis keys of the tables, each once.
    pub keys: Arc<[Vec<u8>]>,
    /// Who hands over.
    pub id: AttemptId,
    /// Who takes over.
    pub heir: AttemptId,
    /// How long the lease lasts at least, in microseconds from now by the server's clock.
    pub ttl: u64,
    /// Whether it ends then even if that is sooner.
    pub exact: bool,
    /// Who holds from now on.
    pub who: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

impl Command for Adopt {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &ADOPT, keys: &self.keys, effect: Effect::Repeatable, name: ("adoption of", &self.shown) }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.bytes(&self.heir);
        args.number(self.ttl);
        args.bytes(&self.who);
        args.number(self.exact.into());
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let tables = load_all(space, &self.keys, now, None)?;
        // A call that was sent twice finds its own id.
        let place = |table: &super::LeaseTable| table.holding(&self.id).or_else(|| table.holding(&self.heir));
        let places: Option<Vec<usize>> = tables.iter().map(place).collect();
        let held = places.is_some();
        let mut token = 0;
        for (n, (key, mut table)) in self.keys.iter().zip(tables).enumerate() {
            if let Some(places) = &places {
                if self.exact {
                    // What a renewal takes the larger of.
                    let holder = &mut table.holders[places[n]];
                    (holder.deadline, holder.ttl) = (0, 0);
                }
                table.renew(places[n], now, self.ttl);
                let holder = &mut table.holders[places[n]];
                (holder.id, holder.who) = (self.heir, self.who.to_vec());
                token = token.max(holder.token);
            }
            if held || table.changed {
                save(space, key, &table, now, &[], b"");
            }
        }
        Ok(vec![Reply::Int(1), int(now), int(held.into()), int(token)])
    }

    fn has_written(&self, answer: &Answer) -> bool {
        answer.get::<Option<u64>>().is_some_and(Option::is_some)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let token = unsigned(fields, 1)?;
        Ok(Answer::new((unsigned(fields, 0)? == 1).then_some(token)))
    }
}
