//! Whose request it is.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::argument::{kind, shown, text, whole};
use crate::error::raised;

/// The address of the client that sent a request, from the socket and what trusted proxies told.
#[pyfunction]
#[pyo3(signature = (peer, forwarded, trusted, ipv6_prefix = None),
       text_signature = "(peer, forwarded, trusted, ipv6_prefix=64)")]
pub fn client_address(
    peer: Option<&Bound<'_, PyAny>>,
    forwarded: Option<&Bound<'_, PyAny>>,
    trusted: &Bound<'_, PyAny>,
    ipv6_prefix: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let py = trusted.py();
    let peer = peer.map_or(Ok(""), |peer| text("peer", peer.as_borrowed(), shown))?;
    let forwarded = match forwarded {
        None => Vec::new(),
        Some(line) if line.is_instance_of::<PyString>() => vec![line.clone()],
        Some(lines) => several("forwarded", lines)?,
    };
    let trusted = several("trusted", trusted)?;
    let forwarded = texts("forwarded", &forwarded)?;
    let trusted = texts("trusted", &trusted)?;
    let prefix = ipv6_prefix.map(|prefix| whole("ipv6_prefix", prefix.as_borrowed())).transpose()?;
    let prefix = prefix.unwrap_or(quotalock::DEFAULT_IPV6_PREFIX);
    quotalock::client_address(peer, &forwarded, &trusted, prefix).map_err(|error| raised(py, &error))
}

fn texts<'a>(what: &str, given: &'a [Bound<'_, PyAny>]) -> PyResult<Vec<&'a str>> {
    given.iter().map(|each| text(what, each.as_borrowed(), shown)).collect()
}

/// The items of a list of `str`.
fn several<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let refused = || PyTypeError::new_err(format!("{what} {} is {}: give a list of str", shown(given), kind(given)));
    // A text is a list of letters, but hardly meant as one.
    if given.is_instance_of::<PyString>() {
        return Err(refused());
    }
    given.try_iter().map_err(|_| refused())?.collect()
}
