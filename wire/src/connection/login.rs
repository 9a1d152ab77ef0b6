//! The password of a new connection: known, or asked for on a thread of its own, since a file or a function may hang.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;

use super::deadline::{CallDeadline, interruption};
use crate::base::credentials::{Password, PasswordQuery, Secret, Wanted};
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result};
use crate::base::thread::on_thread;

/// What to log in with; another one than the server `refused`, if one was. None if there is none, or no other.
///
/// # Errors
/// `not_permitted` if what should tell it cannot; `timeout` if it takes too long.
pub(super) fn password(
    server: &Server,
    refused: Option<&Secret>,
    patience: &mut CallDeadline<'_>,
) -> Result<Option<Secret>> {
    let told = match &server.password {
        None => return Ok(None),
        Some(Password::Fixed(secret)) => Some(secret.clone()),
        Some(Password::Asked(asked)) => Some(ask(asked, server, refused, patience)?),
    };
    Ok(told.filter(|secret| Some(secret) != refused))
}

fn ask(
    asked: &Arc<PasswordQuery>,
    server: &Server,
    refused: Option<&Secret>,
    patience: &mut CallDeadline<'_>,
) -> Result<Secret> {
    let (answer, ask, _waits) = match asked.want(refused) {
        Wanted::Here(secret) => return Ok(secret),
        Wanted::Coming { told, ask, waits } => (told, ask, waits),
    };
    if asked.is_answered_elsewhere() {
        ask.into_iter().for_each(|number| asked.ask(number));
        asked.remind();
        // This may be the thread that can answer.
        patience.look().map_err(|e| gave_up(asked, server, &e))?;
    } else if let Some(number) = ask {
        let teller = asked.clone();
        if let Err(error) = on_thread("quotalock-login", move || teller.ask(number)) {
            // Whoever joined meanwhile finds that nobody is there to tell.
            asked.tell(number, &Err(error.message().to_owned().into()));
            return Err(error);
        }
    }
    loop {
        match answer.recv_timeout(patience.slice()) {
            Ok(Ok(secret)) => return Ok(secret),
            Ok(Err(untold)) => {
                let message = format!("{asked} returned no password for {server} ({}): correct it", untold.why);
                return Err(Error::new(Code::NotPermitted, message).caused_by(untold.cause));
            }
            Err(RecvTimeoutError::Timeout) => patience.look().map_err(|e| gave_up(asked, server, &e))?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(Code::Internal, format!("{asked} was interrupted")));
            }
        }
    }
}

/// The error of who waited for a password no longer.
fn gave_up(asked: &PasswordQuery, server: &Server, why: &io::Error) -> Error {
    match why.kind() {
        ErrorKind::Interrupted => interruption(),
        _ => untold(asked, server),
    }
}

/// The error for a new connection that waits for its password for too long; none if it waits for something else.
pub(super) fn overdue(server: &Server) -> Option<Error> {
    match &server.password {
        Some(Password::Asked(asked)) if asked.is_open() => Some(untold(asked, server)),
        _ => None,
    }
}

fn untold(asked: &PasswordQuery, server: &Server) -> Error {
    let message = format!("{asked} told no password for {server} in time: is it hanging, or is the timeout too short?");
    Error::new(Code::Timeout, message)
}
