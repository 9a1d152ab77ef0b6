//! What all commands know.

use std::time::Duration;

use clap::Args;

use crate::words::duration;

/// What all commands know.
#[derive(Args)]
pub struct SharedArguments {
    /// The server: redis://, rediss://, redis+cluster://, redis+sentinel:// or unix://
    #[arg(long, global = true, env = quotalock::URL_VARIABLE, default_value = quotalock::DEFAULT_URL, hide_env_values = true)]
    pub url: String,
    /// Key prefix
    #[arg(long, global = true, default_value = quotalock::DEFAULT_PREFIX)]
    pub prefix: String,
    /// Timeout of each server for the login, and then for each answer: 1ms to 1h
    #[arg(long, global = true, value_name = "DURATION", default_value = "5s", value_parser = patience)]
    pub server_timeout: Duration,
    /// Print JSON, for scripts
    #[arg(long, global = true)]
    pub json: bool,
}

/// Reads a duration that a server may be waited for.
fn patience(text: &str) -> Result<Duration, String> {
    let length = Duration::from_micros(duration(text)?);
    match (Duration::from_millis(1)..=quotalock::MAX_TIMEOUT).contains(&length) {
        true => Ok(length),
        false => Err("a server is waited for 1ms to 1h".to_owned()),
    }
}
