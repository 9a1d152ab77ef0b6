//! `top`: who is denied most, live.
//!
//! Where processes report what they decide, it is what they say. Redis itself keeps no record of denials: where nobody reports, it
//! is what each key would answer now.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use clap::Args;
use quotalock::Client;

use super::top_keys::{self, TopKeysView};
use super::top_reports::Live;
use crate::exit::{Exit, Failure};
use crate::output::{answer, print};
use crate::raw;
use crate::server::{self, Servers};
use crate::shared::SharedArguments;
use crate::words::duration;

/// What clears a terminal, and puts the cursor at its beginning.
const CLEAR: &str = "\x1b[2J\x1b[H";
/// What is said where no process reports.
const HINT: &str =
    "No process reports: with the option report=True of their clients, top shows how often who was denied.\n";

const EXAMPLES: &str = "Examples:
  quotalock top                           the last 10 seconds, refreshed every 2 seconds
  quotalock top login --last 5m --once    5 minutes of the limiter login, printed once
  quotalock top --keys --near 80          keys that have used 80 percent of their limit";

/// What `top` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArguments {
    /// Show only keys of this limiter
    limiter: Option<String>,
    /// Refresh interval on a terminal
    #[arg(long, value_parser = duration, default_value = "2s")]
    every: u64,
    /// Number of keys to show
    #[arg(long, default_value_t = 20)]
    most: usize,
    /// Time span to aggregate, 1s to 10m
    #[arg(long, value_parser = window, default_value = "10s")]
    last: u64,
    /// Scan all keys, even if processes send reports
    #[arg(long)]
    keys: bool,
    /// Show keys that have used at least this percentage of their limit
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=100))]
    near: u64,
    /// Print once, even on a terminal
    #[arg(long)]
    once: bool,
}

/// Reads for how long reports count.
fn window(text: &str) -> Result<u64, String> {
    duration(text).and_then(|micros| match micros {
        1_000_000..=600_000_000 => Ok(micros),
        _ => Err("not between 1s and 10m".into()),
    })
}

/// What a look found.
enum TopFinding {
    /// At the keys.
    Keys(TopKeysView, Silence),
    /// What processes report: in words, and for scripts.
    Reports(String, serde_json::Value),
}

/// Why there are no reports.
enum Silence {
    /// They were not asked for.
    NotAsked,
    /// No process sends any.
    NoReports,
    /// They could not be read, because of this.
    Unknown(String),
}

/// Runs the command.
pub fn run(arguments: &TopArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let client = raw::client(shared)?;
    let is_live = !arguments.once && !shared.json && std::io::stdout().is_terminal();
    let mut servers = server::find(&shared.url, shared.server_timeout)?;
    let mut live = Live::new(client.prefix(), arguments.limiter.clone(), arguments.last);
    loop {
        let found = look(&mut servers, &client, &mut live, arguments)?;
        let mut unknown = servers.unknown();
        let (text, json, is_fine) = match found {
            TopFinding::Keys(seen, silence) => {
                let hint = if matches!(silence, Silence::NoReports) { HINT } else { "" };
                if let Silence::Unknown(why) = silence {
                    unknown.missing.push(format!("what processes report is missing: {why}"));
                }
                (seen.text(arguments.most) + hint, seen.json(arguments.most), seen.is_fine())
            }
            TopFinding::Reports(text, json) => (text, json, true),
        };
        let text = raw::told_unknown(&unknown, shared) + &text;
        let is_fine = is_fine && unknown.is_fine();
        if !is_live {
            answer(shared, &text, &raw::with_unknown(json, &unknown))?;
            return Ok(if !is_fine { Exit::Findings } else { Exit::Fine });
        }
        if !print(&format!("{CLEAR}{text}"))? {
            return Ok(Exit::Fine);
        }
        thread::sleep(Duration::from_micros(arguments.every));
    }
}

fn look(
    servers: &mut Servers,
    client: &Client,
    live: &mut Live,
    arguments: &TopArguments,
) -> Result<TopFinding, Failure> {
    let silence = match (!arguments.keys).then(|| live.look(servers)) {
        None => Silence::NotAsked,
        Some(Ok(true)) => return Ok(TopFinding::Reports(live.text(arguments.most), live.json(arguments.most))),
        Some(Ok(false)) => Silence::NoReports,
        Some(Err(refusal)) => Silence::Unknown(refusal.message),
    };
    let name = arguments.limiter.as_ref().map_or(b"*".to_vec(), |name| raw::literal(name.as_bytes()));
    let pattern = [raw::literal(client.prefix().as_bytes()), b":limit:".to_vec(), name, b":{*".to_vec()].concat();
    Ok(TopFinding::Keys(top_keys::look(servers, client.prefix(), &pattern, arguments.near)?, silence))
}
