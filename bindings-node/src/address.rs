//! Whose request it is.

use napi_derive::napi;
use quotalock::convert;

use crate::error::{Result, thrown};

/// The address of the client that sent a request, from the socket and what trusted proxies told.
#[napi(catch_unwind)]
pub fn client_address(peer: String, forwarded: Vec<String>, trusted: Vec<String>, ipv6_prefix: f64) -> Result<String> {
    let forwarded: Vec<&str> = forwarded.iter().map(String::as_str).collect();
    let trusted: Vec<&str> = trusted.iter().map(String::as_str).collect();
    let prefix = convert::unsigned_float("ipv6Prefix", ipv6_prefix);
    prefix.and_then(|prefix| quotalock::client_address(&peer, &forwarded, &trusted, prefix)).map_err(thrown)
}
