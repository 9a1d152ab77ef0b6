//! The first words on a new connection: who we are, and whether the other is who we want.

use std::time::Instant;

use super::deadline::CallDeadline;
use super::open::{Connection, DialError, broke, next_reply, not_redis, send, unavailable};
use super::stream::Stream;
use crate::base::clock::ServerClock;
use crate::base::credentials::Secret;
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result};
use crate::call::refusal;
use crate::call::resp::{self, Parser, Reply};

/// What tells a server who we are, of which it may think what it likes.
const TELLING: &str = "client";

/// What a server has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Any,
    /// It says itself that it is no replica.
    Primary,
}

/// Logs in, tells who we are, selects the database and asks the time, in one write.
pub(super) fn greet(
    mut stream: Stream,
    server: &Server,
    role: Role,
    secret: Option<&Secret>,
    patience: &mut CallDeadline<'_>,
) -> std::result::Result<Connection, DialError> {
    let mut out = Vec::new();
    let mut asked: Vec<&str> = Vec::new();
    if let Some(password) = secret {
        log_in(&mut out, server, password);
        asked.push("auth");
    }
    for words in [
        ["SETNAME", &server.client_name, ""],
        ["SETINFO", "LIB-NAME", "quotalock"],
        ["SETINFO", "LIB-VER", env!("CARGO_PKG_VERSION")],
    ] {
        let words = words.map(str::as_bytes);
        let words = words.split(|word| word.is_empty()).next().unwrap_or_default();
        resp::command(&mut out, &[&[b"CLIENT".as_slice()], words].concat());
        asked.push(TELLING);
    }
    if server.database != 0 {
        resp::command(&mut out, &[b"SELECT", server.database.to_string().as_bytes()]);
        asked.push("select");
    }
    if role == Role::Primary {
        resp::command(&mut out, &[b"ROLE"]);
        asked.push("role");
    }
    resp::command(&mut out, &[b"TIME"]);
    asked.push("time");

    if let Err(error) = send(&mut stream, &out, patience) {
        return Err(broke(server, &stream.last_words().unwrap_or(error)));
    }
    let mut parser = Parser::default();
    let (mut time, mut said) = (None, None);
    for command in asked {
        let reply = match (next_reply(&mut stream, &mut parser, server, patience), said.take()) {
            // What a server says before it hangs up is no answer to what was asked first.
            (Err(DialError::Otherwise(error)), Some(said)) if error.code() == Code::Unavailable => {
                return Err(check(server, TELLING, said).err().unwrap_or(DialError::Otherwise(error)));
            }
            (reply, _) => reply?,
        };
        // Older servers do not know how to be told who we are, and some users may not tell it.
        match command {
            TELLING => said = Some(reply),
            "role" => be_primary(server, &check(server, command, reply)?)?,
            _ => time = Some(check(server, command, reply)?),
        }
    }
    let clock = time.as_ref().and_then(micros).map(|micros| ServerClock::new(micros, Instant::now()));
    let clock = clock.ok_or_else(|| not_redis(server, &format!("{time:?}")))?;
    // What nobody asked for would be taken for the answer to the first call.
    if !parser.is_empty() {
        return Err(not_redis(server, "more than was asked for").into());
    }
    Ok(Connection { stream, clock, epoch: 0 })
}

/// Encodes the login.
pub(super) fn log_in(out: &mut Vec<u8>, server: &Server, password: &Secret) {
    match &server.user {
        Some(user) => resp::command(out, &[b"AUTH", user.as_bytes(), password.expose().as_bytes()]),
        None => resp::command(out, &[b"AUTH", password.expose().as_bytes()]),
    }
}

/// Whether this answer to ROLE is a primary's.
pub(crate) fn be_primary(server: &Server, answer: &Reply) -> Result<()> {
    let Reply::Array(parts) = answer else { return Err(not_redis(server, &format!("{answer:?}"))) };
    match parts.first() {
        Some(Reply::Bytes(role)) if role == b"master" => Ok(()),
        Some(Reply::Bytes(role)) if role == b"slave" => Err(Error::new(
            Code::Unavailable,
            format!("{server} is a replica, though a Sentinel names it as the primary: is a failover under way?"),
        )),
        _ => Err(not_redis(server, &format!("{answer:?}"))),
    }
}

fn check(server: &Server, command: &str, reply: Reply) -> std::result::Result<Reply, DialError> {
    let Reply::Error(text) = reply else { return Ok(reply) };
    let host = server.to_string();
    if let Some(error) = refusal::login(&text, &host, &server.login_origin()) {
        return Err(DialError::Password(error));
    }
    Err(refused(server, command, &text, &host).into())
}

/// The error for a first command that was refused.
fn refused(server: &Server, command: &str, text: &str, host: &str) -> Error {
    if text.starts_with("NOPERM") {
        return refusal::not_permitted(text, None, host);
    }
    if refusal::is_unknown_command(text) {
        let advice = match command {
            "select" => "or the server has only one database: remove the database from the url, or restore the command",
            _ => "or this is not Redis: restore the command, or correct the url",
        };
        let message = format!("{host} does not know the command '{command}': it was renamed there, {advice}");
        return Error::new(Code::NotPermitted, message);
    }
    let said = server.quoted(text).map_or_else(String::new, |said| format!(" (\"{said}\")"));
    if command == "select" {
        let database = server.database;
        let what = if text.contains("out of range") { "does not exist" } else { "cannot be selected" };
        return Error::invalid(format!("database {database} {what} on {host}{said}: give another number"));
    }
    if text.starts_with("ERR max number of clients") {
        return unavailable(server, "it has no connection left: raise maxclients or use fewer processes");
    }
    unavailable(server, &format!("it refused the first commands{said}"))
}

fn micros(time: &Reply) -> Option<i64> {
    let Reply::Array(parts) = time else { return None };
    let number = |part: &Reply| match part {
        Reply::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    match parts.as_slice() {
        [seconds, micros] => number(seconds)?.checked_mul(1_000_000)?.checked_add(number(micros)?),
        _ => None,
    }
}
