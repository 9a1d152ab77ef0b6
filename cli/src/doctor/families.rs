//! The libraries whose keys are recognised, and by what.
//!
//! Each rule is about a key without a TTL. It states whose form the key has, what would prove that it is stuck, and how long it
//! should live, as far as the key itself states that. A name alone proves nothing: most rules end in a report, and why.

use super::proof::{Proof, ValueView};
use super::words::{Words, integer, is_base64_of_18, is_hex, is_random, is_token, is_uuid, is_uuid1_hex};

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

/// For how long a key should live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The key tells it: so many milliseconds, and by what.
    Told(u64, &'static str),
    /// Only its owner knows.
    Asked,
}

/// How much the form of a key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The library that makes such keys gives each a TTL.
    Looks,
    /// Many such keys are as they should be.
    May,
}

/// Whose form a key has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// Who makes such keys.
    pub family: &'static Family,
    /// How much the form says.
    pub doubt: Doubt,
    /// What would prove that it is stuck.
    pub proof: Proof,
    /// For how long it should live.
    pub life: Life,
}

macro_rules! families {
    ($($name:ident: $id:literal, $title:literal, $means:expr, $cure:literal;)*) => {
        $(pub static $name: Family = Family { id: $id, title: $title, means: $means, cure: $cure };)*
    };
}

const COUNTS_FOR_EVER: &str =
    "its window never ends: once the limit is reached, calls for this key are denied for ever";
const HELD_FOR_EVER: &str = "if its holder died, the lock is never granted again; if it lives, it has no lease";

families! {
    QUOTALOCK: "quotalock", "Quotalock", "it blocks no call: its value states its own times; but it stays in memory until it is used again",
        "nothing: a later call gives it a TTL";
    WRONG_TYPE: "quotalock", "Quotalock", "each call that needs the key fails with wrong_type, for as long as the key is there",
        "see which other application uses these names, then rename the key or delete it";
    WRONG_REPORTS: "quotalock", "Quotalock", "what processes report is lost, so that quotalock top and serve show nothing of it; calls are decided as ever",
        "see which other application uses this name, then rename the key or delete it";
    ARTICLE: "set-nx-decr", "SET NX EX, then DECR", "it expired between the two commands, and DECR created it again: every call is denied for ever",
        "decide in one script, such as Quotalock's limiter, instead of two commands";
    NEGATIVE: "negative", "a negative counter", "if it limits, every call is denied; a balance or an offset may well be below zero",
        "see which client writes it (MONITOR, or OBJECT IDLETIME); if it limits, name it with --also";
    LARAVEL_LIMITER: "laravel-limiter", "Laravel's RateLimiter", COUNTS_FOR_EVER,
        "clear it with RateLimiter::clear, and use Quotalock's store for Laravel";
    LARAVEL_LOCK: "laravel-lock", "Laravel's Cache::lock", HELD_FOR_EVER, "give each Cache::lock() its seconds";
    SYMFONY_LOCK: "symfony-lock", "Symfony's Lock", "once the time in its own record is over it blocks no caller, but it stays in memory",
        "see which client removed the TTL: Symfony sets one";
    SYMFONY_LIMITER: "symfony-limiter", "Symfony's RateLimiter", "it stays in memory for ever", "see which client removed the TTL: Symfony sets one";
    LIMITS: "limits", "Python's limits (flask-limiter, slowapi)", COUNTS_FOR_EVER, "use Quotalock's storage for limits";
    FLEXIBLE: "rate-limiter-flexible", "rate-limiter-flexible", COUNTS_FOR_EVER, "use durations of a second or more; shorter ones are rounded to none";
    EXPRESS: "rate-limit-redis", "express-rate-limit (rate-limit-redis)", "an old version counts it for ever; since 3.0 the next request starts again",
        "update rate-limit-redis";
    FASTIFY: "fastify-rate-limit", "@fastify/rate-limit", COUNTS_FOR_EVER, "use Quotalock's store for @fastify/rate-limit";
    DJANGO: "django-ratelimit", "django-ratelimit", COUNTS_FOR_EVER, "see which client removed the TTL";
    REDIS_PY: "redis-py-lock", "redis-py's Lock, celery-once", HELD_FOR_EVER, "give each Lock its timeout";
    PYTHON_REDIS_LOCK: "python-redis-lock", "python-redis-lock", HELD_FOR_EVER, "give each Lock its expire";
    WALRUS_LOCK: "walrus-lock", "walrus' Lock", HELD_FOR_EVER, "give each lock its ttl";
    REDLOCK: "redlock", "a lock with a random token (redlock, redsync, redis-semaphore and others)", HELD_FOR_EVER,
        "set it with PX in one command";
    TOKEN: "token", "a random token, as locks have and sessions", HELD_FOR_EVER, "see which client writes it; if it is a lock, set it with PX in one command";
    UPSTASH: "upstash", "@upstash/ratelimit", "its window is over, so it blocks no call, but it stays in memory for ever",
        "don't use cachedFixedWindow: it never sets a TTL";
    THROTTLED: "throttled-py", "throttled-py", COUNTS_FOR_EVER, "update throttled-py, or use another algorithm";
    NIKOLAPOSA: "nikolaposa", "nikolaposa/rate-limit", COUNTS_FOR_EVER, "its INCR and EXPIRE are two commands: use one script";
    PYRATE: "pyrate-limiter", "pyrate-limiter", "it drops its old entries at the next call, so it blocks no call; unused it stays in memory",
        "nothing, if its names are few: pyrate-limiter never sets a TTL";
    DRAMATIQ: "dramatiq", "dramatiq's rate limiters", "its window is over, so it blocks no call, but it stays in memory", "see which client removed the TTL";
    BULL_LIMITER: "bull-limiter", "Bull's or BullMQ's limiter", "its window never ends: the queue may stand still", "see which client removed the TTL; a queue's limiter sets one";
    WALRUS: "walrus-limiter", "a list of times (walrus' rate limit and others)", "an entry of a sliding window that is never removed: unused it stays in memory", "nothing, if its names are few";
    CASHEWS: "cashews", "cashews", COUNTS_FOR_EVER, "see which client removed the TTL: cashews sets one";
    ATTACK: "rack-attack", "Rack::Attack", "its window is over, so it blocks no call, but it stays in memory", "see which client removed the TTL";
    REDIS_RATE: "redis-rate", "go-redis/redis_rate", "its value states its own time, so it blocks no call, but it stays in memory", "see which client removed the TTL";
    JOBS: "job-lock", "a lock of a job queue (Sidekiq, RQ, Bull, Celery, Resque)", "the job, or jobs like it, never run again",
        "see whether the worker that set it is alive";
    COUNTER: "counter", "a counter of attempts", COUNTS_FOR_EVER, "see which client writes it; if it limits, name it with --also";
    NAMED: "named", "what you named", "you named it with --also", "see which client writes it";
}

/// The families of which `--fix` may change keys: for those there is a proof.
pub const FIXABLE: [&Family; 6] = [&ARTICLE, &LIMITS, &LARAVEL_LIMITER, &SYMFONY_LOCK, &QUOTALOCK, &NAMED];

// Why keys are left alone although they look stuck.
const NO_LIMIT: &str = "the key does not state its limit, so a denied call cannot be told from a counted one";
const HOLDER: &str = "a holder at work and one that died look the same; a token may also be data that someone keeps";
const BY_DEFAULT: &str =
    "the library sets no TTL unless it is told to, and a holder at work looks the same as one that died";
const NO_HARM: &str = "it blocks no call";
const NOT_A_LIMIT: &str = "its name does not say that it limits";
const NO_PAIR: &str = "its counter and its timer were not both seen without a TTL";
const ANY_TIMER: &str =
    "a number with a timer may be an auction: the name has not the hash that Laravel's middleware makes";

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
const JOB_LOCKS: [&str; 9] = [
    "SINGLETONLOCK_",
    "uniquejobs:",
    "sidekiq_unique:",
    "rq:lock:",
    "rq:scheduler-lock:",
    "rq:clean_registries:",
    "rq:cron_scheduler_lock:",
    "qo_",
    "resque:lock:",
];

/// Whose form a key without a TTL has, by its name and what was seen of it; none if it is neither counter nor lock.
pub fn recognise(name: &[u8], seen: &ValueView, now_ms: u64) -> Option<Recognised> {
    let text = &*String::from_utf8_lossy(name);
    let words = Words::of(text);
    let value = match seen {
        ValueView::Marked(_) => {
            return found(&SYMFONY_LOCK, Doubt::Looks, Proof::Ended, Life::Told(0, "its own record"));
        }
        ValueView::Other(kind, first) => return other(text, kind, first),
        ValueView::Text(value) => value.as_slice(),
    };
    if let Some(known) = by_prefix(text, value, now_ms) {
        return Some(known);
    }
    let Some(number) = integer(value) else { return lock(text, value, &words) };
    if let Some(counter) = text.strip_suffix(":timer")
        && number > 1_000_000_000
    {
        let proof = if is_laravels_hash(counter) { Proof::Ended } else { Proof::Never(ANY_TIMER) };
        let life = Life::Told(until(number, now_ms), "when its timer ends");
        return found(&LARAVEL_LIMITER, Doubt::Looks, proof, life);
    }
    if is_laravels_hash(text) && number >= 0 {
        let why = "Laravel starts it again once its timer is gone";
        return found(&LARAVEL_LIMITER, Doubt::May, Proof::Never(why), Life::Asked);
    }
    let last = text.rsplit(':').next().unwrap_or(text);
    let interval = last.parse().ok().filter(|seconds| INTERVALS.contains(seconds));
    if let Some(seconds) = interval
        && number > 0
        && (words.limits() || Words::has_address(text))
    {
        let life = Life::Told(seconds * 1_000, "the interval in its name");
        return found(&NIKOLAPOSA, Doubt::Looks, Proof::Never(NO_LIMIT), life);
    }
    match number < 0 {
        true if words.limits() => found(&ARTICLE, Doubt::Looks, Proof::Falls, Life::Asked),
        true => reported(&NEGATIVE, Doubt::May, NOT_A_LIMIT),
        false if words.counts_for_one() || words.counts_holders() => reported(&COUNTER, Doubt::May, NO_LIMIT),
        false => None,
    }
}

/// The same for a key whose name the user has named as a limiter's: what was missing was the name.
pub fn recognise_named(name: &[u8], seen: &ValueView, now_ms: u64) -> Option<Recognised> {
    let known = recognise(name, seen, now_ms);
    let is_timer = name.ends_with(b":timer");
    match (known, seen.number()) {
        (Some(known), _) if !matches!(known.proof, Proof::Never(_)) => Some(known),
        (Some(known), _) if *known.family == LARAVEL_LIMITER && is_timer => {
            Some(Recognised { proof: Proof::Ended, ..known })
        }
        (_, Some(number)) if number < 0 => found(&ARTICLE, Doubt::Looks, Proof::Falls, Life::Asked),
        (known, Some(_)) => {
            let life = known.map_or(Life::Asked, |known| known.life);
            found(&NAMED, Doubt::Looks, Proof::Counts, life)
        }
        (known, None) => known,
    }
}

/// The counter that belongs to a timer of Laravel's: the timer denies calls only next to it.
pub fn companion(known: &Recognised, name: &[u8]) -> Option<Vec<u8>> {
    let is_laravels = *known.family == LARAVEL_LIMITER;
    name.strip_suffix(b":timer").filter(|_| is_laravels).map(<[u8]>::to_vec)
}

/// A timer whose counter was not seen.
pub fn unpaired(known: Recognised) -> Recognised {
    Recognised { doubt: Doubt::May, proof: Proof::Never(NO_PAIR), ..known }
}

fn found(family: &'static Family, doubt: Doubt, proof: Proof, life: Life) -> Option<Recognised> {
    Some(Recognised { family, doubt, proof, life })
}

/// What is only reported, and why.
fn reported(family: &'static Family, doubt: Doubt, why: &'static str) -> Option<Recognised> {
    found(family, doubt, Proof::Never(why), Life::Asked)
}

/// By what only one library puts into a name, and the form of its value.
fn by_prefix(text: &str, value: &[u8], now_ms: u64) -> Option<Recognised> {
    let number = integer(value);
    if text.contains("LIMITER/")
        && let Some((limit, window)) = limit_of_limits(text)
        && number.is_some()
    {
        let is_plain = !text.contains('{');
        let proof = if is_plain { Proof::Refuses(limit) } else { Proof::Never("the window before it counts too") };
        return found(&LIMITS, Doubt::Looks, proof, Life::Told(window, "the window in its name"));
    }
    if text.contains("@upstash/ratelimit") {
        let life = window_of_upstash(text, now_ms).map_or(Life::Asked, |ms| Life::Told(ms, "the window in its name"));
        return found(&UPSTASH, Doubt::Looks, Proof::Never(NO_HARM), life);
    }
    if text.contains("throttled:v1:") {
        return reported(&THROTTLED, Doubt::Looks, NO_LIMIT);
    }
    if contains(value, b"Symfony\\Component\\RateLimiter") {
        return reported(&SYMFONY_LIMITER, Doubt::Looks, NO_HARM);
    }
    if text.starts_with("bull:") && text.ends_with(":limiter") && number.is_some() {
        return reported(&BULL_LIMITER, Doubt::Looks, NO_LIMIT);
    }
    let is_job_lock = JOB_LOCKS.iter().any(|prefix| text.starts_with(prefix)) && (is_token(value) || number.is_none())
        || text.starts_with("bull:") && text.ends_with(":lock")
        || text == "unacked_mutex";
    if is_job_lock {
        return reported(&JOBS, Doubt::Looks, HOLDER);
    }
    if text.starts_with("rack::attack:") && number.is_some() {
        return reported(&ATTACK, Doubt::Looks, NO_HARM);
    }
    let is_arrival = || std::str::from_utf8(value).is_ok_and(|text| text.contains('.') && text.parse::<f64>().is_ok());
    if text.starts_with("rate:") && is_arrival() {
        return reported(&REDIS_RATE, Doubt::Looks, NO_HARM);
    }
    if text.starts_with("locked:") && is_uuid(value) || text.starts_with("rate_limit:") && number.is_some() {
        return reported(&CASHEWS, Doubt::Looks, if number.is_some() { NO_LIMIT } else { HOLDER });
    }
    let is_window = |at: &str| at.len() >= 10 && at.bytes().all(|byte| byte.is_ascii_digit());
    if text.rsplit_once('@').is_some_and(|(_, at)| is_window(at)) && number.is_some() {
        return reported(&DRAMATIQ, Doubt::Looks, NO_HARM);
    }
    let prefixes = [("rlflx:", &FLEXIBLE), ("fastify-rate-limit-", &FASTIFY), (":1:rl:", &DJANGO), ("rl:", &EXPRESS)];
    let (_, family) = prefixes.into_iter().find(|(prefix, _)| text.starts_with(prefix))?;
    number.filter(|number| *number >= 0).and_then(|_| reported(family, Doubt::Looks, NO_LIMIT))
}

/// Whose it is that is no text.
fn other(text: &str, kind: &[u8], first: &[u8]) -> Option<Recognised> {
    if text.contains("LIMITER/") && limit_of_limits(text).is_some() && kind == b"list" {
        return reported(&LIMITS, Doubt::Looks, NO_HARM);
    }
    if text.contains("throttled:v1:") && kind == b"hash" {
        return reported(&THROTTLED, Doubt::Looks, NO_HARM);
    }
    if text.starts_with("uniquejobs:") {
        return reported(&JOBS, Doubt::Looks, HOLDER);
    }
    if text.starts_with("srl:") && kind == b"zset" {
        return reported(&CASHEWS, Doubt::Looks, NO_HARM);
    }
    if text.starts_with("semaphore:") && kind == b"zset" && is_uuid(first) {
        return reported(&REDLOCK, Doubt::Looks, HOLDER);
    }
    let mut parts = first.rsplit(|byte| *byte == b':');
    let is_pyrates = parts.next().is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
        && parts.next().is_some_and(|id| is_hex(id, &[10]))
        && parts.next().is_some();
    if kind == b"zset" && is_pyrates {
        return reported(&PYRATE, Doubt::May, NO_HARM);
    }
    let is_time = |text: &str| text.len() > 12 && text.find('.') == Some(10) && text.parse::<f64>().is_ok();
    let has_time = std::str::from_utf8(first).is_ok_and(is_time);
    if kind == b"list" && has_time { reported(&WALRUS, Doubt::May, NO_HARM) } else { None }
}

/// Whether Laravel's middleware named it: a hash after the prefix of the cache.
fn is_laravels_hash(text: &str) -> bool {
    let bytes = text.as_bytes();
    let hash = bytes.iter().rev().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    let begins = &text[..bytes.len() - hash];
    let prefix = begins.trim_end_matches([':', '_', '-']).to_ascii_lowercase();
    matches!(hash, 32 | 40) && (prefix.ends_with("laravel") || prefix.ends_with("cache"))
}

/// Whose lock it is, by its token.
fn lock(text: &str, value: &[u8], words: &Words) -> Option<Recognised> {
    let names = ["laravel", "framework/schedule-", "illuminate:cache:flexible:lock:"];
    let is_laravels = names.iter().any(|name| text.contains(name)) || text.contains("cache") && words.locks();
    // A value that was serialised has its length before it.
    let bare = value.strip_prefix(b"s:16:\"").and_then(|rest| rest.strip_suffix(b"\";")).unwrap_or(value);
    if is_laravels && is_random(bare, 16) {
        return reported(&LARAVEL_LOCK, Doubt::Looks, BY_DEFAULT);
    }
    if is_uuid1_hex(value) {
        return reported(&REDIS_PY, Doubt::May, BY_DEFAULT);
    }
    if text.starts_with("lock:") && is_base64_of_18(value) {
        return reported(&PYTHON_REDIS_LOCK, Doubt::May, BY_DEFAULT);
    }
    if text.starts_with("lock:") && value.len() == 32 && std::str::from_utf8(value).is_err() {
        return reported(&WALRUS_LOCK, Doubt::May, BY_DEFAULT);
    }
    if text.starts_with("mutex:") && is_uuid(value) || words.locks() && is_token(value) {
        return reported(&REDLOCK, Doubt::Looks, HOLDER);
    }
    let is_bare = is_hex(value, &[32]) || is_uuid(value) || is_random(value, 22);
    if is_bare && !words.identifies() { reported(&TOKEN, Doubt::May, HOLDER) } else { None }
}

/// The limit and the window that `.../5/1/minute` names; of the sliding counter, which has braces and a key for the window before,
/// twice the window.
fn limit_of_limits(text: &str) -> Option<(i64, u64)> {
    let plain = text.strip_suffix("/-1").unwrap_or(text);
    let (plain, times) = plain.strip_suffix('}').map_or((plain, 1), |plain| (plain, 2));
    let mut parts = plain.rsplit('/');
    let (unit, multiples, amount) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let limit = amount.parse::<i64>().ok()?;
    Some((limit, multiples.parse::<u64>().ok()?.checked_mul(milliseconds * times)?))
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
