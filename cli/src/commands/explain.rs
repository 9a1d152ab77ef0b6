//! `explain`: a policy in words, with its worst cases.

use std::io::{self, Write};

use clap::Args;
use quotalock::Policy;
use serde_json::json;

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
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
    let mut out = anstream::stdout();
    let written = match shared.json {
        true => writeln!(out, "{}", json!(explained)),
        false => write!(out, "{explained}"),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure { exit: Exit::Findings, code: "not_written", message: format!("cannot write: {error}") })
        }
        _ => Ok(Exit::Fine),
    }
}
