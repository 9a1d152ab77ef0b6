//! Whose request a line is: by what requests are limited, and the name in the field that says it.

use std::ops::Range;

/// By what requests are limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The client's address.
    Ip,
    /// The user who logged in.
    User,
    /// The path, without the query.
    Path,
    /// A field of that name.
    Field(String),
}

impl By {
    /// Parses `ip`, `user`, `path` or `field:NAME`.
    pub fn parse(text: &str) -> Result<By, String> {
        match text {
            "ip" => Ok(By::Ip),
            "user" => Ok(By::User),
            "path" => Ok(By::Path),
            _ => match text.strip_prefix("field:").filter(|name| !name.is_empty()) {
                Some(name) => Ok(By::Field(name.to_owned())),
                None => Err("use ip, user, path or field:NAME".into()),
            },
        }
    }
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            By::Ip => f.write_str("ip"),
            By::User => f.write_str("user"),
            By::Path => f.write_str("path"),
            By::Field(name) => write!(f, "field:{name}"),
        }
    }
}

/// Where the name of the client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPlace {
    /// In the line.
    Line(Range<usize>),
    /// Outside of it, in [`Parser::decoded`](super::line::Parser::decoded), since the line wrote it with escapes.
    Decoded,
    /// Nowhere: the line names none.
    Nowhere,
}

/// Whether a word is an IP address, also with a port.
pub fn is_address(word: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(word) else { return false };
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    bare.unwrap_or(text).parse::<std::net::IpAddr>().is_ok() || text.parse::<std::net::SocketAddr>().is_ok()
}

/// The name of the client in what stands in its field: none for nothing or `-`, no port, no query.
pub fn named(line: &[u8], range: Range<usize>, by: &By) -> ClientPlace {
    let text = &line[range.clone()];
    let range = match by {
        By::Ip => range.start..range.start + without_port(text),
        By::Path => match path(text) {
            Some(path) => range.start + path.start..range.start + path.end,
            None => return ClientPlace::Nowhere,
        },
        By::User | By::Field(_) => range,
    };
    match &line[range.clone()] {
        b"" | b"-" => ClientPlace::Nowhere,
        // A socket of the same machine: the proxy's, not the client's.
        b"unix:" if *by == By::Ip => ClientPlace::Nowhere,
        _ => ClientPlace::Line(range),
    }
}

/// How long an address is without the port of `192.0.2.1:443`.
fn without_port(text: &[u8]) -> usize {
    match memchr::memchr(b':', text) {
        Some(colon) if memchr::memchr(b':', &text[colon + 1..]).is_none() && colon >= 7 => colon,
        _ if text.first() == Some(&b'[') => memchr::memchr(b']', text).map_or(text.len(), |end| end + 1),
        _ => text.len(),
    }
}

/// The path in `GET /a?b HTTP/1.1`, `/a?b` or `http://host/a?b`.
fn path(text: &[u8]) -> Option<Range<usize>> {
    let (start, end) = match memchr::memchr(b' ', text) {
        Some(space) => {
            let rest = &text[space + 1..];
            (space + 1, space + 1 + memchr::memrchr(b' ', rest).unwrap_or(rest.len()))
        }
        None => (0, text.len()),
    };
    let target = &text[start..end];
    let host = memchr::memmem::find(target, b"://").filter(|at| *at <= 5).map(|at| at + 3);
    let start = match host {
        Some(host) => start + host + memchr::memchr(b'/', &target[host..])?,
        None => start,
    };
    let length = memchr::memchr2(b'?', b'#', &text[start..end]).unwrap_or(end - start);
    text.get(start).filter(|first| matches!(first, b'/' | b'*')).map(|_| start..start + length)
}
