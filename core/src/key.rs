//! How a user's key becomes a Redis key: `<prefix>:<kind>:<name>:{<key>}`, with a scope `<prefix>:<kind>:<name>:{<scope>}:{<key>}`;
//! a lock's name is its key: `<prefix>:<kind>:{<name>}`, and so is a stock's, with a scope `<prefix>:stock:{<scope>}:{<name>}`.
//! One key more is that of the reports, `<prefix>:reports`.
//!
//! The user's part is the whole hash tag, so everything that belongs to one key lies in one cluster slot, and `%`, `{`
//! and `}` are percent-encoded, so no input can open, close or empty the tag. The layout is a wire protocol: languages
//! and versions share it (`tests/spec/vectors/keys.json`).

use wire::base::error::{Error, Result, shown};

/// The longest key, name or prefix in bytes, before encoding.
pub const MAX_KEY_BYTES: usize = 1024;

/// The longest Redis key that is put together without an allocation.
const ORDINARY: usize = 128;

/// Checks a prefix: 1 to [`MAX_KEY_BYTES`] bytes, no braces, no URL, which may hold a password, and no part between colons that
/// is a [word of the layout](words).
pub(crate) fn check_prefix(prefix: &str) -> Result<()> {
    if prefix.contains("://") {
        return Err(Error::invalid("prefix is a url: give the url as such, and a short prefix such as \"ql\""));
    }
    check("prefix", prefix.as_bytes(), "give a short name such as \"ql\"")?;
    if prefix.contains(['{', '}']) {
        return Err(Error::invalid(format!(
            "prefix \"{}\" has a brace: braces pick the cluster slot and belong to the key alone, leave them out",
            shown(prefix.as_bytes())
        )));
    }
    if let Some(word) = prefix.split(':').find(|part| words().any(|word| word == *part)) {
        let (shown, right) = (shown(prefix.as_bytes()), shown(prefix.replace(':', "-").as_bytes()));
        return Err(Error::invalid(format!(
            "prefix \"{shown}\" contains \"{word}\" between colons, which Quotalock puts after a prefix: the key of one name \
             would be that of another under the prefix before it. Write \"{right}\", or another word"
        )));
    }
    Ok(())
}

/// The words of the layout, one of which follows the prefix in every key and channel. No prefix contains one as a part, so the
/// first of them in a key ends its prefix, and two prefixes have no key in common.
fn words() -> impl Iterator<Item = &'static str> {
    KeyKind::ALL.into_iter().map(|(word, _)| word).chain([REPORTS, WAKE])
}

/// Checks a limiter's name.
pub(crate) fn check_name(name: &str) -> Result<()> {
    check("name", name.as_bytes(), "name what is limited, such as \"checkout\"")
}

/// Checks a user's key.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    check("key", key, "name who or what is limited, such as \"user:42\"")
}

/// Checks the name of a cache.
pub(crate) fn check_cache_name(name: &str) -> Result<()> {
    check("name", name.as_bytes(), "name what is kept, such as \"home\"")
}

/// Checks a key of a cache.
pub(crate) fn check_cache_key(key: &[u8]) -> Result<()> {
    check("key", key, "name what is kept, such as \"page:1\"")
}

/// Checks a lock's name.
pub(crate) fn check_lock_name(name: &[u8]) -> Result<()> {
    check("name", name, "name what is locked, such as \"sku:42\"")
}

/// Checks a stock's name.
pub(crate) fn check_stock_name(name: &[u8]) -> Result<()> {
    check("name", name, "name what is sold, such as \"sale:42\"")
}

/// Checks a buyer.
pub(crate) fn check_buyer(buyer: &[u8]) -> Result<()> {
    check("buyer", buyer, "name who buys, such as \"user:42\"")
}

/// Checks a scope.
pub(crate) fn check_scope(scope: &[u8]) -> Result<()> {
    check("scope", scope, "name what the keys have in common, such as \"shop\", or leave it out")
}

/// Checks a user's part of a Redis key: 1 to [`MAX_KEY_BYTES`] bytes of anything. An error calls it `what`, and an empty one
/// gets this `advice`.
#[inline]
fn check(what: &str, value: &[u8], advice: &str) -> Result<()> {
    if (1..=MAX_KEY_BYTES).contains(&value.len()) { Ok(()) } else { Err(of_wrong_size(what, value, advice)) }
}

#[cold]
fn of_wrong_size(what: &str, value: &[u8], advice: &str) -> Error {
    if value.is_empty() {
        return Error::invalid(format!("{what} is empty: {advice}"));
    }
    let (shown, length) = (shown(value), value.len());
    Error::invalid(format!("{what} \"{shown}\" has {length} bytes, more than {MAX_KEY_BYTES}: shorten or hash it"))
}

/// Everything before the user's key: `<prefix>:<kind>:<name>:{`, with a scope `<prefix>:<kind>:<name>:{<scope>}:{`. The
/// first braces are the hash tag.
pub(crate) fn stem(prefix: &str, kind: &str, name: &str, scope: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(prefix.len() + kind.len() + name.len() + 4);
    out.extend_from_slice(prefix.as_bytes());
    out.push(b':');
    out.extend_from_slice(kind.as_bytes());
    out.push(b':');
    encode_into(&mut out, name.as_bytes());
    out.extend_from_slice(b":{");
    if let Some(scope) = scope {
        encode_into(&mut out, scope);
        out.extend_from_slice(b"}:{");
    }
    out
}

/// Everything before a stock's name: `<prefix>:stock:{`, with a scope `<prefix>:stock:{<scope>}:{`.
pub(crate) fn stock_stem(prefix: &str, scope: Option<&[u8]>) -> Vec<u8> {
    let mut out = lock_stem(prefix, "stock");
    if let Some(scope) = scope {
        encode_into(&mut out, scope);
        out.extend_from_slice(b"}:{");
    }
    out
}

/// Everything before a lock's name: `<prefix>:<kind>:{`.
pub(crate) fn lock_stem(prefix: &str, kind: &str) -> Vec<u8> {
    format!("{prefix}:{kind}:{{").into_bytes()
}

/// The word in the key of the reports.
const REPORTS: &str = "reports";

/// The key of the stream of reports: `<prefix>:reports`.
pub(crate) fn reports(prefix: &str) -> Vec<u8> {
    format!("{prefix}:{REPORTS}").into_bytes()
}

/// The word in the names of channels.
const WAKE: &str = "wake";

/// What the names of the channels begin with at which waiters are told: `<prefix>:wake:`.
pub(crate) fn wake_prefix(prefix: &str) -> std::sync::Arc<[u8]> {
    format!("{prefix}:{WAKE}:").into_bytes().into()
}

/// The whole Redis key.
pub(crate) fn complete(stem: &[u8], key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stem.len() + key.len() + 1);
    out.extend_from_slice(stem);
    encode_into(&mut out, key);
    out.push(b'}');
    out
}

/// The key of which [`complete`] made this with this stem.
pub(crate) fn user_part(stem: &[u8], whole: &[u8]) -> Vec<u8> {
    decode(whole.get(stem.len()..whole.len().saturating_sub(1)).unwrap_or_default())
}

/// What [`encode_into`] made this of.
fn decode(encoded: &[u8]) -> Vec<u8> {
    let (mut raw, mut rest) = (Vec::with_capacity(encoded.len()), encoded);
    while let Some((first, behind)) = rest.split_first() {
        let decoded =
            [(b"%25", b'%'), (b"%7B", b'{'), (b"%7D", b'}')].into_iter().find(|(code, _)| rest.starts_with(*code));
        let (byte, size) = decoded.map_or((*first, 1), |(code, byte)| (byte, code.len()));
        raw.push(byte);
        rest = if size == 1 { behind } else { &rest[size..] };
    }
    raw
}

/// Does something with the whole Redis key, which is not allocated if it is an ordinary one.
pub(crate) fn with_complete<T>(stem: &[u8], key: &[u8], then: impl FnOnce(&[u8]) -> T) -> T {
    let mut whole = [0; ORDINARY];
    let (end, size) = (stem.len() + key.len(), stem.len() + key.len() + 1);
    if size > ORDINARY || key.iter().any(|byte| matches!(byte, b'%' | b'{' | b'}')) {
        return then(&complete(stem, key));
    }
    whole[..stem.len()].copy_from_slice(stem);
    whole[stem.len()..end].copy_from_slice(key);
    whole[end] = b'}';
    then(&whole[..size])
}

pub(crate) fn encode_into(out: &mut Vec<u8>, raw: &[u8]) {
    for &byte in raw {
        match byte {
            b'%' => out.extend_from_slice(b"%25"),
            b'{' => out.extend_from_slice(b"%7B"),
            b'}' => out.extend_from_slice(b"%7D"),
            other => out.push(other),
        }
    }
}

/// What a Redis key of ours is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KeyKind {
    /// What a limiter knows of a key.
    Limiter,
    /// A call of a limiter that had a request id.
    Request,
    /// A mutex.
    Lock,
    /// A semaphore.
    Semaphore,
    /// A read-write lock.
    ReadWrite,
    /// A sale.
    Stock,
    /// An entry of a cache.
    Cache,
    /// An id of a `once`.
    Once,
    /// What processes report; it has no name.
    Reports,
}

impl KeyKind {
    /// Every kind of which there is more than one key, with its word in Redis keys.
    const ALL: [(&str, KeyKind); 8] = [
        ("limit", KeyKind::Limiter),
        ("request", KeyKind::Request),
        ("lock", KeyKind::Lock),
        ("sem", KeyKind::Semaphore),
        ("rw", KeyKind::ReadWrite),
        ("stock", KeyKind::Stock),
        ("cache", KeyKind::Cache),
        ("once", KeyKind::Once),
    ];

    /// Whether the key of a user's belongs to something with a name: else it is the name.
    fn is_named(self) -> bool {
        matches!(self, KeyKind::Limiter | KeyKind::Request | KeyKind::Cache | KeyKind::Once)
    }
}

/// What a Redis key of ours says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// What it is about.
    pub kind: KeyKind,
    /// The name of the limiter, lock, stock, cache or `once`; empty for the reports.
    pub name: Vec<u8>,
    /// What its keys have in common, if that was said.
    pub scope: Option<Vec<u8>>,
    /// The key of a limiter or cache, or the id of a `once`; none of a lock or stock.
    pub key: Option<Vec<u8>>,
    /// What stands behind, such as `:wait` or `:ledger`; empty for the key itself.
    pub beside: Vec<u8>,
}

impl KeyName {
    /// Reads a Redis key; none if no client with this prefix has made it.
    pub fn parse(prefix: &str, redis_key: &[u8]) -> Option<KeyName> {
        let rest = redis_key.strip_prefix(prefix.as_bytes())?.strip_prefix(b":")?;
        if rest == REPORTS.as_bytes() {
            let (name, beside) = (Vec::new(), Vec::new());
            return Some(KeyName { kind: KeyKind::Reports, name, scope: None, key: None, beside });
        }
        let end = rest.iter().position(|byte| *byte == b':')?;
        let (_, kind) = KeyKind::ALL.into_iter().find(|(word, _)| word.as_bytes() == &rest[..end])?;
        let rest = &rest[end + 1..];
        // What is before the first brace is the name, if there is one.
        let (name, rest) = rest.split_at(rest.iter().position(|byte| *byte == b'{')?);
        let (first, rest) = braced(rest)?;
        let second = rest.strip_prefix(b":").and_then(braced).filter(|_| is_scoped(kind));
        let (scope, last, beside) = match second {
            Some((second, beside)) => (Some(decode(first)), decode(second), beside),
            None => (None, decode(first), rest),
        };
        let (name, key) = match kind.is_named() {
            true => (decode(name.strip_suffix(b":").filter(|name| !name.is_empty())?), Some(last)),
            false if name.is_empty() => (last, None),
            false => return None,
        };
        Some(KeyName { kind, name, scope, key, beside: beside.to_vec() })
    }

    /// The Redis type that calls need at this key: they fail with `wrong_type` if it has another, and the reports are lost. None
    /// if calls replace any other type, or have no such key.
    pub fn redis_type(&self) -> Option<&'static str> {
        match (self.kind, self.beside.as_slice()) {
            (KeyKind::Stock, b"") => Some("hash"),
            (KeyKind::Stock, b":holds") => Some("zset"),
            (KeyKind::Stock, b":ledger") => Some("stream"),
            (KeyKind::Reports, _) => Some("stream"),
            (KeyKind::Request, _) | (_, b"") => Some("string"),
            // A request that took or added units.
            (KeyKind::Stock, _) => Some("string"),
            _ => None,
        }
    }

    /// Whether calls fail at this key, or reports are lost, if it is of this Redis type: see [`redis_type`](KeyName::redis_type).
    pub fn is_wrong_type(&self, kind: &[u8]) -> bool {
        self.redis_type().is_some_and(|needed| needed.as_bytes() != kind)
    }
}

/// Whether keys of this kind may have a scope.
fn is_scoped(kind: KeyKind) -> bool {
    matches!(kind, KeyKind::Limiter | KeyKind::Request | KeyKind::Stock)
}

/// What stands between braces, and what behind.
fn braced(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"{")?;
    let end = text.iter().position(|byte| *byte == b'}')?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_it_was_made_of() {
        let read = |key: &[u8]| KeyName::parse("ql", key);
        let of = |kind, name: &[u8], scope: Option<&[u8]>, key: Option<&[u8]>, beside: &[u8]| {
            let (scope, key) = (scope.map(<[u8]>::to_vec), key.map(<[u8]>::to_vec));
            Some(KeyName { kind, name: name.to_vec(), scope, key, beside: beside.to_vec() })
        };
        for scope in [None, Some(&b"s}%"[..])] {
            for key in [&b"k"[..], b"a:b", b"{}%", b"\xff%7", b":{x}:"] {
                let whole = complete(&stem("ql", "limit", "a{b:c", scope), key);
                assert_eq!(read(&whole), of(KeyKind::Limiter, b"a{b:c", scope, Some(key), b""));
                let whole = complete(&stock_stem("ql", scope), key);
                assert_eq!(read(&whole), of(KeyKind::Stock, key, scope, None, b""));
                let ledger = [whole, b":ledger".to_vec()].concat();
                assert_eq!(read(&ledger), of(KeyKind::Stock, key, scope, None, b":ledger"));
            }
        }
        assert_eq!(read(&reports("ql")), of(KeyKind::Reports, b"", None, None, b""));
        assert_eq!(read(b"ql:sem:{x}"), of(KeyKind::Semaphore, b"x", None, None, b""));
        for (redis_key, needed) in [
            ("ql:limit:n:{x}", Some("string")),
            ("ql:request:n:{x}:consume:i", Some("string")),
            ("ql:lock:{x}", Some("string")),
            ("ql:stock:{x}", Some("hash")),
            ("ql:stock:{s}:{x}:holds", Some("zset")),
            ("ql:stock:{x}:ledger", Some("stream")),
            ("ql:stock:{x}:take:{b}:i", Some("string")),
            ("ql:stock:{x}:restock:i", Some("string")),
            ("ql:reports", Some("stream")),
            ("ql:cache:n:{x}", Some("string")),
            ("ql:cache:n:{x}:wait", None),
        ] {
            assert_eq!(read(redis_key.as_bytes()).and_then(|name| name.redis_type()), needed, "{redis_key}");
        }
        assert_eq!(read(b"ql:cache:n:{x}:wait"), of(KeyKind::Cache, b"n", None, Some(b"x"), b":wait"));
        let request = b"ql:request:n:{x}:consume:i{d";
        assert_eq!(read(request), of(KeyKind::Request, b"n", None, Some(b"x"), b":consume:i{d"));
        for other in [
            &b"ql:lock:x"[..],
            b"ql:lock:n:{x}",
            b"ql:limit:{x}",
            b"ql:other:{x}",
            b"qx:lock:{x}",
            b"ql:lock:{x",
            b"ql",
            b"ql:reports:x",
        ] {
            assert_eq!(read(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn no_two_prefixes_kinds_names_and_keys_have_one_redis_key() {
        // All texts of up to three of these parts, as prefix and as name: every way to draw the line between the two.
        let parts = ["p", "limit", "request", "reports", "limits", ""];
        let mut texts: Vec<String> = parts.map(String::from).to_vec();
        for length in 1..3 {
            let longer: Vec<String> =
                texts.iter().filter(|text| text.matches(':').count() == length - 1).cloned().collect();
            texts.extend(longer.iter().flat_map(|text| parts.map(|part| format!("{text}:{part}"))));
        }
        let prefixes: Vec<&String> = texts.iter().filter(|text| check_prefix(text).is_ok()).collect();
        assert!(prefixes.iter().any(|prefix| *prefix == "p:limits:p"), "{prefixes:?}");
        assert!(!prefixes.iter().any(|prefix| prefix.split(':').any(|part| part == "limit")), "{prefixes:?}");
        let keys = [&b"limit:k"[..], b"k}:{k"];
        let scopes = [None, Some(&b"limit:k"[..])];
        let mut made = std::collections::HashSet::new();
        let mut add = |key: Vec<u8>| assert!(made.insert(key.clone()), "{}", String::from_utf8_lossy(&key));
        for prefix in prefixes {
            add(reports(prefix));
            // Behind it stands the letter of a server and what it drew: no brace, and no colon.
            add([&wake_prefix(prefix)[..], b"s0123456789abcdef"].concat());
            for key in keys {
                for word in ["lock", "sem", "rw"] {
                    add(complete(&lock_stem(prefix, word), key));
                }
                for scope in scopes {
                    let stock = complete(&stock_stem(prefix, scope), key);
                    let mut request = [&stock, &b":take:{"[..]].concat();
                    encode_into(&mut request, key);
                    for behind in [b"".as_slice(), b":holds", b":ledger"] {
                        add([&stock, behind].concat());
                    }
                    add([&request, &b"}:id"[..]].concat());
                    for name in texts.iter().filter(|name| check_name(name).is_ok()) {
                        add(complete(&stem(prefix, "limit", name, scope), key));
                        let request = complete(&stem(prefix, "request", name, scope), key);
                        for verb in ["consume", "refund"] {
                            add([&request, ":".as_bytes(), verb.as_bytes(), b":limit:id"].concat());
                        }
                    }
                }
                for name in texts.iter().filter(|name| check_name(name).is_ok()) {
                    let cache = complete(&stem(prefix, "cache", name, None), key);
                    add([&cache, b":wait".as_slice()].concat());
                    add(cache);
                    add(complete(&stem(prefix, "once", name, None), key));
                }
            }
        }
        assert!(made.len() > 100_000, "{}", made.len());
    }

    #[test]
    fn the_users_part_of_a_key_is_what_it_was_made_of() {
        for scope in [None, Some(&b"s}%"[..])] {
            let stem = stem("ql", "limit", "a{b", scope);
            for key in [&b"k"[..], b"", b"%25", b"{}%", b"\xff%7", b"%7B}"] {
                assert_eq!(user_part(&stem, &complete(&stem, key)), key);
            }
        }
    }

    #[test]
    fn a_key_of_another_type_is_wrong_where_a_type_is_needed() {
        let is_wrong = |key: &[u8], kind: &[u8]| KeyName::parse("ql", key).unwrap().is_wrong_type(kind);
        assert!(is_wrong(b"ql:limit:a:{k}", b"list") && !is_wrong(b"ql:limit:a:{k}", b"string"));
        assert!(!is_wrong(b"ql:limit:a:{k}:other", b"list"));
    }
}
