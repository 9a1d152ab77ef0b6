//! `Quotalock\client_address()`: whose request it is.

use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;
use quotalock::{Code, Error};

use crate::argument::{Int, Lines, Names, OrNull, Text};
use crate::exception::Outcome;
use crate::property::Bytes;

const PREFIX: i64 = quotalock::DEFAULT_IPV6_PREFIX as i64;

/// The address of the client that sent a request, from the socket and what trusted proxies told.
#[php_function]
#[php(name = "Quotalock\\client_address", defaults(ipv6Prefix = PREFIX))]
pub fn client_address(peer: OrNull<Text>, forwarded: Lines, trusted: Names, ipv6Prefix: Int) -> Outcome<Bytes> {
    let found = {
        let peer = peer.0.map(|peer| peer.utf8(1, "peer")).transpose()?.unwrap_or_default();
        let (forwarded, trusted) = (forwarded.get(2)?, trusted.listed(3, "trusted")?);
        let (forwarded, trusted) = (texts("forwarded", &forwarded)?, texts("trusted", &trusted)?);
        quotalock::client_address(&peer, &forwarded, &trusted, ipv6Prefix.unsigned(4, "ipv6Prefix")?)?
    };
    Ok(Bytes(found.into_bytes()))
}

fn texts<'a>(what: &str, given: &'a [Vec<u8>]) -> quotalock::Result<Vec<&'a str>> {
    let refused = |_| Error::new(Code::InvalidArgument, format!("{what} is not UTF-8: encode it"));
    given.iter().map(|text| std::str::from_utf8(text).map_err(refused)).collect()
}

/// What the module registers.
pub fn entry() -> FunctionBuilder<'static> {
    wrap_function!(client_address)
}
