//! The commands, each in its file.

mod explain;
mod simulate;

use clap::Subcommand;

use crate::arguments::Shared;
use crate::doctor;
use crate::exit::{Exit, Failure};

/// What is to be done.
#[derive(Subcommand)]
pub enum Command {
    /// Finds what is stuck or will be: keys without a TTL, negative counters, servers that are not well
    Doctor(doctor::Arguments),
    /// Says in words what a policy admits, and its worst cases
    Explain(explain::Arguments),
    /// Replays access logs through policies: who would have been denied
    Simulate(simulate::Arguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self, shared: &Shared) -> Result<Exit, Failure> {
        match self {
            Command::Doctor(arguments) => doctor::run(arguments, shared),
            Command::Explain(arguments) => explain::run(arguments, shared),
            Command::Simulate(arguments) => simulate::run(arguments, shared),
        }
    }
}
