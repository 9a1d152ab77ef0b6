//! `/metrics`, for Prometheus: what is known of the servers. Names of limiters, caches and families are labels; keys, locks and
//! sales never are.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use super::live::LiveView;
use super::writes::Writes;
use crate::printable::shown;

/// The text, as it grows.
struct Text(String);

impl Text {
    /// A series with its samples, if there are any.
    fn series<'a, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, Option<V>)>,
    ) {
        let mut samples = samples.into_iter().filter_map(|(labels, value)| Some((labels, value?))).peekable();
        if samples.peek().is_none() {
            return;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP quotalock_{name} {help}\n# TYPE quotalock_{name} {kind}");
        for (labels, value) in samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(self.0, "quotalock_{name}{labels} {value}");
        }
    }

    fn gauge<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, Option<V>)>,
    ) {
        self.series(name, "gauge", help, samples);
    }

    /// A gauge without labels.
    fn one(&mut self, name: &str, help: &str, value: Option<impl Display>) {
        self.gauge(name, help, [(Vec::new(), value)]);
    }
}

/// A label's value as Prometheus reads it; a name in it is written as the program prints it.
fn escaped(value: &str) -> String {
    shown(value.as_bytes()).replace('\\', "\\\\").replace('"', "\\\"")
}

/// What is known, as Prometheus reads it.
pub fn text(shown: &LiveView, writes: &Writes, browsers: usize) -> String {
    let mut text = Text(String::new());
    nodes(&mut text, shown);
    keys(&mut text, shown);
    let decisions = shown.totals.iter().map(|((limiter, result, source), count)| {
        (vec![("limiter", limiter.as_str()), ("result", *result), ("source", *source)], Some(count))
    });
    let help = "Decisions that processes with the option report have told, since the first report that was read.";
    text.series("reported_decisions_total", "counter", help, decisions);
    let help = "Blocks ended and locks force-released from the dashboard.";
    text.series("serve_writes_total", "counter", help, [(Vec::new(), Some(writes.done()))]);
    text.one("serve_browsers", "Browsers that look.", Some(browsers));
    text.0 + &shown.counters
}

fn nodes(text: &mut Text, shown: &LiveView) {
    let nodes = &shown.whole.nodes;
    fn of<T>(node: &super::api::NodeRow, value: T) -> (Vec<(&str, &str)>, T) {
        (vec![("node", node.address.as_str()), ("role", node.role.name())], value)
    }
    let seconds = |ms: f64| ms / 1_000.0;
    text.gauge(
        "node_up",
        "Whether the server answers.",
        nodes.iter().map(|node| of(node, Some(u8::from(node.answers)))),
    );
    text.gauge(
        "node_ok",
        "Whether the server answers, and all is well as far as it says.",
        nodes.iter().map(|node| of(node, Some(u8::from(node.ok)))),
    );
    text.gauge(
        "node_memory_used_bytes",
        "Memory that the server uses.",
        nodes.iter().map(|node| of(node, node.memory_used)),
    );
    text.gauge(
        "node_memory_max_bytes",
        "Memory that it may use; 0 is as much as there is.",
        nodes.iter().map(|node| of(node, node.memory_max)),
    );
    text.gauge("node_clients", "Connections to it.", nodes.iter().map(|node| of(node, node.clients)));
    text.gauge("node_keys", "Keys that it has.", nodes.iter().map(|node| of(node, node.keys)));
    text.gauge(
        "node_lag_seconds",
        "For how long its primary has heard nothing of a replica.",
        nodes.iter().map(|node| of(node, node.lag_ms.map(|ms| seconds(ms as f64)))),
    );
    text.gauge(
        "node_clock_ahead_seconds",
        "How far its clock is ahead of that of the machine that looks.",
        nodes.iter().map(|node| of(node, node.clock_skew_ms.map(|ms| seconds(ms as f64)))),
    );
}

fn keys(text: &mut Text, shown: &LiveView) {
    let scan = &shown.whole.scan;
    text.one("scan_seconds", "How long the last look at all keys took.", scan.took_ms.map(|ms| ms as f64 / 1_000.0));
    text.one("scan_keys", "How many keys it saw.", scan.keys_seen);
    text.one("scan_ended_timestamp_seconds", "When it ended.", scan.at_ms.map(|ms| ms as f64 / 1_000.0));
    let help = "Since when it is unknown what stands at the keys of some server; 0 if it is known.";
    text.one("keys_unknown_since_timestamp_seconds", help, Some(scan.unknown_since_ms.unwrap_or(0) as f64 / 1_000.0));
    // Numbers of a part would look like those of all.
    let Some(counts) = &shown.counted else { return };
    let refused = counts.denied - counts.near;
    text.gauge(
        "keys_limited",
        "Keys of limiters that are refused, or near their limit.",
        [(vec![("state", "refused")], Some(refused)), (vec![("state", "near")], Some(counts.near))],
    );
    text.gauge(
        "limiter_keys",
        "Keys of limiters.",
        counts.limiters.iter().map(|(name, keys)| (vec![("limiter", name.as_str())], Some(keys))),
    );
    text.one("locks_held", "Locks that somebody holds.", Some(counts.locks));
    text.one("lock_waiters", "Processes that wait for one.", Some(counts.waiters));
    text.one("stocks", "Sales.", Some(counts.stocks));
    let states = ["available", "held", "sold"];
    let units = states.iter().zip(counts.units).map(|(state, units)| (vec![("state", *state)], Some(units)));
    text.gauge("stock_units", "Units of all sales.", units);
    text.gauge(
        "cache_entries",
        "Entries of caches.",
        counts.caches.values().flat_map(|cache| {
            let states =
                [("fresh", cache.fresh), ("stale", cache.stale), ("loading", cache.loading), ("failed", cache.failed)];
            states.map(|(state, count)| (vec![("cache", cache.name.as_str()), ("state", state)], Some(count)))
        }),
    );
    let by_family = |keys: &BTreeMap<&'static str, u64>| {
        keys.iter().map(|(family, keys)| (vec![("family", *family)], Some(*keys))).collect::<Vec<_>>()
    };
    let mut looks = counts.looks_stuck.clone();
    counts.stuck.iter().for_each(|(family, keys)| *looks.entry(family).or_default() += keys);
    text.gauge("keys_stuck", "Keys that are proven to be stuck, by family.", by_family(&counts.stuck));
    text.gauge("keys_without_ttl", "Keys without a TTL that look stuck, by family; these too.", by_family(&looks));
    text.one("keys_unreadable", "Keys that the user may not read.", Some(counts.refused));
}
