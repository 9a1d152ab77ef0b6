//! The libraries whose keys are recognised, and by what.
//!
//! Each rule is about a key without a TTL. It says whose the key is, whether that is certain enough to change it, and for how long
//! it should live, as far as the key itself tells.

use super::words::{Words, integer, is_hex, is_random, is_token, is_uuid, is_uuid1_hex};

/// Who makes such keys, and what one without a TTL does.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// A word that stays the same.
    pub id: &'static str,
    /// Who makes them.
    pub title: &'static str,
    /// What it means that one has no TTL.
    pub means: &'static str,
    /// What prevents it.
    pub cure: &'static str,
}

impl Family {
    /// Whether its keys are locks, whose holders may be at work.
    pub fn is_lock(&self) -> bool {
        self.id.ends_with("lock")
    }
}

/// For how long a key should live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The key tells it: so many milliseconds, and by what.
    Told(u64, &'static str),
    /// Only its owner knows.
    Asked,
}

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// Who makes such keys.
    pub family: &'static Family,
    /// Whether it is certain: else it is only told.
    pub is_sure: bool,
    /// For how long it should live.
    pub life: Life,
}

/// What was seen of a key's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The first bytes of a text.
    Text(Vec<u8>),
    /// A sorted set with Symfony's mark.
    Marked,
    /// Another type.
    Other,
}

macro_rules! families {
    ($($name:ident: $id:literal, $title:literal, $means:expr, $cure:literal;)*) => {
        $(pub static $name: Family = Family { id: $id, title: $title, means: $means, cure: $cure };)*
    };
}

const COUNTS_FOR_EVER: &str = "its window never ends: once the limit is reached, whoever it counts is refused for ever";
const HELD_FOR_EVER: &str = "if its holder died, nobody gets the lock again; if it lives, it has no lease";

families! {
    QUOTALOCK: "quotalock", "Quotalock", "it blocks nobody: its value tells its own times; but it stays in memory until it is used again",
        "nothing: the next call that writes gives it a TTL";
    ARTICLE: "set-nx-decr", "SET NX EX, then DECR", "it expired between the two commands, and DECR made it anew: everybody is refused for ever",
        "decide in one script, such as Quotalock's limiter, instead of two commands";
    NEGATIVE: "negative", "a negative counter", "something counts it down without ever starting anew; if it limits, everybody is refused",
        "see who writes it (MONITOR, or OBJECT IDLETIME); if it limits, name it with --also";
    LARAVEL_LIMITER: "laravel-limiter", "Laravel's RateLimiter", COUNTS_FOR_EVER,
        "clear it with RateLimiter::clear, and use Quotalock's store for Laravel";
    LARAVEL_LOCK: "laravel-lock", "Laravel's Cache::lock", HELD_FOR_EVER, "give each Cache::lock() its seconds";
    SYMFONY_LOCK: "symfony-lock", "Symfony's Lock", HELD_FOR_EVER, "see who took the TTL away: Symfony sets one";
    SYMFONY_LIMITER: "symfony-limiter", "Symfony's RateLimiter", "it stays in memory for ever", "see who took the TTL away: Symfony sets one";
    LIMITS: "limits", "Python's limits (flask-limiter, slowapi)", COUNTS_FOR_EVER, "use Quotalock's storage for limits";
    FLEXIBLE: "rate-limiter-flexible", "rate-limiter-flexible", COUNTS_FOR_EVER, "use durations of a second or more; shorter ones are rounded to none";
    EXPRESS: "rate-limit-redis", "express-rate-limit (rate-limit-redis)", "an old version counts it for ever; since 3.0 the next request starts anew",
        "update rate-limit-redis";
    FASTIFY: "fastify-rate-limit", "@fastify/rate-limit", COUNTS_FOR_EVER, "use Quotalock's store for @fastify/rate-limit";
    DJANGO: "django-ratelimit", "django-ratelimit", COUNTS_FOR_EVER, "see who took the TTL away";
    REDIS_PY: "redis-py-lock", "redis-py's Lock", HELD_FOR_EVER, "give each Lock its timeout";
    REDLOCK: "redlock", "a lock with a random token (redlock, redsync, redis-semaphore and others)", HELD_FOR_EVER,
        "set it with PX in one command";
    UPSTASH: "upstash", "@upstash/ratelimit", "its window is over, so it blocks nobody, but it stays in memory for ever",
        "don't use cachedFixedWindow: it never sets a TTL";
    THROTTLED: "throttled-py", "throttled-py", COUNTS_FOR_EVER, "update throttled-py, or use another algorithm";
    NIKOLAPOSA: "nikolaposa", "nikolaposa/rate-limit", COUNTS_FOR_EVER, "its INCR and EXPIRE are two commands: use one script";
    JOBS: "job-lock", "a lock of a job queue (Sidekiq, RQ, Bull, Celery, Resque)", "the job, or jobs like it, never run again",
        "see whether the worker that set it is alive";
    COUNTER: "counter", "a counter of attempts", COUNTS_FOR_EVER, "see who writes it; if it limits, name it with --also";
    NAMED: "named", "what you named", "you named it with --also", "see who writes it";
}

/// Milliseconds of the units in which `limits` names windows.
const UNITS: [(&str, u64); 6] = [
    ("second", 1_000),
    ("minute", 60_000),
    ("hour", 3_600_000),
    ("day", 86_400_000),
    ("month", 2_592_000_000),
    ("year", 31_104_000_000),
];
/// Intervals in seconds that people give limits.
const INTERVALS: [u64; 7] = [1, 10, 30, 60, 3_600, 86_400, 604_800];
/// What the names of locks of job queues begin with.
const JOB_LOCKS: [&str; 8] = [
    "uniquejobs:",
    "sidekiq_unique:",
    "rq:lock:",
    "rq:scheduler-lock:",
    "rq:clean_registries:",
    "rq:cron_scheduler_lock:",
    "qo_",
    "resque:lock:",
];

/// Whose a key without a TTL is, by its name and what was seen of it; none if it is no counter and no lock, or nobody's.
pub fn recognise(name: &[u8], seen: &Seen, now_ms: u64) -> Option<Recognised> {
    let text = &*String::from_utf8_lossy(name);
    let words = Words::of(text);
    let found = |family, is_sure, life| Some(Recognised { family, is_sure, life });
    let sure = |family| found(family, true, Life::Asked);
    if text.contains("LIMITER/")
        && let Some(window) = window_of_limits(text)
    {
        return found(&LIMITS, true, Life::Told(window, "the window in its name"));
    }
    if text.contains("@upstash/ratelimit") {
        let life = window_of_upstash(text, now_ms).map_or(Life::Asked, |ms| Life::Told(ms, "the window in its name"));
        return found(&UPSTASH, true, life);
    }
    if text.contains("throttled:v1:") {
        return sure(&THROTTLED);
    }
    let is_job_lock = JOB_LOCKS.iter().any(|prefix| text.starts_with(prefix))
        || text.starts_with("bull:") && text.ends_with(":lock")
        || text == "unacked_mutex";
    if is_job_lock {
        return sure(&JOBS);
    }
    let value = match seen {
        Seen::Marked => return sure(&SYMFONY_LOCK),
        Seen::Other => return None,
        Seen::Text(value) => value.as_slice(),
    };
    if contains(value, b"Symfony\\Component\\RateLimiter") {
        return sure(&SYMFONY_LIMITER);
    }
    let Some(number) = integer(value) else { return lock(text, value, &words) };
    if text.ends_with(":timer") && number > 1_000_000_000 {
        return found(&LARAVEL_LIMITER, true, Life::Told(until(number, now_ms), "when its timer ends"));
    }
    let last = text.rsplit(':').next().unwrap_or(text);
    if text.contains("cache") && is_hex(last.as_bytes(), &[32, 40]) {
        return sure(&LARAVEL_LIMITER);
    }
    for (prefix, family) in
        [("rlflx:", &FLEXIBLE), ("fastify-rate-limit-", &FASTIFY), (":1:rl:", &DJANGO), ("rl:", &EXPRESS)]
    {
        if text.starts_with(prefix) && number >= 0 {
            return sure(family);
        }
    }
    let interval = last.parse().ok().filter(|seconds| INTERVALS.contains(seconds));
    if let Some(seconds) = interval
        && number > 0
        && (words.limits() || Words::has_address(text))
    {
        return found(&NIKOLAPOSA, true, Life::Told(seconds * 1_000, "the interval in its name"));
    }
    match number < 0 {
        true if words.limits() => sure(&ARTICLE),
        true => found(&NEGATIVE, false, Life::Asked),
        false if words.counts_for_one() => found(&COUNTER, false, Life::Asked),
        false => None,
    }
}

/// Whose lock it is, by its token.
fn lock(text: &str, value: &[u8], words: &Words) -> Option<Recognised> {
    let found = |family, is_sure| Some(Recognised { family, is_sure, life: Life::Asked });
    let names = ["laravel", "framework/schedule-", "illuminate:cache:flexible:lock:"];
    let is_laravels = names.iter().any(|name| text.contains(name)) || text.contains("cache") && words.locks();
    // A value that was serialised has its length before it.
    let bare = value.strip_prefix(b"s:16:\"").and_then(|rest| rest.strip_suffix(b"\";")).unwrap_or(value);
    if is_laravels && is_random(bare, 16) {
        return found(&LARAVEL_LOCK, true);
    }
    if is_uuid1_hex(value) {
        return found(&REDIS_PY, words.locks());
    }
    let is_known = text.starts_with("mutex:") && is_uuid(value);
    if is_known || words.locks() && is_token(value) { found(&REDLOCK, true) } else { None }
}

/// The window that `.../5/1/minute` names; of the sliding counter, which has braces and a key for the window before, twice.
fn window_of_limits(text: &str) -> Option<u64> {
    let plain = text.strip_suffix("/-1").unwrap_or(text);
    let (plain, times) = plain.strip_suffix('}').map_or((plain, 1), |plain| (plain, 2));
    let mut parts = plain.rsplit('/');
    let (unit, multiples, amount) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    amount.parse::<u64>().ok()?;
    multiples.parse::<u64>().ok()?.checked_mul(milliseconds * times)
}

/// Twice the window whose number ends the name: the number of windows since the epoch.
fn window_of_upstash(text: &str, now_ms: u64) -> Option<u64> {
    let number = text.rsplit(':').next()?.parse::<u64>().ok().filter(|number| *number > 0)?;
    // It was written in the last year.
    let fits = |window: &u64| {
        let begun = number.checked_mul(*window)?;
        (begun <= now_ms && now_ms - begun < 31_536_000_000).then_some(*window)
    };
    let round = [1u64, 2, 5, 10, 15, 20, 30]
        .into_iter()
        .flat_map(|times| [1_000, 60_000, 3_600_000, 86_400_000].map(|unit| times * unit));
    round.filter_map(|window| fits(&window)).min().map(|window| 2 * window)
}

/// How long it is until a time in seconds; a second if it is over.
pub fn until(seconds: i64, now_ms: u64) -> u64 {
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000).saturating_sub(now_ms).max(1_000)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
#[path = "families_tests.rs"]
mod tests;
