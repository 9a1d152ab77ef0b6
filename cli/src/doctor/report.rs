//! The findings in words.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::finding::{Finding, Fix};
use super::health::Health;
use crate::numbers;

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
        let keys = node.keys.map_or_else(String::new, |keys| format!(", {} keys", numbers::count(keys)));
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
        let fix = match finding.keys.as_ref().map(|keys| &keys.fix) {
            Some(Some(fix)) => format!("      --fix: a TTL of {} ({})\n", span_of(fix), fix.by),
            Some(None) => "      --fix: leaves it alone\n".to_owned(),
            None => String::new(),
        };
        out.push_str(&fix);
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
        true => span(fix.longest_ms),
        false => format!("{} to {}", span(fix.shortest_ms), span(fix.longest_ms)),
    }
}

/// A duration in words.
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{} s", tenths(ms, 1_000)),
        120_000..7_200_000 => format!("{} min", tenths(ms, 60_000)),
        7_200_000..172_800_000 => format!("{} h", tenths(ms, 3_600_000)),
        _ => format!("{} days", tenths(ms, 86_400_000)),
    }
}

fn tenths(ms: u64, unit: u64) -> String {
    match ms * 10 / unit {
        tenths if tenths % 10 == 0 => (tenths / 10).to_string(),
        tenths => format!("{}.{}", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::span;
    use crate::numbers;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([numbers::count(7), numbers::count(1_000), numbers::count(1_234_567)], ["7", "1,000", "1,234,567"]);
        let spans = [1, 999, 1_500, 60_000, 3_600_000, 86_400_000, 604_800_000].map(span);
        assert_eq!(spans, ["1 ms", "999 ms", "1.5 s", "60 s", "60 min", "24 h", "7 days"]);
    }
}
