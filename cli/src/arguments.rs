//! What stands on the command line.

use clap::Parser;

use crate::commands::Command;
use crate::shared::SharedArguments;

/// Inspect, monitor and repair rate limits, locks, stocks and caches in Redis.
///
/// Exit codes: 0 success, 1 a problem was found, 2 wrong usage, 3 no server is reachable, 10 denied.
#[derive(Parser)]
#[command(name = "quotalock", version, about, long_about)]
pub struct CommandLine {
    /// What all commands know.
    #[command(flatten)]
    pub shared: SharedArguments,
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
}
