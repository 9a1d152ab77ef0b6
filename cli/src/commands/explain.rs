//! `explain`: a policy in words, with its worst cases.

use clap::Args;
use quotalock::Policy;
use serde_json::json;

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::worst::Explained;

/// What `explain` is asked.
#[derive(Args)]
pub struct Arguments {
    /// The policy, such as '10/minute;100/hour'
    policy: String,
}

/// Runs the command.
pub fn run(arguments: Arguments, shared: &Shared) -> Result<Exit, Failure> {
    let explained = Explained::of(&Policy::parse(&arguments.policy)?)?;
    answer(shared, &explained.to_string(), &json!(explained))?;
    Ok(Exit::Fine)
}
