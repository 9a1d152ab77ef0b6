//! Writes scripts out rule by rule.
//!
//! A server runs straight code on locals much faster than loops over tables, so a script is composed: the lines of
//! `scripts/limit/{load,<transition>,finish}.lua` in order, where
//! * the lines between `--[each]` and `--[end]` stand once for each rule; those after `--[log]` or `--[plain]` only if a rule
//!   has a log, or none has,
//! * a line `--> section` stands for that section of each rule's algorithm, `--? section` for that of each rule that counts
//!   a hold, `--@ file` for the file of that name,
//! * names that end in `_1` are the first rule's, the other rules' end in their number; some stand for all that a rule's
//!   algorithm keeps or is told (`words_1`, `arguments_1`) and a few in capitals for a constant.

use std::fmt::Write as _;

use super::form::{LOG_SIZE, MAGIC};
use crate::algorithm::{self, Algorithm};

/// Where the arguments of the first rule stand in ARGV, after the time, the deadline and the amount.
pub(super) const FIRST_ARGUMENT: usize = 4;

/// The files that others include.
const INCLUDED: [(&str, &str); 6] = [
    ("place", include_str!("../../scripts/limit/place.lua")),
    ("expire", include_str!("../../scripts/limit/expire.lua")),
    ("log", include_str!("../../scripts/limit/log.lua")),
    ("collapse", include_str!("../../scripts/limit/collapse.lua")),
    ("append", include_str!("../../scripts/limit/append.lua")),
    ("save_log", include_str!("../../scripts/limit/save_log.lua")),
];

/// The names of a policy's rules, whose arguments are counted from `first` behind `base`.
pub(super) fn names(algorithms: &[Algorithm], base: &'static str, first: usize) -> Vec<Names> {
    let mut argument = first;
    let name = |(i, algorithm): (usize, &Algorithm)| {
        let names = Names { algorithm: *algorithm, number: i + 1, base, first_argument: argument };
        argument += names.argument_count();
        names
    };
    algorithms.iter().enumerate().map(name).collect()
}

/// Writes a part out.
pub(super) fn append(text: &mut String, rules: &[Names], part: &str, outer: &str) {
    let with_log = has_log(rules);
    let mut lines = part.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let indent = format!("{outer}{}", &line[..line.len() - code.len()]);
        let mut block = || lines.by_ref().take_while(|line| line.trim_start() != "--[end]").collect::<Vec<_>>();
        if code == "--[each]" {
            let block = block();
            for rule in rules {
                block.iter().for_each(|line| put(text, outer, &rule.write(line)));
            }
        } else if code == "--[log]" || code == "--[plain]" {
            let block = block();
            if (code == "--[log]") == with_log {
                append(text, rules, &block.join("\n"), outer);
            }
        } else if let Some(section) = code.strip_prefix("--? ") {
            for rule in rules {
                rule.append_section(text, section, &indent, "if bit.band(counted, MARK_1) > 0 then -- rule N_1");
            }
        } else if let Some(section) = code.strip_prefix("--> ") {
            if section == "charge" && with_log {
                append(text, rules, included("append"), &indent);
            }
            for (i, rule) in rules.iter().enumerate() {
                // Helpers are the same for all rules of an algorithm.
                let again = rules[..i].iter().any(|r| r.algorithm == rule.algorithm);
                if !(section == "helpers" && again) {
                    rule.append_section(text, section, &indent, "do -- rule N_1");
                }
            }
        } else if let Some(file) = code.strip_prefix("--@ ") {
            append(text, rules, included(file), &indent);
        } else {
            put(text, outer, &whole(line, rules));
        }
    }
}

fn has_log(rules: &[Names]) -> bool {
    rules.iter().any(|rule| rule.algorithm.definition().has_log)
}

fn included(file: &str) -> &'static str {
    INCLUDED.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text)
}

fn put(text: &mut String, indent: &str, line: &str) {
    let _ = writeln!(text, "{}", format!("{indent}{line}").trim_end());
}

/// What stands for all rules together.
fn whole(line: &str, rules: &[Names]) -> String {
    if !line.contains("ALL_") {
        return line.to_owned();
    }
    let records = rules.iter().map(|rule| algorithm::record_size(rule.algorithm)).sum::<usize>();
    let log = if has_log(rules) { LOG_SIZE as usize } else { 0 };
    // What a script expects: the value, or all that stands before the log's entries.
    let size = MAGIC.len() + records + log;
    let answers: Vec<String> = rules.iter().map(|rule| rule.write("wait_1, left_1, reset_1")).collect();
    let described: Vec<String> = rules.iter().map(|rule| rule.write("top_1, wait_1, left_1, reset_1")).collect();
    let next = FIRST_ARGUMENT + rules.iter().map(Names::argument_count).sum::<usize>();
    let counts: Vec<String> = algorithm::ALL.iter().map(|a| a.definition().words.len().to_string()).collect();
    line.replace("ALL_ANSWERS", &answers.join(", "))
        .replace("ALL_WORD_COUNTS", &counts.join(", "))
        .replace("ALL_END", &size.saturating_sub(1).to_string())
        .replace("ALL_COUNT", &rules.len().to_string())
        .replace("ALL_DESCRIBED", &described.join(", "))
        .replace("ALL_MARKS", &((1_u32 << rules.len()) - 1).to_string())
        .replace("ALL_NEXT", &next.to_string())
        .replace("ALL_FITS", &format!("#value == {size}"))
}

/// The names of one rule.
pub(super) struct Names {
    algorithm: Algorithm,
    /// From 1.
    number: usize,
    /// From where in ARGV its arguments are counted: nothing, or a name and a plus.
    base: &'static str,
    /// The place of its first argument.
    first_argument: usize,
}

impl Names {
    pub fn argument_count(&self) -> usize {
        self.algorithm.definition().arguments().len()
    }

    fn write(&self, code: &str) -> String {
        let definition = self.algorithm.definition();
        let suffixed = |names: &[&str]| names.iter().map(|name| format!("{name}_1")).collect::<Vec<_>>();
        let words = suffixed(definition.words);
        let arguments = suffixed(definition.arguments());
        let values: Vec<String> =
            (0..arguments.len()).map(|i| format!("tonumber(ARGV[{}{}])", self.base, self.first_argument + i)).collect();
        code.replace("words_1", &words.join(", "))
            .replace("sum_1", &words.join(" + "))
            .replace("zeros_1", &vec!["0"; words.len()].join(", "))
            .replace("arguments_1", &arguments.join(", "))
            .replace("values_1", &values.join(", "))
            .replace("FORMAT_1", &format!("'<BI8{}'", "I8".repeat(words.len())))
            .replace("ID_1", &definition.id.to_string())
            .replace("fresh_1", &format!("{} == 0", words[definition.fresh]))
            .replace("top_1", if definition.has_capacity { "capacity_1" } else { "limit_1" })
            .replace("MARK_1", &(1_u32 << (self.number - 1)).to_string())
            .replace("N_1", &self.number.to_string())
            .replace("_1", &format!("_{}", self.number))
    }

    fn append_section(&self, text: &mut String, section: &str, indent: &str, opening: &str) {
        let Some(code) = self.algorithm.definition().section(section) else { return };
        // Constants and helpers are there for the sections after them; the names of the others end with them.
        let inner = if matches!(section, "constants" | "helpers") { "" } else { "  " };
        if !inner.is_empty() {
            put(text, indent, &self.write(opening));
        }
        code.lines().for_each(|line| put(text, &format!("{indent}{inner}"), &self.write(line)));
        if !inner.is_empty() {
            put(text, indent, "end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: [&str; 13] = [
        "bound",
        "charge",
        "constants",
        "filled",
        "fits",
        "gather",
        "helpers",
        "oldest",
        "refund",
        "renumber",
        "settle",
        "show",
        "wait",
    ];

    #[test]
    fn every_directive_names_something() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/limit");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            for line in std::fs::read_to_string(&path).unwrap().lines().map(str::trim_start) {
                let section = line.strip_prefix("--> ").or(line.strip_prefix("--? "));
                assert!(section.is_none_or(|name| SECTIONS.contains(&name)), "{}: {line}", path.display());
                assert!(
                    line.strip_prefix("--@ ").is_none_or(|file| !included(file).is_empty()),
                    "{}: {line}",
                    path.display()
                );
            }
        }
        for algorithm in algorithm::ALL {
            for section in ["settle", "wait", "charge", "refund", "show"] {
                assert!(algorithm.definition().section(section).is_some(), "{algorithm:?} has no {section}");
            }
        }
    }
}
