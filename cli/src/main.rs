//! `quotalock`: what the person on call asks about limits, locks, sales and caches on a Redis.
//!
//! Each command is a file in `commands`. It gets its arguments and what all commands share, writes its findings by
//! [`output`], and returns an [`Exit`] or a [`Failure`].

mod arguments;
mod commands;
mod doctor;
mod exit;
#[cfg(test)]
mod manual;
mod numbers;
mod output;
mod pages;
mod printable;
mod raw;
mod reported;
mod serve;
mod server;
mod shared;
mod simulate;
mod words;
mod worst;

use clap::Parser;

use crate::arguments::CommandLine;
use crate::exit::Exit;

fn main() -> Exit {
    // Wrong arguments end the program here, with 2.
    let CommandLine { shared, command } = CommandLine::parse();
    match command.run(&shared) {
        Ok(exit) => exit,
        Err(failure) => {
            output::failed(&failure, shared.json);
            failure.exit
        }
    }
}
