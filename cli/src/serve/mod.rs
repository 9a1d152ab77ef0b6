//! `serve`: a page that shows limits, locks, sales and caches live, and `/metrics`.
//!
//! Two threads look at the servers for all browsers: one goes through all keys, slowly ([`walk`]), the other asks each server how it
//! is and puts the state together ([`live`]). A runtime answers requests ([`web`]) from what they saw last. No request makes a server
//! do anything, but those that change something.

mod api;
mod assets;
mod counters;
mod decisions;
mod events;
mod guard;
mod listen;
mod lists;
mod live;
mod metrics;
mod nodes;
mod rows;
mod seen;
mod sessions;
mod sheet;
mod site;
mod walk;
mod web;
mod writes;

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clap::Args;
use quotalock::Client;
use tokio::sync::watch;

use crate::exit::{Exit, Failure};
use crate::shared::SharedArguments;
use crate::{output, raw, server};
use seen::KnownKeys;
use sessions::Sessions;
use site::Site;
use writes::Writes;

/// What names the token.
const TOKEN: &str = "QUOTALOCK_SERVE_TOKEN";
/// How long a server may take to say at the start that it is a node of a cluster. Later the page says so.
const CHECKED_WITHIN: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "Examples:
  quotalock serve                              on http://127.0.0.1:7070; prints the login token
  quotalock serve --host limits.example.com    behind a proxy on this host that has this name
  quotalock serve --allow-writes               the dashboard may end blocks and release locks";

/// What `serve` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArguments {
    /// Address to listen on. Any address other than a loopback address requires --token
    #[arg(long, default_value = "127.0.0.1:7070")]
    listen: String,
    /// Let the dashboard end blocks and force-release locks
    #[arg(long)]
    allow_writes: bool,
    /// Additional host name to accept, such as the name of a proxy
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Login token, at least 16 characters (default: a random one, printed at the start)
    #[arg(long, env = TOKEN, hide_env_values = true)]
    token: Option<String>,
    /// Maximum number of keys per second to scan
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: u64,
    /// Show keys that have used at least this percentage of their limit
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=100))]
    near: u64,
    /// File in which the processes of this user on this host share their counters. /metrics, and the hits and loads of caches on the dashboard, come from this file
    #[arg(long, env = quotalock::metrics::METRICS_FILE_VARIABLE, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
}

/// What the threads know.
pub struct ServeSettings {
    url: String,
    /// How long a server may take to let us in, and then for each answer.
    within: Duration,
    prefix: String,
    writes: bool,
    rate: u64,
    near: u64,
    metrics_file: Option<PathBuf>,
    /// What names keys.
    client: Client,
}

/// Runs the command.
pub fn run(arguments: &ServeArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let metrics_file = arguments.metrics_file.clone().filter(|path| !path.as_os_str().is_empty());
    metrics_file.as_deref().map_or(Ok(()), counters::join)?;
    // A wrong URL or prefix is told at once; servers that are away may come.
    let client = raw::client(shared)?;
    server::check(&shared.url, CHECKED_WITHIN)?;
    let given = arguments.token.clone().filter(|token| !token.is_empty());
    let address = address(&arguments.listen)?;
    if !address.ip().is_loopback() && given.is_none() {
        let message = format!(
            "{address} can be reached from other machines: give a token of your own in {TOKEN}, and have a proxy do TLS"
        );
        return Err(raw::usage(message));
    }
    let is_given = given.is_some();
    let token = given.map_or_else(sessions::random, Ok)?;
    let sessions = Sessions::new(token.clone())?;
    let settings = ServeSettings {
        url: shared.url.clone(),
        within: shared.server_timeout,
        prefix: shared.prefix.clone(),
        writes: arguments.allow_writes,
        rate: arguments.rate,
        near: arguments.near,
        metrics_file,
        client,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(format!("cannot start: {error}")))?;
    let (tell, live) = watch::channel(Arc::new(live::nothing(&settings)));
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| not_bound(address, &error))?;
        let bound = listener.local_addr().map_err(|error| not_bound(address, &error))?;
        let (end, ended) = watch::channel(false);
        let site = Site {
            sessions,
            writes: Writes::new(settings.writes, shared),
            live,
            ended,
            hosts: hosts(bound, &arguments.host),
            cookie: format!("quotalock-{}", bound.port()),
            browsers: AtomicUsize::new(0),
        };
        let router = web::router(Arc::new(site));
        greet(bound, (!is_given).then_some(token.as_str()));
        let (settings, seen) = (Arc::new(settings), Arc::<Mutex<KnownKeys>>::default());
        let (walks, sees) = (Arc::clone(&settings), Arc::clone(&seen));
        thread::spawn(move || walk::run(&walks, &sees));
        thread::spawn(move || live::run(&settings, &seen, &tell));
        listen::serve(listener, router, end).await.map_err(|error| failed(format!("cannot go on: {error}")))
    })?;
    Ok(Exit::Fine)
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let mut found = text.to_socket_addrs().map_err(|_| {
        raw::usage(format!(
            "--listen {} is not an address with a port: write it as 127.0.0.1:7070",
            crate::printable::shown(text.as_bytes())
        ))
    })?;
    found.next().ok_or_else(|| raw::usage("--listen names no address: write it as 127.0.0.1:7070"))
}

fn not_bound(address: SocketAddr, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AddrInUse => {
            raw::usage(format!("port {} of {} is in use: give another with --listen", address.port(), address.ip()))
        }
        ErrorKind::PermissionDenied => {
            raw::usage(format!("port {} is not for you: give one above 1023 with --listen", address.port()))
        }
        _ => raw::usage(format!("cannot listen at {address}: {error}")),
    }
}

fn failed(message: String) -> Failure {
    Failure { exit: Exit::Findings, code: "internal", message }
}

/// The names by which a browser may call us.
fn hosts(bound: SocketAddr, named: &[String]) -> Vec<String> {
    let ip = bound.ip();
    let own = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(String::from).to_vec();
    if !ip.is_unspecified() {
        hosts.push(own);
    }
    hosts.extend(named.iter().map(|name| guard::bare(name).to_owned()));
    hosts
}

/// Says where it is, and once the token that was made.
fn greet(bound: SocketAddr, made: Option<&str>) {
    output::tell(&format!("serve: http://{bound}/"));
    if let Some(token) = made {
        output::tell(&format!("serve: sign in with the token {token}"));
    }
}
