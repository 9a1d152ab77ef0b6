//! One line of a log: when it was, and whose.

use std::ops::Range;

use super::client::{By, ClientPlace, is_address, named};
use super::json::{self, Learned};
use super::pattern::Pattern;
use super::time;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Common or combined, as Apache and nginx write unless told otherwise.
    Access,
    /// A JSON object.
    Json,
    /// What `--pattern` says.
    Pattern,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 3] = [Form::Access, Form::Json, Form::Pattern];

    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Form::Access => "common or combined",
            Form::Json => "JSON",
            Form::Pattern => "the pattern",
        }
    }
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Microseconds since the epoch.
    pub time: u64,
    /// Whose request it is.
    pub key: ClientPlace,
    /// The form of the line.
    pub form: Form,
}

/// Reads lines, in whatever form each of them is.
pub struct Parser {
    by: By,
    pattern: Option<Pattern>,
    /// The form of the last line, which is tried first.
    last: Form,
    /// The text of the last time, and the time.
    memo: (Vec<u8>, u64),
    learned: Learned,
    /// What an escaped name stands for.
    pub decoded: Vec<u8>,
}

impl Parser {
    /// Reads common and combined logs and JSON, or only what a pattern says.
    pub fn new(by: By, pattern: Option<Pattern>) -> Parser {
        let last = if pattern.is_some() { Form::Pattern } else { Form::Access };
        Parser { by, pattern, last, memo: (Vec::new(), 0), learned: Learned::default(), decoded: Vec::new() }
    }

    /// What a line says, without its end; none if it is in no known form.
    pub fn parse(&mut self, line: &[u8]) -> Option<Parsed> {
        let first = self.parse_as(self.last, line);
        if first.is_some() || self.last == Form::Pattern {
            return first;
        }
        let other = if self.last == Form::Access { Form::Json } else { Form::Access };
        let second = self.parse_as(other, line)?;
        self.last = other;
        Some(second)
    }

    fn parse_as(&mut self, form: Form, line: &[u8]) -> Option<Parsed> {
        let (time, key) = match form {
            Form::Access => self.access(line)?,
            Form::Json => {
                // What syslog puts before it has no braces that matter.
                let start = syslog(line)?;
                let (time, key) = json::parse(&line[start..], &self.by, &mut self.learned, &mut self.decoded)?;
                let moved = |range: Range<usize>| ClientPlace::Line(start + range.start..start + range.end);
                (time, if let ClientPlace::Line(range) = key { moved(range) } else { key })
            }
            Form::Pattern => {
                let (time, key) = self.pattern.as_mut()?.find(line)?;
                let time = self.memoized(&line[time], time::parse)?;
                (time, key.map_or(ClientPlace::Nowhere, ClientPlace::Line))
            }
        };
        let key = match key {
            ClientPlace::Line(range) => named(line, range, &self.by),
            other => other,
        };
        Some(Parsed { time, key, form })
    }

    /// Many lines have the same second.
    fn memoized(&mut self, text: &[u8], parse: fn(&[u8]) -> Option<u64>) -> Option<u64> {
        if text.is_empty() || self.memo.0 != text {
            let time = parse(text)?;
            self.memo.0.clear();
            self.memo.0.extend_from_slice(text);
            self.memo.1 = time;
        }
        Some(self.memo.1)
    }

    /// `host ident user [time] "request" status bytes "referer" "agent"`; what comes after the time may be missing. Before the host
    /// there may be what syslog puts before a line, and the virtual host.
    fn access(&mut self, line: &[u8]) -> Option<(u64, ClientPlace)> {
        let start = syslog(line)?;
        let mut open = start + memchr::memchr(b' ', &line[start..]).filter(|end| *end > 0)?;
        // A user's name may have a bracket.
        let (time, close) = loop {
            open += 1 + memchr::memchr(b'[', &line[open + 1..])?;
            let close = open + 1 + memchr::memchr(b']', &line[open + 1..])?;
            if let Some(time) = self.memoized(&line[open + 1..close], time::access) {
                break (time, close);
            }
        };
        let (host, user) = client_and_user(line, start, open)?;
        let user = (user < open).then(|| user..open - 1);
        let key = match &self.by {
            By::Ip => Some(host),
            By::User => user,
            By::Path => request(line, close),
            By::Field(name) => field(line, name, host, user, close),
        };
        Some((time, key.map_or(ClientPlace::Nowhere, ClientPlace::Line)))
    }
}

/// Where the client stands, and where its user begins, between the start of a line and its time. None if that is uncertain.
fn client_and_user(line: &[u8], start: usize, open: usize) -> Option<(Range<usize>, usize)> {
    let word = |from: usize| from..memchr::memchr(b' ', &line[from..open]).map_or(open, |length| from + length);
    let first = word(start);
    let second = word((first.end + 1).min(open));
    // A list of addresses: the client wrote all but the last.
    if line[first.clone()].ends_with(b",") {
        return None;
    }
    let third = word((second.end + 1).min(open));
    let has_fourth = third.end + 1 < open;
    if line[second.clone()] == *b"-" || !has_fourth {
        return Some((first, second.end + 1));
    }
    // Four words, or a user with a space in the name: the virtual host comes first if the next one is the client.
    let [virtual_host, client] = [&first, &second].map(|word| &line[word.clone()]);
    if is_address(client) {
        // Of two bare addresses nobody knows which is which.
        return (!is_address(virtual_host) || has_port(virtual_host)).then(|| (second, third.end + 1));
    }
    let ident_is_empty = line[third.clone()] == *b"-";
    match (is_address(virtual_host), ident_is_empty) {
        (true, true) => Some((first, third.end + 1)),
        (true, false) => Some((first, second.end + 1)),
        (false, true) => Some((second, third.end + 1)),
        (false, false) => None,
    }
}

fn has_port(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|text| text.parse::<std::net::SocketAddr>().is_ok())
}

/// Where a line begins behind what syslog puts before it: `<190>May 17 10:05:03 web nginx[5]: ` (RFC 3164) or
/// `<190>1 2015-05-17T10:05:03Z web nginx 5 - - ` (RFC 5424), each also without the number in front. None if it begins like one of
/// them, and goes on otherwise.
fn syslog(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    if line.first() == Some(&b'<') {
        let digits = line[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=3).contains(&digits) || line.get(1 + digits) != Some(&b'>') {
            return None;
        }
        at = digits + 2;
    }
    let has_priority = at > 0;
    let rest = &line[at..];
    let is_5424 = has_priority && rest.starts_with(b"1 ");
    if is_5424 {
        at += 2;
    }
    let length = |from: usize| memchr::memchr(b' ', &line[from..]);
    let first = &line[at..at + length(at).unwrap_or(0)];
    if let Some(stamp) = line.get(at..at + 16)
        && !is_5424
        && time::bsd(&stamp[..15], u64::MAX).is_some()
    {
        at += 16;
    } else if time::iso(first).is_some() {
        at += first.len() + 1;
    } else if has_priority {
        return None;
    } else {
        return Some(0);
    }
    if is_5424 {
        // The host, the program, its process, and the kind of message.
        for _ in 0..4 {
            at += length(at)? + 1;
        }
        if line.get(at) == Some(&b'[') {
            at += memchr::memmem::find(&line[at..], b"] ")? + 2;
        } else {
            at += length(at)? + 1;
        }
        return Some(at + usize::from(line[at..].starts_with(b"\xef\xbb\xbf")) * 3);
    }
    Some(at + memchr::memmem::find(&line[at..], b": ")? + 2)
}

/// The quoted text after a place: where it is without its quotes.
fn quoted(line: &[u8], from: usize) -> Option<Range<usize>> {
    let start = from + memchr::memchr(b'"', line.get(from..)?)? + 1;
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(start..at);
        }
        at += 2;
    }
}

/// The request line.
fn request(line: &[u8], close: usize) -> Option<Range<usize>> {
    quoted(line, close)
}

/// A field of the combined format by its name, Apache's or nginx's.
fn field(
    line: &[u8],
    name: &str,
    host: Range<usize>,
    user: Option<Range<usize>>,
    close: usize,
) -> Option<Range<usize>> {
    let after = || quoted(line, close).map(|request| request.end + 1);
    // The words behind the request.
    let word = |number: usize| {
        let mut start = after()?;
        for _ in 0..=number {
            start += line.get(start..)?.iter().position(|byte| *byte != b' ')?;
            let end = memchr::memchr(b' ', &line[start..]).map_or(line.len(), |length| start + length);
            (start, _) = (end, start);
        }
        let begin = memchr::memrchr(b' ', &line[..start])? + 1;
        Some(begin..start)
    };
    match name {
        "ip" | "host" | "remote_addr" => Some(host),
        "user" | "remote_user" => user,
        "path" | "uri" | "request" => request(line, close),
        "method" => {
            let request = request(line, close)?;
            let length = memchr::memchr(b' ', &line[request.clone()])?;
            Some(request.start..request.start + length)
        }
        "status" => word(0),
        "bytes" | "body_bytes_sent" => word(1),
        "referer" | "http_referer" => quoted(line, after()?),
        "agent" | "user_agent" | "http_user_agent" => quoted(line, quoted(line, after()?)?.end + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
