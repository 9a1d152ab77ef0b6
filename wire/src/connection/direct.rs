//! Dialing a server that has its place: connect, log in, and hear that it is a Redis server, and in which role.

use super::deadline::CallDeadline;
use super::greeting::{Role, greet};
use super::login;
use super::open::{Connection, DialError, open};
use super::trust;
use crate::base::endpoint::{Address, Server};
use crate::base::error::Result;

/// Connects, logs in and asks the time, all within the caller's patience. What the server refuses is read again, once, where
/// it comes from a file or a function.
pub(super) fn dial_as(server: &Server, role: Role, patience: &mut CallDeadline<'_>) -> Result<Connection> {
    if let Some(error) = server.distrusted() {
        return Err(error);
    }
    let secret = login::password(server, None, patience)?;
    let again = match open(server, patience).and_then(|stream| greet(stream, server, role, secret.as_ref(), patience)) {
        Ok(connection) => return Ok(connection),
        Err(DialError::Otherwise(error)) => return Err(error),
        Err(DialError::Password(error)) => match login::password(server, secret.as_ref(), patience)? {
            Some(other) => Some(other),
            None => return Err(error),
        },
        Err(DialError::Certificate(error)) => match &server.address {
            Address::Tls { files, .. } if trust::renew(files) => secret,
            _ => return Err(error),
        },
    };
    match open(server, patience).and_then(|stream| greet(stream, server, role, again.as_ref(), patience)) {
        Ok(connection) => Ok(connection),
        Err(DialError::Password(error) | DialError::Certificate(error) | DialError::Otherwise(error)) => Err(error),
    }
}
