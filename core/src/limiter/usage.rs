//! What this process knows of a key's rules from Redis' last answers: where a decision without Redis begins
//! (`on_error = local`).

use std::any::Any;

use wire::call::space::{Knowledge, Space};

/// What distinguishes a rule: its algorithm, limit, period and capacity.
pub type RuleName = [u64; 4];

/// How many rules are remembered of one key: those of two of the largest policies.
const MOST: usize = 20;

/// What Redis said of one rule. Durations are microseconds.
#[derive(Clone, Copy)]
pub struct RuleUsage {
    /// Which rule.
    pub rule: RuleName,
    /// How much of the capacity was used.
    pub used: u64,
    /// After how long nothing of it counts any more.
    pub reset_after: u64,
    /// Over which last part of that time it fades evenly; 0: all of it ends at once.
    pub fades_over: u64,
}

/// One answer of Redis about one key.
pub struct CountedUsage<R> {
    /// For how long the key is blocked; 0 if it is not.
    pub block_left: u64,
    /// What the rules of one policy counted.
    pub rules: R,
    /// Whether it may be the remembered answer to an earlier call: then it only adds to what is known.
    pub replayed: bool,
}

/// As told, and until when it counts.
#[derive(Clone, Copy)]
struct Used {
    told: RuleUsage,
    until: u64,
}

impl Used {
    fn amount(&self, now: u64) -> u64 {
        let (left, RuleUsage { used, fades_over, .. }) = (self.until.saturating_sub(now), self.told);
        if left >= fades_over {
            return if left == 0 { 0 } else { used };
        }
        (u128::from(used) * u128::from(left)).div_ceil(u128::from(fades_over)) as u64
    }
}

/// What is known of one key. Times are microseconds of a clock that never goes back.
#[derive(Default)]
pub struct KnownUsage {
    blocked_until: u64,
    rules: Vec<Used>,
}

impl KnownUsage {
    /// What a space knows of a key, and the time by which it counts.
    pub fn of<'s>(space: &'s dyn Space, key: &[u8]) -> Option<(&'s KnownUsage, u64)> {
        let (known, now) = space.known(key)?;
        let known: &dyn Any = known;
        Some((known.downcast_ref()?, now))
    }

    /// Adds what Redis answered at this time to what is known, if anything is.
    pub fn learn_in(
        known: &mut Option<Box<dyn Knowledge>>,
        answer: CountedUsage<impl Iterator<Item = RuleUsage>>,
        now: u64,
    ) {
        let known: &mut dyn Any = known.get_or_insert_with(|| Box::<KnownUsage>::default()).as_mut();
        if let Some(known) = known.downcast_mut::<KnownUsage>() {
            known.learn(answer, now);
        }
    }

    /// Takes what Redis answered at this time.
    fn learn(&mut self, answer: CountedUsage<impl Iterator<Item = RuleUsage>>, now: u64) {
        let CountedUsage { block_left, rules, replayed } = answer;
        self.rules.retain(|used| used.until > now);
        let until = now.saturating_add(block_left);
        self.blocked_until = if replayed { self.blocked_until.max(until) } else { until };
        for told in rules {
            let used = Used { told, until: now.saturating_add(told.reset_after) };
            let at = self.rules.iter().position(|known| known.told.rule == told.rule);
            match at {
                Some(at) if replayed && self.rules[at].amount(now) >= used.amount(now) => {}
                Some(at) if used.amount(now) == 0 => drop(self.rules.swap_remove(at)),
                Some(at) => self.rules[at] = used,
                None if used.amount(now) == 0 => {}
                None => self.add(used),
            }
        }
    }

    /// The rule that ends first makes room.
    fn add(&mut self, used: Used) {
        if self.rules.len() < MOST {
            self.rules.push(used);
        } else if let Some(first) = self.rules.iter_mut().min_by_key(|known| known.until) {
            *first = used;
        }
    }

    /// How much of a rule is used; none if nothing is.
    pub fn usage_of(&self, rule: RuleName, now: u64) -> Option<KnownUse<'_>> {
        let used = self.rules.iter().find(|used| used.told.rule == rule)?;
        let amount = Some(used.amount(now)).filter(|amount| *amount > 0)?;
        Some(KnownUse { used, now, amount })
    }

    /// For how long the key is blocked.
    pub fn block_left(&self, now: u64) -> u64 {
        self.blocked_until.saturating_sub(now)
    }
}

impl Knowledge for KnownUsage {
    fn end(&self) -> u64 {
        self.rules.iter().map(|used| used.until).fold(self.blocked_until, u64::max)
    }

    /// A blocked key uses all of it.
    fn share(&self, now: u64) -> u8 {
        if self.blocked_until > now {
            return u8::MAX;
        }
        self.rules.iter().map(|used| share(used.amount(now), used.told.rule[3])).max().unwrap_or(0)
    }

    fn size(&self) -> usize {
        size_of::<KnownUsage>() + self.rules.capacity() * size_of::<Used>()
    }
}

/// How much of a rule is used now.
pub struct KnownUse<'a> {
    used: &'a Used,
    now: u64,
    /// Never 0.
    pub amount: u64,
}

impl KnownUse<'_> {
    /// After how long nothing of it counts any more.
    pub fn left(&self) -> u64 {
        self.used.until - self.now
    }

    /// After how long no more than this is used.
    pub fn wait(&self, most: u64) -> u64 {
        let RuleUsage { used, fades_over, .. } = self.used.told;
        if most >= self.amount {
            return 0;
        }
        // With so much time left it is no more than that.
        let left = (u128::from(most) * u128::from(fades_over) / u128::from(used)) as u64;
        self.left().saturating_sub(left)
    }
}

/// How much of a capacity an amount is: 0 for none, else 1 to 255.
pub fn share(amount: u64, capacity: u64) -> u8 {
    let whole = u128::from(u8::MAX);
    (u128::from(amount) * whole).div_ceil(u128::from(capacity.max(1))).min(whole) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RuleName = [1, 10, 100, 10];

    fn learnt(known: &mut KnownUsage, (used, reset_after, fades_over): (u64, u64, u64), replayed: bool, now: u64) {
        let told = RuleUsage { rule: RULE, used, reset_after, fades_over };
        known.learn(CountedUsage { block_left: 0, rules: [told].into_iter(), replayed }, now);
    }

    #[test]
    fn what_was_used_fades_as_its_rule_says_and_a_wait_ends_when_it_did() {
        for fades_over in [0, 1, 30, 100] {
            let mut known = KnownUsage::default();
            learnt(&mut known, (7, 100, fades_over), false, 1_000);
            let amount = |now| known.usage_of(RULE, now).map_or(0, |used| used.amount);
            assert_eq!((amount(1_000), amount(1_099) > 0, amount(1_100)), (7, true, 0));
            assert_eq!(amount(1_100 - fades_over.max(1)), 7, "until it begins to fade");
            for now in 1_000..1_100 {
                assert!(amount(now) >= amount(now + 1));
                for most in 0..=7 {
                    let wait = known.usage_of(RULE, now).unwrap().wait(most);
                    assert!(amount(now + wait) <= most, "{fades_over} {now} {most}");
                    assert!(wait == 0 || amount(now + wait - 1) > most, "{fades_over} {now} {most}: too long");
                }
            }
        }
    }

    #[test]
    fn the_last_answer_counts_and_a_remembered_one_only_adds() {
        let mut known = KnownUsage::default();
        let amount = |known: &KnownUsage| known.usage_of(RULE, 1_000).map_or(0, |used| used.amount);
        learnt(&mut known, (7, 100, 0), false, 1_000);
        learnt(&mut known, (3, 100, 0), true, 1_000);
        assert_eq!(amount(&known), 7);
        learnt(&mut known, (9, 100, 0), true, 1_000);
        assert_eq!(amount(&known), 9);
        learnt(&mut known, (2, 100, 0), false, 1_000);
        assert_eq!((amount(&known), known.end(), known.share(1_000)), (2, 1_100, 51));
        learnt(&mut known, (0, 0, 0), false, 1_000);
        assert_eq!((amount(&known), known.end() > 1_000), (0, false));
    }

    #[test]
    fn rules_have_a_bound_and_the_first_to_end_makes_room() {
        let mut known = KnownUsage::default();
        for number in 0..100 {
            let told = RuleUsage { rule: [1, number, 1, 1], used: 1, reset_after: 1_000 - number, fades_over: 0 };
            known.learn(CountedUsage { block_left: 0, rules: [told].into_iter(), replayed: false }, 0);
        }
        assert_eq!(known.rules.len(), MOST);
        assert!(known.usage_of([1, 0, 1, 1], 0).is_some() && known.usage_of([1, 99, 1, 1], 0).is_some());
    }
}
