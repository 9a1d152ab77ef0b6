//! The definitions of the algorithms as judges: they keep every event of a key and decide by counting anew, without any of
//! the arithmetic that they judge.

use quotalock::Rule;

/// What happened to a key. Times are microseconds.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An amount was charged.
    Charged {
        /// When.
        at: u64,
        /// How much.
        cost: u64,
    },
    /// An amount was given back.
    Refunded {
        /// When.
        at: u64,
        /// When it had been charged; of a plain refund, `at`.
        since: u64,
        /// How much.
        amount: u64,
        /// How much a bucket was missing right after it was charged, in units of 1/period token: of a hold no more comes
        /// back than it has not filled again since; none of a plain refund.
        missing: Option<u128>,
    },
}

/// Every event of one key, in order of time.
pub type History = Vec<Event>;

/// Whether the definition of a rule admits `cost` at `now` after this history.
///
/// # Panics
/// For an algorithm that has no definition here: write one.
pub fn admits(rule: &Rule, history: &[Event], now: u64, cost: u64) -> bool {
    match rule.algorithm().name() {
        "fixed-window" => fixed_window(rule, history, now, cost.into()),
        "calendar-window" => calendar_window(rule, history, now, cost.into()),
        "sliding-window" => sliding_window(rule, history, now, cost.into()),
        "sliding-log" => sliding_log(rule, history, now, cost.into()),
        "token-bucket" => token_bucket(rule, history, now, cost.into()),
        other => panic!("no definition of {other}: write one"),
    }
}

/// A window opens at the first charge that lies in none. What was charged in the open window can be given back to it; when
/// all is, the window is closed.
fn fixed_window(rule: &Rule, history: &[Event], now: u64, cost: u128) -> bool {
    let (mut open, mut count) = (None::<u64>, 0_u128);
    let is_over = |open: Option<u64>, at: u64| open.is_none_or(|open| at >= open + rule.period());
    for event in history {
        match *event {
            Event::Charged { at, cost } => {
                if is_over(open, at) {
                    (open, count) = (Some(at), 0);
                }
                count += u128::from(cost);
            }
            Event::Refunded { at, since, amount, .. } => {
                if !is_over(open, at) && open.is_some_and(|open| since >= open) {
                    count = count.saturating_sub(amount.into());
                    open = open.filter(|_| count > 0);
                }
            }
        }
    }
    let count = if is_over(open, now) { 0 } else { count };
    count + cost <= rule.limit().into()
}

/// What was charged and not given back in the window of the calendar that begins at `window`. A refund is of the window
/// in which it comes.
fn calendar_window(rule: &Rule, history: &[Event], now: u64, cost: u128) -> bool {
    let window = now / rule.period() * rule.period();
    let mut count = 0_u128;
    for event in history {
        match *event {
            Event::Charged { at, cost } if at >= window => count += u128::from(cost),
            Event::Refunded { at, since, amount, .. } if at >= window && since >= window => {
                count = count.saturating_sub(amount.into());
            }
            _ => {}
        }
    }
    count + cost <= rule.limit().into()
}

/// The windows of the calendar, of which the last two count: `previous * (period - into) + (current + cost) * period <=
/// limit * period`. A refund is taken from the window in which it comes, and what is more than was counted there from the
/// one before; of a hold, from its own window only and what came before. A window is judged as the limit at most.
fn sliding_window(rule: &Rule, history: &[Event], now: u64, cost: u128) -> bool {
    let (limit, period) = (u128::from(rule.limit()), rule.period());
    let (mut number, mut current, mut previous) = (0, 0_u128, 0_u128);
    let turn = |number: &mut u64, current: &mut u128, previous: &mut u128, at: u64| {
        let window = at / period;
        if window > *number {
            *previous = if window == *number + 1 { *current } else { 0 };
            (*number, *current) = (window, 0);
        }
    };
    for event in history {
        match *event {
            Event::Charged { at, cost } => {
                turn(&mut number, &mut current, &mut previous, at);
                current += u128::from(cost);
            }
            Event::Refunded { at, since, amount, .. } => {
                turn(&mut number, &mut current, &mut previous, at);
                let mut amount = u128::from(amount);
                if since / period >= number {
                    (current, amount) = (current.saturating_sub(amount), amount.saturating_sub(current));
                }
                if since / period + 1 >= number {
                    previous = previous.saturating_sub(amount);
                }
            }
        }
    }
    turn(&mut number, &mut current, &mut previous, now);
    let (into, period) = (u128::from(now % period), u128::from(period));
    limit.min(previous) * (period - into) + (current + cost) * period <= limit * period
}

/// Every charge in `(now - period, now]`. A refund takes from the oldest of those that count when it comes.
fn sliding_log(rule: &Rule, history: &[Event], now: u64, cost: u128) -> bool {
    let counts = |charged: u64, at: u64| charged + rule.period() > at;
    let mut log: Vec<(u64, u128)> = Vec::new();
    for event in history {
        match *event {
            Event::Charged { at, cost } => log.push((at, cost.into())),
            Event::Refunded { at, since, amount, .. } if counts(since, at) => {
                let mut left = u128::from(amount);
                for (_, cost) in log.iter_mut().filter(|(charged, _)| counts(*charged, at)) {
                    let taken = left.min(*cost);
                    (*cost, left) = (*cost - taken, left - taken);
                }
            }
            Event::Refunded { .. } => {}
        }
    }
    let used: u128 = log.iter().filter(|(charged, _)| counts(*charged, now)).map(|(_, cost)| cost).sum();
    used + cost <= rule.limit().into()
}

/// How much a bucket is missing, in units of 1/period token; none for other rules.
pub fn missing(rule: &Rule, history: &[Event], now: u64) -> Option<u128> {
    let is_bucket = rule.algorithm().name() == "token-bucket";
    is_bucket.then(|| u128::from(rule.capacity()) * u128::from(rule.period()) - bucket_level(rule, history, now))
}

fn token_bucket(rule: &Rule, history: &[Event], now: u64, cost: u128) -> bool {
    bucket_level(rule, history, now) >= cost * u128::from(rule.period())
}

/// In units of 1/period token: it fills by `limit` of them a microsecond, to the capacity. A refund fills too.
fn bucket_level(rule: &Rule, history: &[Event], now: u64) -> u128 {
    let (period, full) = (u128::from(rule.period()), u128::from(rule.capacity()) * u128::from(rule.period()));
    let (mut level, mut last) = (full, 0);
    let fill = |level: &mut u128, last: &mut u64, to: u64| {
        *level = full.min(*level + u128::from(to - *last) * u128::from(rule.limit()));
        *last = to;
    };
    for event in history {
        match *event {
            Event::Charged { at, cost } => {
                fill(&mut level, &mut last, at);
                level = level.saturating_sub(u128::from(cost) * period);
            }
            Event::Refunded { at, since, amount, missing } => {
                fill(&mut level, &mut last, at);
                let given = u128::from(amount) * period;
                let open = missing.map(|m| m.saturating_sub(u128::from(at - since) * u128::from(rule.limit())));
                level = full.min(level + open.map_or(given, |open| given.min(open)));
            }
        }
    }
    fill(&mut level, &mut last, now);
    level
}
