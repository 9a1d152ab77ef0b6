//! `stock`: where a sale stands.

use std::ffi::OsString;

use clap::Args;
use quotalock::{Client, StockOptions, StockPage, StockPhase};

use super::inspect_words::{self, KeyDescription};
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::printable::shown;
use crate::shared::SharedArguments;
use crate::words::{bytes, text};
use crate::{raw, server};

/// How many reservations are listed unless more are asked for.
pub const FEW: u64 = 10;

const EXAMPLES: &str = "Examples:
  quotalock stock sale:42                              the numbers, and reservations that end soon
  quotalock stock sale:42 --reservations 100 --json    100 reservations, as JSON";

/// What `stock` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StockArguments {
    /// The name of the stock
    name: OsString,
    /// Scope of the stock
    #[arg(long)]
    scope: Option<OsString>,
    /// Number of reservations to list, those that end first
    #[arg(long, default_value_t = FEW, value_parser = clap::value_parser!(u64).range(1..=quotalock::MAX_PAGE))]
    reservations: u64,
}

/// Runs the command.
pub fn run(arguments: &StockArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let (client, name) = (raw::client(shared)?, bytes(&arguments.name));
    let scope = arguments.scope.as_deref().map(bytes);
    let key = handle(&client, name, scope)?.redis_keys().first().cloned().unwrap_or_default();
    let mut servers = server::find_owners(&shared.url, shared.server_timeout, std::slice::from_ref(&key))?;
    let now = raw::now_at(&mut servers, &key)?;
    let mut told = tell(&client, name, scope, arguments.reservations, now)?;
    told.json["stock"] = text(name).into();
    answer(shared, &told.text(&format!("stock {}", shown(name))), &told.json)?;
    Ok(Exit::Fine)
}

fn handle(client: &Client, name: &[u8], scope: Option<&[u8]>) -> Result<quotalock::Stock, Failure> {
    let options = StockOptions { scope: scope.map(<[u8]>::to_vec), ..StockOptions::default() };
    Ok(client.stock(name, options)?)
}

/// Where a sale stands, with some of its reservations.
pub fn tell(
    client: &Client,
    name: &[u8],
    scope: Option<&[u8]>,
    most: u64,
    now: u64,
) -> Result<KeyDescription, Failure> {
    let stock = handle(client, name, scope)?;
    let status = stock.status().run()?;
    let page = match status.phase {
        StockPhase::NotOpen => StockPage { reservations: Vec::new(), next: None },
        _ => stock.reservations(None, most)?.run()?,
    };
    Ok(inspect_words::stock(&status, &page, now))
}
