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
    /// Find stuck keys (no TTL, negative counters) and unhealthy servers
    Doctor(doctor::DoctorArguments),
    /// Describe a key and its state
    Inspect(inspect::InspectArguments),
    /// Check a limit without consuming it
    #[command(after_help = limit::PEEK_EXAMPLES)]
    Peek(limit::Asking),
    /// Charge a key, as the application does
    #[command(after_help = limit::CONSUME_EXAMPLES)]
    Consume(limit::Asking),
    /// Remove the counts, blocks and reservations of a key
    #[command(after_help = limit::RESET_EXAMPLES)]
    Reset(limit::KeyArguments),
    /// Deny all calls of a key for some time (keeps its counts)
    #[command(after_help = limit::BLOCK_EXAMPLES)]
    Block(limit::Blocking),
    /// End a block (keeps the counts)
    #[command(after_help = limit::UNBLOCK_EXAMPLES)]
    Unblock(limit::KeyArguments),
    /// List locks with their holders, or force-release one
    #[command(args_conflicts_with_subcommands = true)]
    Locks(locks::LocksArguments),
    /// Run a command under a lock, as flock does
    Lock(lock::LockArguments),
    /// Show a stock: available, held and sold units, reservations
    Stock(stock::StockArguments),
    /// Show whether the work of a `once` id was done, and when
    Once(once::OnceArguments),
    /// Show a cache entry
    Cache(cache::CacheArguments),
    /// Show the keys that are denied most, and those at their limit
    Top(top::TopArguments),
    /// Explain a policy: what it allows, and its worst cases
    Explain(explain::ExplainArguments),
    /// Serve a live dashboard of limits, locks, stocks and caches, and /metrics
    Serve(serve::ServeArguments),
    /// Replay access logs through policies: which clients would have been denied
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
