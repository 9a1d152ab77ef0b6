//! `explain`: a policy in words, with its worst cases.

use clap::Args;
use quotalock::Policy;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::shared::SharedArguments;
use crate::worst::Explained;

/// What `explain` is asked.
#[derive(Args)]
pub struct ExplainArguments {
    /// The policy, such as '10/minute;100/hour'
    policy: String,
}

/// Runs the command.
pub fn run(arguments: ExplainArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let explained = Explained::of(&Policy::parse(&arguments.policy)?)?;
    answer(shared, &explained.to_string(), &json!(explained))?;
    Ok(Exit::Fine)
}
