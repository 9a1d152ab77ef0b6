//! Why a server did not do what it was asked, in words.

use quotalock::places::Place;
use redis::{ErrorKind, RedisError};

use crate::exit::{Exit, Failure};

/// What kind of refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// It cannot be reached, or did not answer in time.
    Away,
    /// It does not let us in.
    Login,
    /// The user lacks a right.
    Right,
    /// It does not know the command, or not in this form.
    Unknown,
    /// The key is on another server.
    Moved,
    /// Anything else that it said.
    Other,
}

/// Why a server did not do what it was asked.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What kind it is.
    pub why: RefusalKind,
    /// What happened, with the host, and what to do.
    pub message: String,
}

impl Refusal {
    /// What the driver reports of this server.
    pub fn of(place: &Place, error: &RedisError) -> Refusal {
        let code = error.code().unwrap_or_default();
        let said = || crate::printable::shown(place.scrubbed(error.detail().unwrap_or_default()).as_bytes());
        let is_login =
            matches!(error.kind(), ErrorKind::AuthenticationFailed) || matches!(code, "NOAUTH" | "WRONGPASS");
        let (why, message) = if is_login {
            let origin = place.login_origin();
            (RefusalKind::Login, format!("{place} does not let us in: check user and password in {origin}"))
        } else if error.is_timeout() {
            (RefusalKind::Away, format!("{place} did not answer in time: see whether it is busy, or the network slow"))
        } else if error.is_connection_refusal() {
            (RefusalKind::Away, format!("{place} refused the connection: see whether Redis runs there"))
        } else if error.is_io_error() || error.is_connection_dropped() {
            let reason = crate::printable::shown(place.scrubbed(&error.to_string()).as_bytes());
            (RefusalKind::Away, format!("{place} cannot be reached: {reason}"))
        } else if code == "NOPERM" {
            (RefusalKind::Right, format!("{place}: the user lacks a right: {}", said()))
        } else if matches!(code, "MOVED" | "ASK" | "CROSSSLOT" | "TRYAGAIN") {
            (RefusalKind::Moved, format!("{place}: the key is on another server"))
        } else if said().to_ascii_lowercase().contains("unknown") {
            (RefusalKind::Unknown, format!("{place}: {}", said()))
        } else {
            let label = if code.is_empty() { String::new() } else { format!("{code} ") };
            (RefusalKind::Other, format!("{place}: {label}{}", said()))
        };
        Refusal { why, message }
    }

    /// What is wrong with an answer that is none.
    pub fn odd(place: &Place, what: &str) -> Refusal {
        Refusal { why: RefusalKind::Other, message: format!("{place} answers {what} as Redis never does") }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let (exit, code) = match refusal.why {
            RefusalKind::Away => (Exit::NoServer, "unavailable"),
            RefusalKind::Login | RefusalKind::Right => (Exit::NoServer, "not_permitted"),
            _ => (Exit::NoServer, "refused"),
        };
        Failure { exit, code, message: refusal.message }
    }
}
