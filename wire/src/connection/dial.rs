//! Making a connection to any server: one that has its place, or a primary that is searched first. Blocking, within a deadline;
//! drivers that must not block dial on a thread that lives as long as the attempt.

use super::deadline::CallDeadline;
use super::direct::dial_as;
use super::greeting::Role;
use super::open::{Connection, hanging};
use super::{login, search};
use crate::base::endpoint::{Address, Server};
use crate::base::error::{Error, Result};

/// Connects, logs in and asks the time, all within the caller's patience. What the server refuses is read again, once, where
/// it comes from a file or a function.
pub(crate) fn dial(server: &Server, patience: &mut CallDeadline<'_>) -> Result<Connection> {
    match &server.address {
        Address::Watched(watched) => search::dial(server, watched, patience),
        _ => dial_as(server, Role::Any, patience),
    }
}

/// The error of who does not wait any longer for a dial that another thread is at.
pub(crate) fn overdue(server: &Server) -> Error {
    let searched = || match &server.address {
        Address::Watched(watched) => search::overdue(watched),
        _ => None,
    };
    login::overdue(server).or_else(searched).unwrap_or_else(|| hanging(server))
}
