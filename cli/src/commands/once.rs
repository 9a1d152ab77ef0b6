//! `once`: whether something was done, and when.

use std::ffi::OsString;

use clap::Args;
use quotalock::stored::KeyKind;

use crate::exit::{Exit, Failure};
use crate::shared::SharedArguments;
use crate::words::bytes;

/// What `once` is asked.
#[derive(Args)]
pub struct OnceArguments {
    /// The name of the once
    name: String,
    /// The id
    id: OsString,
}

/// Runs the command.
pub fn run(arguments: &OnceArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    super::cache::tell(shared, KeyKind::Once, &arguments.name, bytes(&arguments.id))
}
