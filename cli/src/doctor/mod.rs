//! `doctor`: what is stuck on the servers, or will be.

mod collect;
pub mod families;
pub mod finding;
mod fix;
mod glob;
pub mod health;
mod interrupt;
mod journal;
pub mod own;
mod pattern;
pub mod proof;
mod report;
mod scan;
mod versions;
pub mod watch;
mod words;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use quotalock::places::Target;
use serde_json::json;

pub use collect::stuck_kind;
use collect::{Candidate, Collector};
use finding::Finding;
use health::{Health, now_micros};
use interrupt::stopped;
use scan::{ServerScan, Unseen};

use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages::right_of;
use crate::server::{self, Missing, Refusal, RefusalKind, Servers};
use crate::shared::SharedArguments;

const EXAMPLES: &str = "Examples:
  quotalock doctor                                  report, and change nothing
  quotalock doctor --fix                            report, then ask before each family is changed
  quotalock doctor --fix set-nx-decr --ttl 2h       in cron: change this family only
  quotalock doctor --undo quotalock-undo-1.jsonl    remove the TTLs that --fix set";

/// What `doctor` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArguments {
    /// Maximum number of keys per second to scan on each server
    #[arg(long, default_value_t = 53_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: u64,
    /// Maximum number of keys to scan, approximately (default: no limit)
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    max_keys: Option<u64>,
    /// Maximum time to watch keys that look stuck. The watch ends earlier if each key has a result. Only a key that is used during the watch can be proven to be stuck. With 0, the keys are not watched
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = watch)]
    watch: u64,
    /// Give a TTL to the keys that are proven to be stuck, if they belong to these families. Without a family, it asks for each family
    #[arg(long, value_name = "FAMILY", num_args = 0.., value_delimiter = ',', value_parser = PossibleValuesParser::new(families::FIXABLE.map(|family| family.id)))]
    fix: Option<Vec<String>>,
    /// Answer yes for each family. Only keys that are proven to be stuck are changed
    #[arg(long, requires = "fix")]
    yes: bool,
    /// TTL for keys that do not state when they end, from 1h to 366d. Keys state it in their names, such as 'LIMITS:LIMITER/user:42/10/1/minute', or in their values
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = ttl)]
    ttl: u64,
    /// Allow TTLs of less than 1h, from --ttl and from keys that state when they end
    #[arg(long)]
    allow_short_ttl: bool,
    /// Treat keys that match this pattern, such as 'buy:*', as counters of a limiter too. --fix changes them only if they are counted during the watch
    #[arg(long, value_name = "PATTERN", value_parser = also)]
    also: Vec<String>,
    /// File in which --fix records keys and values before it changes the keys [default: quotalock-undo-<time>.jsonl]
    #[arg(long, value_name = "FILE", requires = "fix")]
    undo_file: Option<PathBuf>,
    /// Remove the TTLs of the keys that --fix recorded in this file, and restore keys that have expired since
    #[arg(long, value_name = "FILE", conflicts_with = "fix")]
    undo: Option<PathBuf>,
}

/// What is looked for, and what is done.
pub struct DoctorSettings {
    prefix: String,
    rate: u64,
    max_keys: Option<u64>,
    /// For how long keys are watched, in milliseconds; 0 is not at all.
    watch_ms: u64,
    /// The TTL of keys that don't state theirs.
    ttl_ms: u64,
    /// No key gets a shorter TTL.
    ttl_floor_ms: u64,
    also: Vec<String>,
    undo_file: PathBuf,
}

/// No key gets a shorter TTL unless the user allows it, and none is watched for longer.
const FLOOR_MS: u64 = 3_600_000;

/// A TTL in milliseconds.
fn ttl(text: &str) -> Result<u64, String> {
    let ms = crate::words::duration(text)? / 1_000;
    if (1..=366 * 86_400_000).contains(&ms) { Ok(ms) } else { Err("give one from 1ms to 366d".to_owned()) }
}

/// For how long to watch, in milliseconds.
fn watch(text: &str) -> Result<u64, String> {
    let ms = crate::words::duration(text)? / 1_000;
    if ms <= FLOOR_MS { Ok(ms) } else { Err("give one from 0 to 1h".to_owned()) }
}

/// A pattern of names: one for all names would make a limiter of every counter.
fn also(text: &str) -> Result<String, String> {
    match text.starts_with(['*', '?']) || text.is_empty() {
        true => Err("begin with what the names begin with, such as 'buy:*'".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: DoctorArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    interrupt::listen();
    let is_asked = std::io::IsTerminal::is_terminal(&std::io::stdin()) && !shared.json;
    let named = arguments.fix.as_deref().unwrap_or_default();
    if arguments.fix.is_some() && named.is_empty() && !arguments.yes && !is_asked {
        return Err(fix::needs_yes());
    }
    if arguments.ttl < FLOOR_MS && !arguments.allow_short_ttl {
        let message = "a --ttl of less than 1h needs --allow-short-ttl: whatever is wrong about a key, an hour leaves time for --undo";
        return Err(Failure { exit: Exit::Usage, code: "short_ttl", message: message.to_owned() });
    }
    let mut servers = server::find(&shared.url, shared.server_timeout)?;
    if let Some(path) = &arguments.undo {
        let outcome = fix::undo(&mut servers, path)?;
        output::answer(shared, &fix::words(&outcome, "TTLs taken back"), &json!({ "undone": outcome }))?;
        return Ok(if outcome.refused > 0 { Exit::Findings } else { Exit::Fine });
    }
    let undo_file = arguments.undo_file.unwrap_or_else(|| format!("quotalock-undo-{}.jsonl", now_micros()).into());
    let settings = DoctorSettings {
        prefix: shared.prefix.clone(),
        rate: arguments.rate,
        max_keys: arguments.max_keys,
        watch_ms: arguments.watch,
        ttl_ms: arguments.ttl,
        ttl_floor_ms: if arguments.allow_short_ttl { 1 } else { FLOOR_MS },
        also: arguments.also,
        undo_file,
    };
    let database = match Target::parse(&shared.url)? {
        Target::Server(place) => place.database(),
        Target::Sentinel(watched) => watched.at("", 0).database(),
        Target::Cluster(_) => 0,
    };
    let nodes: Vec<Health> = servers.nodes().map(|node| health::ask(node, database)).collect();
    let (findings, candidates, unseen) = look(&mut servers, &nodes, &settings)?;
    let seen = unseen.seen.into_inner();
    let is_complete = !stopped()
        && settings.max_keys.is_none_or(|most| seen < most)
        && servers.missing.iter().all(|one| one.is_covered);
    let report = || report::text(&nodes, &findings, seen, is_complete);
    if !shared.json {
        output::print(&report())?;
    }
    let outcome = match &arguments.fix {
        Some(named) if !stopped() => {
            let chosen = fix::confirmed(candidates, named, arguments.yes);
            if chosen.is_empty() { None } else { Some((fix::run(&mut servers, &chosen, &settings)?, chosen)) }
        }
        _ => None,
    };
    let (outcome, chosen) = outcome.map_or((None, Vec::new()), |(outcome, chosen)| (Some(outcome), chosen));
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
        (None, false) if arguments.fix.is_some() && !stopped() => {
            output::print("Nothing was changed: no key of a family that you confirmed is proven to be stuck\n")?;
        }
        (None, false) => {}
    }
    if stopped() {
        return Ok(Exit::Stopped);
    }
    let is_mended = |finding: &Finding| {
        let keys = finding.keys.as_ref().filter(|keys| keys.fix.is_some());
        keys.is_some_and(|keys| chosen.iter().any(|key| key.known.family.id == keys.family))
    };
    let all_done = outcome.is_some_and(|outcome| outcome.refused == 0);
    let remains = findings.iter().any(|finding| !(finding.is_note || all_done && is_mended(finding)));
    Ok(if remains { Exit::Findings } else { Exit::Fine })
}

/// Looks at servers and keys.
fn look(
    servers: &mut Servers,
    nodes: &[Health],
    settings: &DoctorSettings,
) -> Result<(Vec<Finding>, Vec<Candidate>, Unseen), Failure> {
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
                let scan = ServerScan { settings, shard, collector, bar, unseen };
                Some(scope.spawn(move || scan.run(node)))
            })
            .collect();
        scanning.into_iter().filter_map(|scan| scan.join().ok()?.err()).collect()
    });
    bar.finish_and_clear();
    let mut collector = collector.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut candidates = collector.candidates();
    watch::watch(servers, &mut candidates, settings);
    candidates.iter().for_each(|candidate| collector.judge(candidate));
    let mut findings = collector.finish();
    findings.extend(nodes.iter().flat_map(|node| node.findings.clone()));
    findings.extend(health::clocks(nodes));
    findings.extend(servers.missing.iter().map(missing));
    let mut rights = std::mem::take(&mut *unseen.rights.lock().unwrap_or_else(PoisonError::into_inner));
    rights.extend(nodes.iter().flat_map(|node| node.lacks.iter().cloned()));
    for refusal in failed {
        match refusal.why {
            RefusalKind::Right => drop(rights.insert(right_of(&refusal.message))),
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
    Ok((findings, candidates, unseen))
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
fn progress(nodes: &[Health], settings: &DoctorSettings) -> ProgressBar {
    let all = nodes.iter().filter(|node| node.is_primary).filter_map(|node| node.keys).sum::<u64>();
    let bar = ProgressBar::new(settings.max_keys.unwrap_or(u64::MAX).min(all));
    // A template that cannot be read shows the default.
    let style = ProgressStyle::with_template("{bar:30} {human_pos} of {human_len} keys, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
