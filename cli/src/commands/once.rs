//! `once`: whether something was done, and when.

use std::ffi::OsString;

use clap::Args;
use quotalock::stored::KeyKind;

use crate::exit::{Exit, Failure};
use crate::shared::SharedArguments;
use crate::words::bytes;

const EXAMPLES: &str = "Examples:
  quotalock once webhooks evt_1               whether the webhook evt_1 was handled
  quotalock once reports 2026-11-29 --json    whether the report was made, for a script";

/// What `once` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
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
