//! What every request must have, and every answer gets.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::site::{Site, problem};

/// How long an answer may take, the body of a request included. What follows each other in an event stream is no answer.
const WITHIN: Duration = Duration::from_secs(20);

/// Nothing is loaded from elsewhere, runs inline, or is shown in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const HEADERS: [(HeaderName, HeaderValue); 7] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Lets through what may pass, and gives the answer its headers.
pub async fn look(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&site, &request) {
        Some(refused) => refused,
        None => tokio::time::timeout(WITHIN, next.run(request))
            .await
            .unwrap_or_else(|_| problem(StatusCode::REQUEST_TIMEOUT, "timeout", "this took too long")),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

fn refusal(site: &Site, request: &Request) -> Option<Response> {
    let Some(host) = text(request.headers(), &HOST).filter(|host| is_ours(site, host)) else {
        // A page of somebody else whose name was made to lead here calls us by that name.
        let message = "this is not called by a name that it knows: use the address that it printed, or give --host";
        return Some(problem(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message));
    };
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_safe && !text(request.headers(), &ORIGIN).is_some_and(|origin| is_origin(origin, host)) {
        let message = "the header Origin does not say that a page of this server asks";
        return Some(problem(StatusCode::FORBIDDEN, "wrong_origin", message));
    }
    None
}

/// The one header of a name.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

fn is_ours(site: &Site, host: &str) -> bool {
    let name = bare(host);
    site.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A host without its port.
pub fn bare(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn is_origin(origin: &str, host: &str) -> bool {
    let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    place.is_some_and(|place| place.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::{bare, is_origin};

    #[test]
    fn a_host_has_a_port_or_not() {
        for (host, name) in [
            ("localhost:7070", "localhost"),
            ("localhost", "localhost"),
            ("[::1]:7070", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:70x", "evil.example:70x"),
        ] {
            assert_eq!(bare(host), name);
        }
    }

    #[test]
    fn an_origin_is_ours_if_it_is_the_host() {
        assert!(is_origin("http://localhost:7070", "localhost:7070") && is_origin("https://a.example", "A.example"));
        for other in ["null", "http://evil.example", "http://localhost", "localhost:7070", "http://localhost:7070.evil"]
        {
            assert!(!is_origin(other, "localhost:7070"), "{other}");
        }
    }
}
