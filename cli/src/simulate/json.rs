//! Lines that are JSON objects: looked through for two fields, without building anything.

use std::ops::Range;

use super::client::{By, ClientPlace};
use super::time;

/// What the time is called, the most exact first.
const TIMES: [&[u8]; 12] = [
    b"@timestamp",
    b"time_iso8601",
    b"timestamp",
    b"time",
    b"ts",
    b"msec",
    b"StartUTC",
    b"datetime",
    b"time_local",
    b"start_time",
    b"date",
    b"t",
];
const IPS: [&[u8]; 12] = [
    b"client_ip",
    b"remote_addr",
    b"remote_ip",
    b"clientip",
    b"ClientHost",
    b"ip",
    b"ClientAddr",
    b"remote_host",
    b"client",
    b"remote",
    b"host",
    b"h",
];
const USERS: [&[u8]; 8] =
    [b"remote_user", b"user", b"user_id", b"userid", b"username", b"ClientUsername", b"account", b"sub"];
const PATHS: [&[u8]; 7] = [b"path", b"uri", b"request_uri", b"RequestPath", b"request", b"url", b"r"];
/// Whether a field that is called so may be another machine than the client.
fn is_ambiguous(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    [&b"host"[..], b"h", b"client", b"remote"].iter().any(|known| last.eq_ignore_ascii_case(known))
}

/// How deep names are looked at; what is deeper is passed over.
const DEEP: usize = 8;
/// How deep objects may be.
const DEEPEST: usize = 128;

/// The names that the last line had, of the time and of the key, with dots between those of nested objects.
#[derive(Default)]
pub struct Learned {
    time: Vec<u8>,
    key: Vec<u8>,
    scratch: Vec<u8>,
}

/// A name and its value as the line has them: the names around it, and its text without quotes.
struct Field<'a> {
    line: &'a [u8],
    names: &'a [Range<usize>],
    value: Range<usize>,
}

/// When a line was, and whose; the name goes to `decoded` if it is written with escapes. None if it is no object with a time.
pub fn parse(line: &[u8], by: &By, learned: &mut Learned, decoded: &mut Vec<u8>) -> Option<(u64, ClientPlace)> {
    let line = line.trim_ascii_end();
    // A line that was cut off says nothing for certain.
    if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    if let Some(found) = again(line, learned) {
        let (time, key) = found;
        return Some((read_time(&line[time], &mut learned.scratch)?, read_key(line, key, by, decoded)));
    }
    let (time, key) = search(line, by, learned)?;
    let time = read_time(&line[time], &mut learned.scratch)?;
    Some((time, key.map_or(ClientPlace::Nowhere, |key| read_key(line, key, by, decoded))))
}

/// The fields of the names that were learned, if both are there.
fn again(line: &[u8], learned: &Learned) -> Option<(Range<usize>, Range<usize>)> {
    if learned.key.is_empty() {
        return None;
    }
    let (mut time, mut key) = (None, None);
    scan(line, &mut |field| {
        if time.is_none() && field.is_called(&learned.time) {
            time = Some(field.value.clone());
        }
        if key.is_none() && field.is_called(&learned.key) {
            key = Some(field.value.clone());
        }
        time.is_none() || key.is_none()
    })?;
    Some((time?, key?))
}

/// Looks for the best of all known names, and learns them.
fn search(line: &[u8], by: &By, learned: &mut Learned) -> Option<(Range<usize>, Option<Range<usize>>)> {
    let asked;
    let keys: &[&[u8]] = match by {
        By::Ip => &IPS,
        By::User => &USERS,
        By::Path => &PATHS,
        By::Field(name) => {
            asked = [name.as_bytes()];
            &asked
        }
    };
    // The rank of what was found so far, where it is, and its name.
    let (mut time, mut key) = (None::<(usize, Range<usize>, Vec<u8>)>, None::<(usize, Range<usize>, Vec<u8>)>);
    scan(line, &mut |field| {
        let better = |names: &[&[u8]], best: &Option<(usize, Range<usize>, Vec<u8>)>| {
            let rank = field.rank(names)?;
            best.as_ref().is_none_or(|(known, ..)| rank < *known).then(|| (rank, field.value.clone(), field.name()))
        };
        if let Some(found) = better(&TIMES, &time)
            && read_time(&line[found.1.clone()], &mut learned.scratch).is_some()
        {
            time = Some(found);
        }
        if let Some(found) = better(keys, &key)
            // Also the server, or the virtual host, is called so.
            && (*by != By::Ip || !is_ambiguous(&found.2) || super::client::is_address(&line[found.1.clone()]))
        {
            key = Some(found);
        }
        true
    })?;
    let (_, time, name) = time?;
    learned.time = name;
    learned.key = key.as_ref().map(|(.., name)| name.clone()).unwrap_or_default();
    Some((time, key.map(|(_, key, _)| key)))
}

fn read_time(text: &[u8], scratch: &mut Vec<u8>) -> Option<u64> {
    match memchr::memchr(b'\\', text) {
        None => time::parse(text),
        Some(_) => {
            decode(text, scratch);
            time::parse(scratch)
        }
    }
}

fn read_key(line: &[u8], key: Range<usize>, by: &By, decoded: &mut Vec<u8>) -> ClientPlace {
    let is_text = line[key.start - 1] == b'"';
    let text = &line[key.clone()];
    if !is_text {
        // A number, or nothing.
        return if text == b"null" { ClientPlace::Nowhere } else { ClientPlace::Line(key) };
    }
    if memchr::memchr(b'\\', text).is_none() {
        return ClientPlace::Line(key);
    }
    decode(text, decoded);
    match super::client::named(decoded, 0..decoded.len(), by) {
        ClientPlace::Line(range) => {
            decoded.truncate(range.end);
            decoded.drain(..range.start);
            ClientPlace::Decoded
        }
        other => other,
    }
}

impl Field<'_> {
    /// Its names, with dots.
    fn name(&self) -> Vec<u8> {
        let names: Vec<&[u8]> = self.names.iter().map(|name| &self.line[name.clone()]).collect();
        names.join(&b'.')
    }

    fn is_called(&self, dotted: &[u8]) -> bool {
        let Some((last, around)) = self.names.split_last() else { return false };
        let Some(mut rest) = dotted.strip_suffix(&self.line[last.clone()]) else { return false };
        for name in around.iter().rev() {
            let Some(before) = rest.strip_suffix(b".").and_then(|r| r.strip_suffix(&self.line[name.clone()])) else {
                return false;
            };
            rest = before;
        }
        rest.is_empty()
    }

    /// Which of these names it has, itself or with those around it; the lower the better.
    fn rank(&self, names: &[&[u8]]) -> Option<usize> {
        let last = &self.line[self.names.last()?.clone()];
        let is = |name: &[u8]| name.eq_ignore_ascii_case(last) || self.names.len() > 1 && self.is_called(name);
        let place = names.iter().position(|name| is(name))?;
        Some(place * DEEP + self.names.len() - 1)
    }
}

/// Tells all values that are texts, numbers or words, until `visit` says false. None if the line is no JSON so far.
fn scan(line: &[u8], visit: &mut dyn FnMut(Field<'_>) -> bool) -> Option<()> {
    let mut names: [Range<usize>; DEEP] = [const { 0..0 }; DEEP];
    let (mut depth, mut at) = (1, 1);
    loop {
        at = blank(line, at);
        match *line.get(at)? {
            b'}' => {
                depth -= 1;
                at = blank(line, at + 1);
                if depth == 0 {
                    return (at == line.len()).then_some(());
                }
                if line.get(at) == Some(&b',') {
                    at += 1;
                }
                continue;
            }
            b'"' => {}
            _ => return None,
        }
        let name = at + 1..text_end(line, at + 1)?;
        at = blank(line, name.end + 1);
        if line.get(at) != Some(&b':') {
            return None;
        }
        at = blank(line, at + 1);
        if let Some(slot) = names.get_mut(depth - 1) {
            *slot = name;
        }
        let value = match *line.get(at)? {
            b'"' => at + 1..text_end(line, at + 1)?,
            b'{' => {
                (depth, at) = (depth + 1, at + 1);
                if depth > DEEPEST {
                    return None;
                }
                continue;
            }
            b'[' => {
                at = array_end(line, at)?;
                at..at
            }
            _ => {
                let length = line[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b' ' | b'\t'))?;
                at..at + length
            }
        };
        let is_text = value.start > at;
        let is_array = value.is_empty() && !is_text;
        at = value.end + usize::from(is_text);
        if !is_array
            && let Some(names) = names.get(..depth)
            && !visit(Field { line, names, value })
        {
            return Some(());
        }
        at = blank(line, at);
        match *line.get(at)? {
            b',' => at += 1,
            b'}' => {}
            _ => return None,
        }
    }
}

fn blank(line: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = line.get(at) {
        at += 1;
    }
    at
}

/// Where a text ends: its quote.
fn text_end(line: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Behind an array.
fn array_end(line: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *line.get(at)? {
            b'"' => at = text_end(line, at + 1)?,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// What a text with escapes stands for. Half of a surrogate pair is no character.
fn decode(text: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte != b'\\' {
            decoded.push(byte);
            continue;
        }
        let escape = text.get(at).copied().unwrap_or(b'\\');
        at += 1;
        let plain = match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let (character, length) = escaped(text, at);
                at += length;
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            other => other,
        };
        decoded.push(plain);
    }
}

/// The character behind a `\u`, and how many bytes it takes there.
fn escaped(text: &[u8], at: usize) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    let Some(first) = unit(at) else { return (char::REPLACEMENT_CHARACTER, 0) };
    let second = text.get(at + 4..).filter(|rest| rest.starts_with(b"\\u")).and_then(|_| unit(at + 6));
    match (first, second) {
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            let both = 0x10000 + ((first - 0xd800) << 10 | (low - 0xdc00));
            (char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
        }
        _ => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4),
    }
}
