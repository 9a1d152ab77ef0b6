//! The commands, each in its file.

mod cache;
mod explain;
mod inspect;
mod inspect_words;
pub mod limit;
mod lock;
mod lock_group;
mod lock_signals;
mod lock_terminal;
pub mod locks;
mod once;
mod simulate;
mod stock;
mod top;
pub mod top_keys;
mod top_reports;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::shared::SharedArguments;
use crate::{doctor, serve};

/// What is to be done.
#[derive(Subcommand)]
pub enum Command {
    /// Finds what is stuck or will be: keys without a TTL, negative counters, servers that are not well
    Doctor(doctor::DoctorArguments),
    /// Says what a key is, and its state in words
    Inspect(inspect::InspectArguments),
    /// Says what a limiter would answer, and changes nothing
    Peek(limit::Asking),
    /// Charges a key, as the application does
    Consume(limit::Asking),
    /// Forgets all that a limiter knows of a key, a block included
    Reset(limit::KeyArguments),
    /// Denies a key everything for a while; what was counted stays
    Block(limit::Blocking),
    /// Ends a block; what was counted stays
    Unblock(limit::KeyArguments),
    /// Lists locks with their holders, or takes one away
    #[command(args_conflicts_with_subcommands = true)]
    Locks(locks::LocksArguments),
    /// Runs a command under a lock, as flock does
    Lock(lock::LockArguments),
    /// Says where a sale stands: available, held, sold, reservations
    Stock(stock::StockArguments),
    /// Says whether something was done, and when
    Once(once::OnceArguments),
    /// Says what a cache has for a key
    Cache(cache::CacheArguments),
    /// Shows who is denied most, and which keys are at their limit
    Top(top::TopArguments),
    /// Says in words what a policy admits, and its worst cases
    Explain(explain::ExplainArguments),
    /// Shows limits, locks, sales and caches live on a page, and /metrics
    Serve(serve::ServeArguments),
    /// Replays access logs through policies: who would have been denied
    Simulate(simulate::SimulateArguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self, shared: &SharedArguments) -> Result<Exit, Failure> {
        match self {
            Command::Doctor(arguments) => doctor::run(arguments, shared),
            Command::Inspect(arguments) => inspect::run(&arguments, shared),
            Command::Peek(asking) => limit::ask(&asking, shared, false),
            Command::Consume(asking) => limit::ask(&asking, shared, true),
            Command::Reset(key) => limit::reset(&key, shared),
            Command::Block(blocking) => limit::block(&blocking, shared),
            Command::Unblock(key) => limit::unblock(&key, shared),
            Command::Locks(arguments) => locks::run(&arguments, shared),
            Command::Lock(arguments) => lock::run(&arguments, shared),
            Command::Stock(arguments) => stock::run(&arguments, shared),
            Command::Once(arguments) => once::run(&arguments, shared),
            Command::Cache(arguments) => cache::run(&arguments, shared),
            Command::Top(arguments) => top::run(&arguments, shared),
            Command::Explain(arguments) => explain::run(arguments, shared),
            Command::Serve(arguments) => serve::run(&arguments, shared),
            Command::Simulate(arguments) => simulate::run(arguments, shared),
        }
    }
}
