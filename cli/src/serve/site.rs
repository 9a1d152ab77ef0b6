//! What all paths share, and the form of their answers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::watch;

use super::api::Problem;
use super::live::LiveView as Live;
use super::sessions::Sessions;
use super::writes::Writes;
use crate::output;

/// What all paths share.
pub struct Site {
    /// Who may look.
    pub sessions: Sessions,
    /// What may be changed.
    pub writes: Writes,
    /// The newest state.
    pub live: watch::Receiver<Arc<Live>>,
    /// Whether the program is to end.
    pub ended: watch::Receiver<bool>,
    /// The hosts by which a browser may call us.
    pub hosts: Vec<String>,
    /// The name of the cookie: of each port another, since browsers tell ports of a machine not apart.
    pub cookie: String,
    /// How many browsers are told of states.
    pub browsers: AtomicUsize,
}

/// The address that a request came from.
#[derive(Clone, Copy, Debug)]
pub struct From(pub SocketAddr);

impl From {
    /// The address, as one of IPv4 where it is one.
    pub fn ip(self) -> IpAddr {
        self.0.ip().to_canonical()
    }
}

/// What is answered when something cannot be.
pub fn problem(status: StatusCode, code: &'static str, message: impl Into<String>) -> Response {
    (status, json(&Problem { code, message: message.into() })).into_response()
}

/// JSON whose names cannot speak to a terminal either, as the program prints it.
pub fn json(value: &impl Serialize) -> Response {
    match serde_json::to_value(value) {
        Ok(value) => ([(CONTENT_TYPE, "application/json")], output::plain(&value.to_string())).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
