//! The findings in words.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::finding::{Finding, FindingState, Fix};
use super::health::Health;
use crate::numbers;
use crate::words::span;

const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// What was looked at, and what was found.
pub fn text(nodes: &[Health], findings: &[Finding], seen: u64, complete: bool) -> String {
    let mut out = String::new();
    for node in nodes {
        let role = if node.is_primary { "primary" } else { "replica" };
        let version = if node.version.is_empty() { "version unknown" } else { &node.version };
        let keys = node.keys.map_or_else(String::new, |keys| format!(", {}", numbers::counted(keys, "key")));
        let rest =
            node.without_ttl.map_or_else(String::new, |count| format!(", {} without a TTL", numbers::count(count)));
        let _ = writeln!(out, "{DIM}{}: {version}, {role}{keys}{rest}{DIM:#}", node.name);
    }
    let _ = writeln!(out);
    let (notes, wrong): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_note);
    for finding in wrong.into_iter().chain(notes) {
        let (style, mark) = if finding.is_note { (NOTE, "note") } else { (BAD, "FOUND") };
        let node = finding.node.as_ref().map_or_else(String::new, |node| format!("{node} "));
        let _ = writeln!(out, "{style}{mark}{style:#} {node}{}", finding.what);
        if let Some(keys) = &finding.keys {
            for example in &keys.examples {
                let _ = writeln!(out, "        {DIM}{example}{DIM:#}");
            }
        }
        let _ = writeln!(out, "      means: {}", finding.means);
        let _ = writeln!(out, "      do:    {}", finding.cure);
        let Some(keys) = &finding.keys else { continue };
        if finding.kind != "damaged" {
            let proof = if keys.state == FindingState::Stuck { "proof" } else { "doubt" };
            let _ = writeln!(out, "      {proof}: {}", keys.why);
        }
        let _ = match &keys.fix {
            Some(fix) => writeln!(out, "      --fix {}: a TTL of {} ({})", keys.family, span_of(fix), fix.by),
            None => writeln!(out, "      --fix: leaves it alone"),
        };
    }
    let count = findings.iter().filter(|finding| !finding.is_note).count();
    let all = if complete { "all" } else { "some" };
    let _ = match count {
        0 => writeln!(out, "{GOOD}Nothing is stuck{GOOD:#}: looked at {all} keys, {}", numbers::count(seen)),
        1 => writeln!(out, "1 finding; looked at {all} keys, {}", numbers::count(seen)),
        _ => writeln!(out, "{count} findings; looked at {all} keys, {}", numbers::count(seen)),
    };
    out
}

fn span_of(fix: &Fix) -> String {
    match fix.shortest_ms == fix.longest_ms {
        true => span(fix.longest_ms.saturating_mul(1_000)),
        false => {
            let [shortest, longest] = [fix.shortest_ms, fix.longest_ms].map(|ms| span(ms.saturating_mul(1_000)));
            format!("{shortest} to {longest}")
        }
    }
}
