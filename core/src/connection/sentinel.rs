//! Asking one Sentinel where the primary is.

use super::deadline::CallDeadline;
use super::dial::{Refused, next_reply, not_redis, open, send, unreachable};
use super::greeting::log_in;
use super::login;
use crate::base::credentials::{Password, Secret};
use crate::base::endpoint::Server;
use crate::base::endpoint::sentinels::Place;
use crate::base::error::{Code, Error, Result};
use crate::call::refusal;
use crate::call::resp::{self, Parser, Value};

/// Where this Sentinel has the primary of this name.
///
/// # Errors
/// `invalid_argument` if it knows no such primary, `not_permitted` if it does not let us in; else as a connection fails.
pub(super) fn ask(sentinel: &Server, name: &str, patience: &mut CallDeadline<'_>) -> Result<Place> {
    let secret = login::password(sentinel, None, patience)?;
    match attempt(sentinel, name, secret.as_ref(), patience) {
        Err(Refused::Password(error)) => match login::password(sentinel, secret.as_ref(), patience)? {
            Some(other) => attempt(sentinel, name, Some(&other), patience),
            None => Err(Refused::Password(error)),
        },
        told => told,
    }
    .map_err(|refused| match refused {
        Refused::Password(error) | Refused::Certificate(error) | Refused::Otherwise(error) => error,
    })
}

fn attempt(
    sentinel: &Server,
    name: &str,
    secret: Option<&Secret>,
    patience: &mut CallDeadline<'_>,
) -> std::result::Result<Place, Refused> {
    let mut stream = open(sentinel, patience)?;
    let mut out = Vec::new();
    if let Some(password) = secret {
        log_in(&mut out, sentinel, password);
    }
    resp::command(&mut out, &[b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name.as_bytes()]);
    send(&mut stream, &out, patience).map_err(|e| unreachable(sentinel, &e))?;
    let mut parser = Parser::default();
    if secret.is_some() {
        check(sentinel, name, &next_reply(&mut stream, &mut parser, sentinel, patience)?)?;
    }
    let reply = next_reply(&mut stream, &mut parser, sentinel, patience)?;
    check(sentinel, name, &reply)?;
    match &reply {
        Value::Nil => Err(unknown(sentinel, name).into()),
        Value::Array(parts) => match parts.as_slice() {
            [Value::Bytes(host), Value::Bytes(port)] => place(host, port),
            _ => None,
        }
        .ok_or_else(|| not_redis(sentinel, &format!("{reply:?}")).into()),
        other => Err(not_redis(sentinel, &format!("{other:?}")).into()),
    }
}

fn place(host: &[u8], port: &[u8]) -> Option<Place> {
    let (host, port) = (std::str::from_utf8(host).ok()?, std::str::from_utf8(port).ok()?);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty() && host.len() <= 255 && host.chars().all(fits)).then(|| (host.to_owned(), port))
}

fn unknown(sentinel: &Server, name: &str) -> Error {
    Error::invalid(format!("the Sentinel {sentinel} knows no primary called {name}: correct the name in the url"))
}

/// What its answer has against us.
fn check(sentinel: &Server, name: &str, reply: &Value) -> std::result::Result<(), Refused> {
    let Value::Error(text) = reply else { return Ok(()) };
    let denied = |message: String| Error::new(Code::NotPermitted, message);
    let code = text.split(' ').next().unwrap_or_default();
    let origin = match &sentinel.password {
        None | Some(Password::Fixed(_)) => "sentinel_user= and sentinel_password= in the url".to_owned(),
        Some(asked) => asked.origin(),
    };
    let error = match code {
        "NOAUTH" => {
            denied(format!("the Sentinel {sentinel} wants a password: give it as sentinel_password= in the url"))
        }
        _ if refusal::login(text, "", "").is_some() && text.contains("without any password") => denied(format!(
            "the Sentinel {sentinel} has no password set, but {origin} gives one: take it out, or set it on the Sentinel"
        )),
        _ if refusal::login(text, "", "").is_some() => {
            return Err(Refused::Password(denied(format!(
                "the Sentinel {sentinel} refused the user or password of {origin}: correct it"
            ))));
        }
        "NOPERM" => denied(format!(
            "the user of the Sentinel {sentinel} lacks a right: allow it with ACL SETUSER <user> \
             +sentinel|get-master-addr-by-name"
        )),
        "IDONTKNOW" => unknown(sentinel, name),
        _ if refusal::is_unknown_command(text) => Error::invalid(format!(
            "{sentinel} is no Sentinel: give the hosts and ports of Sentinels, or use redis:// for one server"
        )),
        _ => {
            let said = sentinel.quoted(text).map_or_else(String::new, |said| format!(" (\"{said}\")"));
            Error::new(Code::Unavailable, format!("the Sentinel {sentinel} refused the question for {name}{said}"))
        }
    };
    Err(error.into())
}
