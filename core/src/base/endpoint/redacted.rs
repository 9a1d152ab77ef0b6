//! What of a URL may be shown.

use super::{database_of, host_and_port, is_scheme, sentinels};
use crate::base::error::cut;

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
        "redis+sentinel" | "rediss+sentinel" => sentinels::is_place(authority, database),
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
