//! `explain`: a policy in words.

use anstream::println;
use clap::Args;
use quotalock::Policy;

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};

/// What `explain` is asked.
#[derive(Args)]
pub struct Arguments {
    /// The policy, such as '10/minute;100/hour'
    policy: String,
}

/// Runs the command.
pub fn run(arguments: Arguments, _shared: &Shared) -> Result<Exit, Failure> {
    let policy = Policy::parse(&arguments.policy)?;
    println!("{policy}");
    Ok(Exit::Fine)
}
