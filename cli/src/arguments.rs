//! What stands on the command line.

use clap::{Args, Parser};

use crate::commands::Command;

/// See, find and mend what limits and locks do on Redis.
///
/// Exit codes: 0 fine, 1 findings, 2 wrong usage, 3 no server, 10 denied.
#[derive(Parser)]
#[command(name = "quotalock", version, about, long_about)]
pub struct Arguments {
    /// What all commands know.
    #[command(flatten)]
    pub shared: Shared,
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
}

/// What all commands know.
#[derive(Args)]
pub struct Shared {
    /// The server: redis://, rediss://, redis+cluster://, redis+sentinel:// or unix://
    #[arg(long, global = true, env = quotalock::URL_VARIABLE, default_value = quotalock::DEFAULT_URL, hide_env_values = true)]
    pub url: String,
    /// What the names of all keys begin with
    #[arg(long, global = true, default_value = quotalock::DEFAULT_PREFIX)]
    pub prefix: String,
    /// Print JSON, for scripts
    #[arg(long, global = true)]
    pub json: bool,
}
