//! The limit that each client would need so as never to be denied, for `--suggest`.
//!
//! A client that is denied at a limit is denied at every smaller one of the same shape, and before its first denial all limits
//! have counted the same. So one pass is enough: what a rule with room for everybody has counted is the limit that was needed.
//! A bucket fills at the limit's rate, so there the past of a busy stretch is kept, as far as it can still matter.

use quotalock::{MAX_LIMIT, Policy, Replay, Rule};
use serde::Serialize;

/// The largest limit of every algorithm.
const WIDE: [u64; 2] = [MAX_LIMIT, 1 << 39];
/// How many points a curve has at most.
const POINTS: usize = 120;

/// What the clients need of a policy.
pub struct Needs {
    policy: Policy,
    rules: Vec<Need>,
    /// By client: by how much all limits are to be multiplied.
    factors: Vec<f64>,
}

enum Need {
    /// Of what counts whatever the limit is: with room for everybody.
    Counted { wide: Replay, room: u64, limit: u64 },
    /// Of a bucket, by client.
    Bucket { rule: Rule, busy: Vec<BucketMemory> },
}

/// The smallest limit for a share of clients.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestion {
    /// Fewer than so many percent of the clients may be denied.
    pub below_percent: f64,
    /// The policy of the same shape; none if no policy can be so large.
    pub policy: Option<String>,
    /// By how much its limits differ from those of the policy that was given.
    pub factor: f64,
    /// How many clients it denies.
    pub clients_denied: u64,
    /// The first rule's limit, and the percentage of clients that is denied by it.
    pub curve: Vec<(u64, f64)>,
}

impl Needs {
    /// Of nobody so far.
    pub fn new(policy: &Policy) -> Needs {
        let need = |rule: &Rule| {
            let wide = |room: u64| {
                let rule = Rule::new(rule.algorithm(), room, rule.period()).ok()?;
                Some((room, Replay::new(Policy::new([rule]).ok()?)))
            };
            match WIDE.into_iter().find_map(wide).filter(|_| !rule.algorithm().has_capacity()) {
                Some((room, wide)) => Need::Counted { wide, room, limit: rule.limit() },
                None => Need::Bucket { rule: *rule, busy: Vec::new() },
            }
        };
        Needs { policy: policy.clone(), rules: policy.rules().iter().map(need).collect(), factors: Vec::new() }
    }

    /// A client's request.
    pub fn request(&mut self, client: usize, now: u64) {
        if self.factors.len() <= client {
            self.factors.resize(client + 1, 0.0);
        }
        for need in &mut self.rules {
            let (needed, limit) = match need {
                Need::Counted { wide, room, limit } => (*room - wide.consume(client, now, 1).remaining, *limit),
                Need::Bucket { rule, busy } => {
                    if busy.len() <= client {
                        busy.resize_with(client + 1, BucketMemory::default);
                    }
                    (busy[client].request(rule, now), rule.limit())
                }
            };
            self.factors[client] = self.factors[client].max(needed as f64 / limit as f64);
        }
    }

    /// The smallest limit that denies less than `percent` of the clients.
    pub fn suggest(&self, percent: f64) -> Option<Suggestion> {
        let mut factors = self.factors.clone();
        factors.sort_unstable_by(f64::total_cmp);
        let count = factors.len();
        let may = ((percent * count as f64 / 100.0).ceil() as usize).saturating_sub(1);
        let factor = *factors.get(count.checked_sub(1 + may)?)?;
        let above = |factor: f64| count - factors.partition_point(|needed| *needed <= factor);
        let step = count.div_ceil(POINTS);
        let first = self.policy.rules().first()?.limit() as f64;
        let points = factors.iter().step_by(step).chain(factors.last());
        let mut curve: Vec<(u64, f64)> =
            points.map(|at| (up(first * at), 100.0 * above(*at) as f64 / count as f64)).collect();
        curve.dedup_by_key(|(limit, _)| *limit);
        Some(Suggestion {
            below_percent: percent,
            policy: scaled(&self.policy, factor).map(|policy| policy.to_string()),
            factor,
            clients_denied: above(factor) as u64,
            curve,
        })
    }
}

/// The next whole number, at least 1.
fn up(number: f64) -> u64 {
    let near = number.round();
    // What was a whole number before it was divided and multiplied.
    let whole = if (number - near).abs() <= 1e-9 * near { near } else { number.ceil() };
    whole.max(1.0) as u64
}

/// A policy whose limits and capacities are so many times as large.
fn scaled(policy: &Policy, factor: f64) -> Option<Policy> {
    let rule = |rule: &Rule| {
        let capacity = (rule.capacity() != rule.limit()).then(|| up(rule.capacity() as f64 * factor));
        Rule::of(rule.algorithm(), up(rule.limit() as f64 * factor), rule.period(), capacity)
    };
    let rules: Result<Vec<Rule>, _> = policy.rules().iter().map(rule).collect();
    Policy::new(rules.ok()?).ok()
}

/// What a bucket has to remember of one client.
///
/// With the shape's ratio `c` of capacity and limit, a limit `L` admits all requests if no stretch `d` that begins and ends with
/// one of its `n` requests has `n > c L + L d / w`. So a request needs the largest `n / (c + d / w)` of all stretches that it
/// ends: the steepest line from the point `(now + c w, number)` to one of the points `(time, number)` of the requests before.
/// Only those on the lower convex hull of the points can have it, and of them only what is steeper than the limit that is
/// needed already.
#[derive(Clone, Default)]
struct BucketMemory {
    count: u32,
    needed: u64,
    /// Time, and how many requests there were before.
    hull: Vec<(u64, u32)>,
}

impl BucketMemory {
    /// The limit that is needed after one more request.
    fn request(&mut self, rule: &Rule, now: u64) -> u64 {
        let (limit, period) = (u128::from(rule.limit()), u128::from(rule.period()));
        let steps = |a: &(u64, u32), b: &(u64, u32)| (u128::from(b.0 - a.0), u128::from(b.1 - a.1));
        let point = (now, self.count);
        self.count = self.count.saturating_add(1);
        if self.hull.last().is_none_or(|last| last.0 < now) {
            while let [.., before, last] = &self.hull[..] {
                let ((time, number), (next_time, next_number)) = (steps(before, last), steps(last, &point));
                if number * next_time < next_number * time {
                    break;
                }
                self.hull.pop();
            }
            self.hull.push(point);
        }
        for (time, number) in &self.hull {
            let stretch = u128::from(now - time) * limit + u128::from(rule.capacity()) * period;
            let wanted = u128::from(self.count - number) * period;
            let needed = match wanted.checked_mul(limit) {
                Some(wanted) => wanted.div_ceil(stretch),
                None => (wanted as f64 * limit as f64 / stretch as f64).ceil() as u128,
            };
            self.needed = self.needed.max(u64::try_from(needed).unwrap_or(u64::MAX));
        }
        // From the second point on it is at least as steep for all that need more.
        let flat = |pair: &[(u64, u32)]| {
            let (time, number) = steps(&pair[0], &pair[1]);
            number * period <= u128::from(self.needed) * time
        };
        let gone = self.hull.windows(2).take_while(|pair| flat(pair)).count();
        self.hull.drain(..gone);
        self.needed
    }
}

#[cfg(test)]
mod tests {
    use quotalock::{Policy, Replay};

    use super::{Needs, scaled};

    /// Numbers that look like chance, the same every time.
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    fn denied(policy: &Policy, requests: &[(usize, u64)]) -> usize {
        let mut replay = Replay::new(policy.clone());
        let mut denied: Vec<usize> =
            requests.iter().filter(|(key, now)| !replay.consume(*key, *now, 1).allowed).map(|(key, _)| *key).collect();
        denied.sort_unstable();
        denied.dedup();
        denied.len()
    }

    #[test]
    fn no_smaller_limit_denies_as_few() {
        let shapes = [
            "fixed-window 7/minute",
            "calendar-window 7/minute",
            "sliding-window 7/minute",
            "sliding-log 7/minute",
            "token-bucket 7/minute",
            "token-bucket 100/3 minutes",
        ];
        for (seed, text) in (0_u64..12).flat_map(|seed| shapes.map(|text| (seed, text))) {
            let (policy, mut chance) = (Policy::parse(text).unwrap(), numbers(seed));
            let mut now = 1_700_000_000_000_000;
            let requests: Vec<(usize, u64)> = (0..600)
                .map(|_| {
                    now += [0, 0, 1, 1_000_000, 3_000_000, 20_000_000, 90_000_000][chance(7) as usize];
                    let client = chance(40);
                    ((client * client / 40) as usize, now)
                })
                .collect();
            let mut needs = Needs::new(&policy);
            requests.iter().for_each(|(client, now)| needs.request(*client, *now));
            let clients = requests.iter().map(|(client, _)| client + 1).max().unwrap();
            // A client without a request is none.
            let present = needs.factors.iter().filter(|factor| **factor > 0.0).count();
            needs.factors.retain(|factor| *factor > 0.0);
            assert!(present <= clients);
            for percent in [0.001, 5.0, 10.0, 50.0, 100.0] {
                let told = needs.suggest(percent).unwrap();
                let suggested = Policy::parse(&told.policy.clone().unwrap()).unwrap();
                let few = denied(&suggested, &requests);
                assert_eq!(few as u64, told.clients_denied, "{text}, {percent} %, {suggested}");
                assert!((few as f64) < percent * present as f64 / 100.0, "{text}, {percent} %: {few} by {suggested}");
                let (limit, given) = (suggested.rules()[0].limit(), policy.rules()[0].limit());
                if limit > 1 {
                    let smaller = scaled(&policy, (limit - 1) as f64 / given as f64).unwrap();
                    let more = denied(&smaller, &requests);
                    assert!(more as f64 >= percent * present as f64 / 100.0, "{text}, {percent} %: {smaller} would do");
                }
            }
        }
    }

    #[test]
    fn what_a_bucket_remembers_stays_small() {
        let (policy, mut chance) = (Policy::parse("token-bucket 10/minute capacity 20").unwrap(), numbers(7));
        let (mut needs, mut now) = (Needs::new(&policy), 1_700_000_000_000_000);
        for _ in 0..200_000 {
            now += chance(2_000_000);
            needs.request(0, now);
        }
        let super::Need::Bucket { busy, .. } = &needs.rules[0] else { panic!("no bucket") };
        assert!(busy[0].hull.len() < 200, "{}", busy[0].hull.len());
    }

    #[test]
    fn all_rules_grow_alike() {
        let policy = Policy::parse("5/s;token-bucket 30/minute capacity 3;100/hour").unwrap();
        let mut needs = Needs::new(&policy);
        (0..60).for_each(|n| needs.request(0, 1_700_000_000_000_000 + n));
        let told = needs.suggest(1.0).unwrap();
        // The capacity is the tightest: it must be 60, twenty times as much.
        assert_eq!(told.policy.unwrap(), "100/second;token-bucket 600/minute capacity 60;2000/hour");
    }
}
