//! The parts of a URL as text: reading them, and what of a URL a message may show.

/// The port of a Sentinel unless another is given.
pub(crate) const SENTINEL_PORT: u16 = 26_379;
/// The longest name of a primary, in bytes.
pub(crate) const MAX_PRIMARY_NAME: usize = 255;

/// The URL without what may be a password: everything before the last `@` but the scheme, the query, a scheme that is
/// none of those people use, and a place that is no host with a port, or no path.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
        // Without a scheme it may be the password alone, but not if it has a port.
        let is_place = url.contains(':') && host_and_port(url, 0).is_ok();
        return if is_place { cut(url) } else { "***".into() };
    };
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("***@", rest));
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?***"));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let is_sound = match scheme {
        "unix" => place.starts_with('/') && !place.contains(['%', '#', ':']),
        "memory" => place.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')),
        "redis+sentinel" | "rediss+sentinel" => is_place_of_sentinels(authority, database),
        _ => is_authority(scheme, authority) && !authority.contains('%') && database_of(database, false).is_ok(),
    };
    // An '@' that was encoded has no login before it.
    let place = if is_sound && !url.contains("%40") { place } else { "***" };
    cut(&format!("{scheme}://{login}{place}{query}"))
}

/// Whether this is a host with a port, or several where the scheme takes several.
fn is_authority(scheme: &str, authority: &str) -> bool {
    match scheme.ends_with("+cluster") {
        true => authority.split(',').all(|host| host_and_port(host, 0).is_ok()),
        false => host_and_port(authority, 0).is_ok(),
    }
}

/// Whether a message may show a scheme: what stands there instead may be anything.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.len() <= 16 && text.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'+' | b'-' | b'.'))
}

/// Whether a message may show this as the place of a URL.
fn is_place_of_sentinels(authority: &str, path: &str) -> bool {
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    let hosts = authority.split(',').all(|host| !host.contains('%') && host_and_port(host, SENTINEL_PORT).is_ok());
    hosts && (name.is_empty() || is_name_of_primary(name)) && database_of(database, false).is_ok()
}

pub(crate) fn is_name_of_primary(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !name.is_empty() && name.len() <= MAX_PRIMARY_NAME && name.bytes().all(is_plain)
}

/// The number of a database; 0 if none is given. A message shows what is none only if it is `apart` from what may be a login.
pub(crate) fn database_of(digits: &str, apart: bool) -> std::result::Result<u32, String> {
    if digits.is_empty() {
        return Ok(0);
    }
    let number = digits.parse().ok().filter(|number| *number < 1 << 16 && digits.bytes().all(|b| b.is_ascii_digit()));
    number.ok_or_else(|| {
        let is_plain =
            digits.len() <= 16 && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
        let shown = if apart && is_plain { digits } else { "***" };
        format!("has the database \"{shown}\", which is not a number: use 0 to 15")
    })
}

/// The host and the port of `host[:port]`, which may be percent-encoded.
pub(crate) fn host_and_port(authority: &str, default_port: u16) -> std::result::Result<(String, u16), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']').ok_or("has a '[' without ']': write an IPv6 host as [::1]")?;
            match after {
                "" => (host, None),
                _ => (host, Some(after.strip_prefix(':').ok_or("has something odd after ']': write [::1]:6379")?)),
            }
        }
        None if authority.matches(':').count() > 1 => {
            return Err("has several ':' in a host: write IPv6 as [::1]:6379, and '@' after a login".into());
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("has no host: write it as redis://127.0.0.1:6379".into());
    }
    let port = match port {
        None => default_port,
        Some(digits) => digits.parse::<u16>().ok().filter(|p| *p > 0).ok_or_else(|| {
            // What is no number, or a long one, may be a password whose '@' was forgotten, or encoded.
            let is_number = digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit());
            let shown = if is_number { digits } else { "***" };
            format!("has the port \"{shown}\", which is not one: use a number from 1 to 65535, and '@' after a login")
        })?,
    };
    let host = decoded(host)?;
    let is_v6 = authority.starts_with('[');
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_') || (is_v6 && matches!(c, ':' | '%'));
    if !host.chars().all(fits) {
        return Err("has an invalid host: write it as redis://127.0.0.1:6379, with '@' after a login".into());
    }
    Ok((host, port))
}

/// What a percent-encoded part of a URL says.
pub(crate) fn decoded(text: &str) -> std::result::Result<String, String> {
    let bad = || "has a '%' that is not followed by two hexadecimal digits: write % as %25".to_owned();
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = after.get(..2).filter(|d| d.iter().all(u8::is_ascii_hexdigit)).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        out.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = &after[2..];
    }
    String::from_utf8(out).map_err(|_| "has bytes that are not UTF-8 behind its '%'".to_owned())
}

/// Text, cut at 60 characters.
pub(crate) fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_its_password() {
        for (url, shown) in [
            ("host:6379", "host:6379"),
            ("s3cret", "***"),
            ("redis://:s3cret@host:1/2", "redis://***@host:1/2"),
            ("redis://host:1?password=s3cret", "redis://host:1?***"),
            ("unix:///run/redis.sock", "unix:///run/redis.sock"),
            ("unix://s3cret/redis.sock", "unix://***"),
            ("unix:///run/s3%2Fcret", "unix://***"),
            ("unix:///run/s3:cret", "unix://***"),
            ("memory://own-name_1.2", "memory://own-name_1.2"),
            ("memory://s3/cret", "memory://***"),
            ("redis+sentinel://a,b:1/main/2", "redis+sentinel://a,b:1/main/2"),
            ("redis+sentinel://a/s3:cret", "redis+sentinel://***"),
            ("redis://host:s3cret", "redis://***"),
            ("redis://host/s3cret", "redis://***"),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
    }

    #[test]
    fn a_primary_has_a_plain_name() {
        let long = "x".repeat(MAX_PRIMARY_NAME);
        assert!(["main", "a.b-c_9", &long].into_iter().all(is_name_of_primary));
        assert!(!["", "a b", "a/b", &format!("{long}x")].into_iter().any(is_name_of_primary));
    }
}
