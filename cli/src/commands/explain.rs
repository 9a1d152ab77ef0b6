//! `explain`: a policy in words, with its worst cases.

use clap::Args;
use quotalock::Policy;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::shared::SharedArguments;
use crate::worst::Explained;

const EXAMPLES: &str = "Examples:
  quotalock explain '10/minute;100/hour'               two rules
  quotalock explain 'token-bucket 10/s capacity 50'    10 per second, and bursts of 50";

/// What `explain` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
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
