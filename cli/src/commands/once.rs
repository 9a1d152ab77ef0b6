//! `once`: whether something was done, and when.

use std::ffi::OsString;

use clap::Args;
use quotalock::stored::KeyKind;

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
use crate::words::bytes;

/// What `once` is asked.
#[derive(Args)]
pub struct Arguments {
    /// The name of the once
    name: String,
    /// The id
    id: OsString,
}

/// Runs the command.
pub fn run(arguments: &Arguments, shared: &Shared) -> Result<Exit, Failure> {
    super::cache::tell(shared, KeyKind::Once, &arguments.name, bytes(&arguments.id))
}
