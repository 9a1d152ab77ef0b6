//! What is done with the state of a key: twins of the transitions in `script/`.

use super::holds::{ID_SIZE, ReservedAmount, SettlementChange, Unsettled, all_rules};
use super::state::KeyState;
use crate::limiter::policy::Policy;
use wire::call::command::int;
use wire::call::resp::Reply;
use wire::call::space::Space;

/// A transition's reply, and whether it charged or gave back anything.
pub(super) struct Done {
    pub reply: Vec<Reply>,
    pub charged: bool,
}

impl KeyState<'_> {
    /// Writes if there is reason to, and replies as `finish.lua` does.
    fn finish(&mut self, space: &mut dyn Space, write: bool, waits: &[Option<u64>]) -> Vec<Reply> {
        let healed = u64::from(write && self.foreign);
        let mut reply = vec![Reply::Int(1), int(self.now), int(healed), int(self.blocked_for(space))];
        for (i, wait) in waits.iter().enumerate() {
            let most = if write { u64::MAX } else { self.most(i) };
            reply.push(wait.map_or(Reply::Int(-1), |wait| int(wait.min(most))));
            reply.push(int(self.left(space, i)));
            reply.push(int(self.as_new_after(space, i).min(most)));
        }
        if write {
            self.save(space);
        }
        reply
    }

    /// The fields of a reply, said so that they need no policy to be read: twin of `describe.lua`.
    pub fn describe(policy: &Policy, fields: &[Reply], cost: u64) -> Vec<Reply> {
        let rules = policy.rules();
        let mut described = vec![int(rules.len() as u64), int(cost), fields[0].clone(), fields[1].clone()];
        for (rule, numbers) in rules.iter().zip(fields[2..].chunks(3)) {
            described.push(int(rule.capacity()));
            described.extend_from_slice(numbers);
        }
        described
    }

    fn admits(&self, space: &dyn Space, waits: &[Option<u64>]) -> bool {
        self.blocked_for(space) == 0 && waits.iter().all(|wait| *wait == Some(0))
    }

    /// Whether a cost is admitted; nothing is charged yet.
    pub fn decide(&self, space: &dyn Space, cost: u64) -> bool {
        self.admits(space, &self.waits_for(space, cost))
    }

    /// Charges a cost that [`decide`](KeyState::decide) was asked about, if it is admitted and `all` are.
    pub fn charge_with(mut self, space: &mut dyn Space, cost: u64, all: bool) -> Vec<Reply> {
        let waits = self.waits_for(space, cost);
        let charged = all && self.admits(space, &waits);
        if charged {
            self.charge(space, cost);
        }
        self.finish(space, charged || self.dirty, &waits)
    }

    pub fn consume(mut self, space: &mut dyn Space, cost: u64, look: bool) -> Done {
        let waits = self.waits_for(space, cost);
        let charged = !look && self.admits(space, &waits);
        if charged {
            self.charge(space, cost);
        }
        let write = charged || self.dirty && !look;
        Done { reply: self.finish(space, write, &waits), charged }
    }

    pub fn up_to(mut self, space: &mut dyn Space, most: u64) -> Done {
        let most = if self.blocked_for(space) > 0 { 0 } else { most };
        let taken = (0..self.rule_count()).map(|i| self.left(space, i)).fold(most, u64::min);
        let charged = taken > 0;
        let waits = self.waits_for(space, taken.max(1));
        if charged {
            self.charge(space, taken);
        }
        let mut reply = self.finish(space, charged || self.dirty, &waits);
        reply.push(int(taken));
        Done { reply, charged }
    }

    pub fn give_back(mut self, space: &mut dyn Space, amount: u64) -> Done {
        self.refund(space, amount);
        let waits = self.waits_for(space, 1);
        Done { reply: self.finish(space, self.present, &waits), charged: true }
    }

    pub fn block(mut self, space: &mut dyn Space, length: u64) -> Done {
        let waits = self.waits_for(space, 1);
        (self.block_length, self.block_until) = (length, self.now + length);
        Done { reply: self.finish(space, true, &waits), charged: false }
    }

    pub fn reserve(
        mut self,
        space: &mut dyn Space,
        cost: u64,
        id: [u8; ID_SIZE],
        length: u64,
        unsettled: Unsettled,
    ) -> Done {
        let waits = self.waits_for(space, cost);
        let charged = self.admits(space, &waits);
        if charged {
            self.charge(space, cost);
            let (since, stop) = (self.now, self.now + length);
            let (filled, counted) = (self.filled(), all_rules(self.rule_count()));
            let hold = ReservedAmount { id, since, stop, amount: cost, owed: 0, state: unsettled as u8, counted };
            self.holds.add(&hold, &filled);
        }
        Done { reply: self.finish(space, charged || self.dirty, &waits), charged }
    }

    pub fn settle(mut self, space: &mut dyn Space, id: &[u8; ID_SIZE], actual: u64) -> Done {
        let (settled, write) = match self.holds.settle(id, actual, self.now) {
            SettlementChange::Gone => (false, false),
            SettlementChange::Before(same) => (same, false),
            SettlementChange::Less(hold) => {
                if hold.amount > 0 {
                    self.give(space, &hold);
                }
                (true, true)
            }
            SettlementChange::More(cost) => {
                self.charge(space, cost);
                (true, true)
            }
        };
        let waits = vec![Some(0); self.rule_count()];
        let mut reply = self.finish(space, write, &waits);
        reply.push(int(u64::from(settled)));
        Done { reply, charged: write }
    }
}
