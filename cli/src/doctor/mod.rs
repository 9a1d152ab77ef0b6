//! `doctor`: what is stuck on the servers, or will be.

mod collect;
pub mod families;
mod finding;
mod fix;
mod glob;
pub mod health;
mod interrupt;
mod journal;
pub mod own;
mod pattern;
mod report;
mod scan;
mod versions;
mod words;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use quotalock::places::Target;
use serde_json::json;

pub use collect::stuck_kind;
use collect::{Collector, Stuck};
use finding::Finding;
use health::{Health, now_micros};
use interrupt::stopped;
use scan::{Scan, Unseen};

use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages::right_of;
use crate::server::{self, Missing, Refusal, Servers, Why};

/// What `doctor` is asked.
#[derive(Args)]
pub struct Arguments {
    /// Look at no more than so many keys a second, of each server
    #[arg(long, default_value_t = 53_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: u64,
    /// Look at no more than about so many keys
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    max_keys: Option<u64>,
    /// Give the keys that are recognised a TTL: shows first what it would do, then asks
    #[arg(long)]
    fix: bool,
    /// Don't ask
    #[arg(long, requires = "fix")]
    yes: bool,
    /// The TTL of counters that don't tell theirs, such as 60s, 5m, 1h
    #[arg(long, default_value = "60s", value_parser = ttl)]
    ttl: u64,
    /// The TTL of locks that don't tell theirs: their holders may be at work
    #[arg(long, default_value = "1h", value_parser = ttl)]
    lock_ttl: u64,
    /// Take keys with names like this for counters too, such as 'buy:*'
    #[arg(long, value_name = "PATTERN")]
    also: Vec<String>,
    /// The file in which --fix notes what it changes [default: quotalock-undo-<time>.jsonl]
    #[arg(long, value_name = "FILE", requires = "fix")]
    undo_file: Option<PathBuf>,
    /// Take the TTLs back that --fix noted in this file
    #[arg(long, value_name = "FILE", conflicts_with = "fix")]
    undo: Option<PathBuf>,
}

/// What is looked for, and what is done.
pub struct Settings {
    prefix: String,
    rate: u64,
    max_keys: Option<u64>,
    fix: bool,
    ttl_ms: u64,
    lock_ttl_ms: u64,
    also: Vec<String>,
    undo_file: PathBuf,
}

/// A TTL in milliseconds.
fn ttl(text: &str) -> Result<u64, String> {
    let ms = crate::words::duration(text)? / 1_000;
    if (1..=366 * 86_400_000).contains(&ms) { Ok(ms) } else { Err("give one from 1ms to 366d".to_owned()) }
}

/// Runs the command.
pub fn run(arguments: Arguments, shared: &Shared) -> Result<Exit, Failure> {
    interrupt::listen();
    let is_asked = std::io::IsTerminal::is_terminal(&std::io::stdin()) && !shared.json;
    if arguments.fix && !arguments.yes && !is_asked {
        return Err(fix::needs_yes());
    }
    let mut servers = server::find(&shared.url)?;
    if let Some(path) = &arguments.undo {
        let outcome = fix::undo(&mut servers, path)?;
        output::answer(shared, &fix::words(&outcome, "TTLs taken back"), &json!({ "undone": outcome }))?;
        return Ok(if outcome.refused > 0 { Exit::Findings } else { Exit::Fine });
    }
    let undo_file = arguments.undo_file.unwrap_or_else(|| format!("quotalock-undo-{}.jsonl", now_micros()).into());
    let settings = Settings {
        prefix: shared.prefix.clone(),
        rate: arguments.rate,
        max_keys: arguments.max_keys,
        fix: arguments.fix,
        ttl_ms: arguments.ttl,
        lock_ttl_ms: arguments.lock_ttl,
        also: arguments.also,
        undo_file,
    };
    let database = match Target::parse(&shared.url)? {
        Target::Server(place) => place.database(),
        Target::Sentinel(watched) => watched.at("", 0).database(),
        Target::Cluster(_) => 0,
    };
    let nodes: Vec<Health> = servers.nodes().map(|node| health::ask(node, database)).collect();
    let (findings, stuck, unseen) = look(&mut servers, &nodes, &settings)?;
    let seen = unseen.seen.into_inner();
    let is_complete = !stopped()
        && settings.max_keys.is_none_or(|most| seen < most)
        && servers.missing.iter().all(|one| one.is_covered);
    let report = || report::text(&nodes, &findings, seen, is_complete);
    if !shared.json {
        output::print(&report())?;
    }
    let outcome = match settings.fix && !stopped() {
        true if stuck.is_empty() || !arguments.yes && !fix::is_wanted(stuck.len()) => None,
        true => Some(fix::run(&mut servers, &stuck, &settings)?),
        false => None,
    };
    match (&outcome, shared.json) {
        (outcome, true) => {
            let nodes: Vec<_> = nodes.iter().map(as_json).collect();
            let document = json!({
                "findings": findings, "nodes": nodes, "keys_seen": seen, "complete": is_complete, "fixed": outcome,
            });
            output::answer(shared, "", &document)?;
        }
        (Some(outcome), false) => {
            output::print(&fix::words(outcome, "TTLs given"))?;
            if let Some(path) = &outcome.undo_file {
                output::print(&format!("To take them back: quotalock doctor --undo {}\n", path.display()))?;
            }
        }
        (None, false) => {}
    }
    if stopped() {
        return Ok(Exit::Stopped);
    }
    let is_mended = |finding: &Finding| finding.keys.as_ref().is_some_and(|keys| keys.fix.is_some());
    let all_done = outcome.is_some_and(|outcome| outcome.refused == 0);
    let remains = findings.iter().any(|finding| !(finding.is_note || all_done && is_mended(finding)));
    Ok(if remains { Exit::Findings } else { Exit::Fine })
}

/// Looks at servers and keys.
fn look(
    servers: &mut Servers,
    nodes: &[Health],
    settings: &Settings,
) -> Result<(Vec<Finding>, Vec<Stuck>, Unseen), Failure> {
    let ahead = nodes.iter().find_map(|node| node.ahead).map_or(0, |(ahead, _)| ahead);
    let now_ms = now_micros().saturating_add_signed(ahead) / 1_000;
    let collector = Mutex::new(Collector::new(settings, now_ms));
    let (unseen, bar) = (Unseen::default(), progress(nodes, settings));
    let failed: Vec<Refusal> = thread::scope(|scope| {
        let scanning: Vec<_> = servers
            .shards
            .iter_mut()
            .enumerate()
            .filter_map(|(shard, servers)| {
                let (collector, bar, unseen) = (&collector, &bar, &unseen);
                let node = servers.reader()?;
                let scan = Scan { settings, shard, collector, bar, unseen };
                Some(scope.spawn(move || scan.run(node)))
            })
            .collect();
        scanning.into_iter().filter_map(|scan| scan.join().ok()?.err()).collect()
    });
    bar.finish_and_clear();
    let collector = collector.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut findings, stuck) = collector.finish();
    findings.extend(nodes.iter().flat_map(|node| node.findings.clone()));
    findings.extend(health::clocks(nodes));
    findings.extend(servers.missing.iter().map(missing));
    let mut rights = std::mem::take(&mut *unseen.rights.lock().unwrap_or_else(PoisonError::into_inner));
    rights.extend(nodes.iter().flat_map(|node| node.lacks.iter().cloned()));
    for refusal in failed {
        match refusal.why {
            Why::Right => drop(rights.insert(right_of(&refusal.message))),
            _ => findings.push(scan_ended(refusal)),
        }
    }
    if !rights.is_empty() {
        let names = rights.into_iter().collect::<Vec<_>>().join(", ");
        let refused = unseen.refused.load(Ordering::Relaxed);
        let keys = if refused > 0 { format!("; {refused} keys were not read") } else { String::new() };
        findings.push(Finding {
            kind: "rights",
            is_note: false,
            node: None,
            what: format!("The user lacks the right to {names}{keys}"),
            means: "what needs it was not looked at; the rest was".to_owned(),
            cure: "ACL SETUSER <user> +info +time +dbsize +scan +pttl +getrange +zscore +type +eval_ro ~*".to_owned(),
            keys: None,
        });
    }
    Ok((findings, stuck, unseen))
}

fn scan_ended(refusal: Refusal) -> Finding {
    Finding {
        kind: "scan",
        is_note: false,
        node: None,
        what: refusal.message,
        means: "the rest of its keys was not looked at".to_owned(),
        cure: "look again when it answers".to_owned(),
        keys: None,
    }
}

fn missing(one: &Missing) -> Finding {
    let means = match (one.is_covered, one.is_primary) {
        (false, _) => "its keys were not looked at, and calls for them fail",
        (true, true) => "its keys were read from a replica; calls that write fail until one is promoted",
        (true, false) => "its keys were read elsewhere; a failover has one server less to go to",
    };
    let what = format!("cannot be asked: {}", one.refusal.message);
    Finding::of_node("unreachable", &one.place.to_string(), what, means, "see whether it runs, and its log")
}

fn as_json(node: &Health) -> serde_json::Value {
    let clock = node.ahead.map(|(ahead, error)| json!({ "ahead_us": ahead, "error_us": error }));
    json!({
        "node": node.name, "role": if node.is_primary { "primary" } else { "replica" }, "version": node.version,
        "keys": node.keys, "keys_without_ttl": node.without_ttl, "clock": clock,
    })
}

/// The bar, which shows on a terminal only.
fn progress(nodes: &[Health], settings: &Settings) -> ProgressBar {
    let all = nodes.iter().filter(|node| node.is_primary).filter_map(|node| node.keys).sum::<u64>();
    let bar = ProgressBar::new(settings.max_keys.unwrap_or(u64::MAX).min(all));
    // A template that cannot be read shows the default.
    let style = ProgressStyle::with_template("{bar:30} {human_pos} of {human_len} keys, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
