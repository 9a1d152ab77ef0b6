//! What a name or a value looks like.

use super::pattern::is_separator;

/// Words in the names of what limits.
const LIMITS: [&str; 13] = [
    "limit",
    "limits",
    "limiter",
    "limited",
    "ratelimit",
    "ratelimiter",
    "throttle",
    "throttled",
    "throttler",
    "attempt",
    "attempts",
    "tries",
    "cooldown",
];
/// Words that say that a limit is one of money or of nature: a negative number is right there.
const AMOUNTS: [&str; 44] = [
    "credit",
    "credits",
    "balance",
    "price",
    "account",
    "temperature",
    "temp",
    "score",
    "margin",
    "offset",
    "budget",
    "spend",
    "spending",
    "spent",
    "overdraft",
    "debt",
    "wallet",
    "points",
    "coins",
    "stock",
    "inventory",
    "position",
    "level",
    "gain",
    "altitude",
    "depth",
    "latitude",
    "longitude",
    "delta",
    "drift",
    "rank",
    "rating",
    "karma",
    "profit",
    "loss",
    "cash",
    "bank",
    "ledger",
    "trading",
    "exposure",
    "min",
    "max",
    "lower",
    "upper",
];
/// Those of them that are in the names of counters, and seldom in those of settings.
const COUNTERS: [&str; 7] = ["ratelimit", "ratelimiter", "limiter", "throttle", "throttled", "throttler", "attempts"];
/// Words in the names of counters of holders.
const HOLDERS: [&str; 4] = ["mutex", "semaphore", "concurrency", "concurrent"];
/// Words in the names of what has a random value and is no lock.
const IDENTIFIES: [&str; 40] = [
    "session", "sess", "token", "tokens", "user", "users", "id", "ids", "uid", "uuid", "guid", "hash", "etag",
    "checksum", "digest", "md5", "sha1", "sha256", "key", "keys", "secret", "password", "auth", "apikey", "csrf",
    "nonce", "device", "devices", "client", "order", "orders", "tenant", "ref", "version", "commit", "revision",
    "build", "release", "trace", "cache",
];
/// Words in the names of locks.
const LOCKS: [&str; 9] =
    ["lock", "locks", "locked", "mutex", "semaphore", "overlap", "overlapping", "redlock", "leader"];

/// A name, in words of small letters.
pub struct Words(Vec<String>);

impl Words {
    /// Takes a name apart.
    pub fn of(name: &str) -> Words {
        let parts = name.split(is_separator).filter(|part| !part.is_empty());
        Words(parts.map(str::to_ascii_lowercase).collect())
    }

    fn first_of(&self, known: &[&str]) -> Option<usize> {
        let two = |at: usize| match (self.0.get(at), self.0.get(at + 1)) {
            (Some(one), Some(other)) => format!("{one}{other}"),
            _ => String::new(),
        };
        (0..self.0.len()).find(|at| known.contains(&self.0[*at].as_str()) || known.contains(&two(*at).as_str()))
    }

    /// Whether it speaks of a limit.
    pub fn limits(&self) -> bool {
        self.first_of(&LIMITS).is_some() && self.first_of(&AMOUNTS).is_none()
    }

    /// Whether it speaks of a lock.
    pub fn locks(&self) -> bool {
        self.first_of(&LOCKS).is_some()
    }

    /// Whether it speaks of a counter of holders.
    pub fn counts_holders(&self) -> bool {
        self.first_of(&HOLDERS).is_some()
    }

    /// Whether it speaks of what identifies something: a random value is right there.
    pub fn identifies(&self) -> bool {
        self.first_of(&IDENTIFIES).is_some()
    }

    /// Whether it speaks of a counter for one user, address or thing: a number or a hash follows.
    pub fn counts_for_one(&self) -> bool {
        let told = |part: &String| part.bytes().any(|byte| byte.is_ascii_digit());
        self.first_of(&COUNTERS).is_some_and(|at| self.0[at + 1..].iter().any(told))
    }

    /// Whether a part is an address of the internet.
    pub fn has_address(name: &str) -> bool {
        let is_address = |part: &str| part.parse::<std::net::IpAddr>().is_ok();
        name.split([':', '/', '|', '_']).any(is_address)
    }
}

/// The whole number that a value is.
pub fn integer(value: &[u8]) -> Option<i64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let is_plain = (1..=19).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_plain)?.parse().ok()
}

/// Whether it is so many digits of a hash.
pub fn is_hex(text: &[u8], lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether it is what Python's `uuid.uuid1().hex` makes: it tells a time, of this century. Random digits look so once in ten
/// thousand times.
pub fn is_uuid1_hex(text: &[u8]) -> bool {
    if !is_hex(text, &[32]) || text[12] != b'1' || !matches!(text[16], b'8' | b'9' | b'a' | b'b') {
        return false;
    }
    // Low, middle and high digits of the tenths of microseconds since 1582.
    let digits = [&text[13..16], &text[8..12], &text[..8]].concat();
    let told = std::str::from_utf8(&digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    const YEAR: u64 = 315_569_520_000_000;
    told.is_some_and(|told| (418 * YEAR..468 * YEAR).contains(&told))
}

/// Whether it is a UUID as people write it.
pub fn is_uuid(text: &[u8]) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// Whether it is so many letters and digits that look drawn by lot.
pub fn is_random(text: &[u8], length: usize) -> bool {
    let count = |what: fn(&u8) -> bool| text.iter().filter(|byte| what(byte)).count();
    let mixed = count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0;
    text.len() == length && mixed && text.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether it is the base64 of so many random bytes.
pub fn is_base64(text: &[u8]) -> bool {
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    text.len() == 24 && body.len() < 24 && body.iter().all(is_digit)
}

/// Whether it is the base64 of 18 random bytes, which has no padding. One in 150 of them consists of letters alone: it differs from a
/// name in how often the case changes.
pub fn is_base64_of_18(text: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let has = |what: fn(&u8) -> bool| text.iter().any(what);
    let changes = text.windows(2).filter(|two| two[0].is_ascii_uppercase() != two[1].is_ascii_uppercase()).count();
    text.len() == 24
        && text.iter().all(is_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && (changes >= 8 || !text.iter().all(u8::is_ascii_alphabetic))
}

/// Whether it is a token by which a lock knows its holder.
pub fn is_token(value: &[u8]) -> bool {
    is_hex(value, &[32, 40, 64])
        || is_uuid(value)
        || is_base64(value)
        || [16, 20, 22, 32, 40].iter().any(|length| is_random(value, *length))
}
