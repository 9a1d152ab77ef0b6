//! Writes scripts out rule by rule.
//!
//! A server runs straight code on locals much faster than loops over tables, so a script is composed: the lines of
//! `scripts/limit/{load,<transition>,finish}.lua` in order, where
//! * the lines between `--[each]` and `--[end]` stand once for each rule; those after `--[log]` or `--[plain]` only if a rule
//!   has a log, or none has; those after `--[queued]` or `--[direct]` only if writes wait for the end of the script, or not,
//! * a line `--> section` stands for that section of each rule's algorithm, `--? section` for that of each rule that counts
//!   a hold, `--@ file` for the file of that name,
//! * names that end in `_1` are the first rule's, the other rules' end in their number; some stand for all that a rule's
//!   algorithm keeps or is told (`words_1`, `arguments_1`) and a few in capitals for a constant.

use std::fmt::Write as _;

use super::form::{self, LOG_SIZE, MAGIC};
use super::holds::{FILLED_SIZE, SIZE as HOLD_SIZE};
use super::looped;
use crate::rules::algorithm::Algorithm;

/// Where the arguments of the first rule stand in ARGV, after the time, the deadline, the amount and the heading.
pub(super) const FIRST_ARGUMENT: usize = 5;

/// The files that others include.
const INCLUDED: [(&str, &str); 8] = [
    ("rules", include_str!("../../scripts/limit/rules.lua")),
    ("head", include_str!("../../scripts/limit/head.lua")),
    ("place", include_str!("../../scripts/limit/place.lua")),
    ("expire", include_str!("../../scripts/limit/expire.lua")),
    ("log", include_str!("../../scripts/limit/log.lua")),
    ("collapse", include_str!("../../scripts/limit/collapse.lua")),
    ("append", include_str!("../../scripts/limit/append.lua")),
    ("save_log", include_str!("../../scripts/limit/save_log.lua")),
];

/// The rules that a part is written out for, and how it writes.
pub(super) struct Form {
    rules: Vec<Names>,
    /// Whether it is for every policy, so that the rules are known by the script only.
    looped: bool,
    /// Whether writes wait for the end of the script.
    queued: bool,
}

impl Form {
    /// One of no rules, for what is there once.
    pub fn none() -> Form {
        Form { rules: Vec::new(), looped: false, queued: true }
    }

    /// One for every policy, whose heading stands behind `at` in ARGV.
    pub fn looped(queued: bool) -> Form {
        Form { rules: Vec::new(), looped: true, queued }
    }

    /// One of rules with these algorithms, whose arguments are counted from `first` behind `base`; before them stands the
    /// heading.
    pub fn new(algorithms: &[Algorithm], base: &'static str, first: usize, queued: bool) -> Form {
        let (mut argument, mut prefix, mut buckets) = (first, MAGIC.len() + 1, 0);
        let name = |(i, algorithm): (usize, &Algorithm)| {
            let definition = algorithm.definition();
            let name = (prefix, form::name_size(definition));
            let names =
                Names { algorithm: *algorithm, number: i + 1, base, first_argument: argument, name, bucket: buckets };
            argument += names.argument_count();
            prefix += name.1;
            buckets += usize::from(definition.has_capacity);
            names
        };
        Form { rules: algorithms.iter().enumerate().map(name).collect(), looped: false, queued }
    }

    /// Writes a part out.
    pub fn append(&self, text: &mut String, part: &str, outer: &str) {
        let rules = &self.rules;
        let with_log = has_log(rules);
        let mut lines = part.lines();
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            let indent = format!("{outer}{}", &line[..line.len() - code.len()]);
            if let Some(directive) = code.strip_prefix("--[") {
                let (directive, block) = (directive.trim_end_matches(']'), block(&mut lines));
                let holds = match directive {
                    "each" | "log" | "plain" if self.looped => {
                        looped::block(text, directive, &block, outer, |text, outer| {
                            self.append(text, &block.join("\n"), outer);
                        });
                        false
                    }
                    "each" => {
                        for rule in rules {
                            block.iter().for_each(|line| put(text, outer, &rule.write(line)));
                        }
                        false
                    }
                    "log" => with_log,
                    "plain" => !with_log,
                    "queued" => self.queued,
                    "direct" => !self.queued,
                    "looped" => self.looped,
                    _ => !self.looped,
                };
                if holds {
                    self.append(text, &block.join("\n"), outer);
                }
            } else if let Some(section) = code.strip_prefix("--? ") {
                if self.looped {
                    looped::section(text, section, &indent, Some("bit.band(counted, MARK_1) > 0"));
                }
                for rule in rules {
                    rule.append_section(text, section, &indent, "if bit.band(counted, MARK_1) > 0 then -- rule N_1");
                }
            } else if let Some(section) = code.strip_prefix("--> ") {
                if self.looped {
                    if section == "charge" {
                        looped::append(text, &indent, |text, part, outer| self.append(text, part, outer));
                    }
                    looped::section(text, section, &indent, None);
                } else if section == "charge" && with_log {
                    self.append(text, included("append"), &indent);
                }
                for (i, rule) in rules.iter().enumerate() {
                    // Helpers are the same for all rules of an algorithm.
                    let again = rules[..i].iter().any(|r| r.algorithm == rule.algorithm);
                    if !(section == "helpers" && again) {
                        rule.append_section(text, section, &indent, "do -- rule N_1");
                    }
                }
            } else if let Some(file) = code.strip_prefix("--@ ") {
                self.append(text, included(file), &indent);
            } else {
                put(text, outer, &if self.looped { looped::whole(line) } else { whole(line, rules) });
            }
        }
    }
}

/// The lines of a block up to its end; others may stand in it.
fn block<'a>(lines: &mut std::str::Lines<'a>) -> Vec<&'a str> {
    let (mut block, mut open) = (Vec::new(), 1);
    for line in lines {
        let code = line.trim_start();
        open = if code == "--[end]" { open - 1 } else { open + usize::from(code.starts_with("--[")) };
        if open == 0 {
            break;
        }
        block.push(line);
    }
    block
}

fn has_log(rules: &[Names]) -> bool {
    rules.iter().any(|rule| rule.algorithm.definition().has_log)
}

pub(super) fn included(file: &str) -> &'static str {
    INCLUDED.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text)
}

/// Writes a line; comments and half of what it is indented stay here, since a server keeps every byte of a script.
pub(super) fn put(text: &mut String, indent: &str, line: &str) {
    let code = line.trim();
    if code.starts_with("--") {
        return;
    }
    let spaces = if code.is_empty() { 0 } else { (indent.len() + line.len() - line.trim_start().len()) / 2 };
    let _ = writeln!(text, "{}{code}", " ".repeat(spaces));
}

/// What stands for all rules together.
fn whole(line: &str, rules: &[Names]) -> String {
    if !line.contains("ALL_") {
        return line.to_owned();
    }
    let definitions = || rules.iter().map(|rule| rule.algorithm.definition());
    let words: Vec<String> = rules.iter().map(|rule| rule.write("words_1")).collect();
    let word_count: usize = definitions().map(|definition| definition.words.len()).sum();
    let prefix = MAGIC.len() + 1 + definitions().map(form::name_size).sum::<usize>();
    let log = if has_log(rules) { LOG_SIZE as usize } else { 0 };
    // What a script expects: the value, or all that stands before the log's entries.
    let size = prefix + 8 * word_count + log;
    let buckets = definitions().filter(|definition| definition.has_capacity).count();
    let answers: Vec<String> = rules.iter().map(|rule| rule.write("wait_1, left_1, reset_1")).collect();
    let described: Vec<String> = rules.iter().map(|rule| rule.write("TOP_1, wait_1, left_1, reset_1")).collect();
    let count = rules.iter().map(Names::argument_count).sum::<usize>();
    let next = rules.first().map_or(String::new(), |rule| format!("{}{}", rule.base, rule.first_argument + count));
    let heading = rules.first().map_or(String::new(), |rule| format!("ARGV[{}{}]", rule.base, rule.first_argument - 1));
    whole_sizes(line)
        .replace("ALL_ANSWERS", &answers.join(", "))
        .replace("ALL_WORDS", &words.join(", "))
        .replace("ALL_FORMAT", &format!("<{}", "I8".repeat(word_count)))
        .replace("ALL_HEADING", &heading)
        .replace("ALL_HOLD_SIZE", &(HOLD_SIZE + FILLED_SIZE * buckets).to_string())
        .replace("ALL_PREFIX", &prefix.to_string())
        .replace("ALL_LOG", &(prefix + 8 * word_count + 1).to_string())
        .replace("ALL_END", &size.saturating_sub(1).to_string())
        .replace("ALL_COUNT", &rules.len().to_string())
        .replace("ALL_DESCRIBED", &described.join(", "))
        .replace("ALL_MARKS", &((1_u32 << rules.len()) - 1).to_string())
        .replace("ALL_NEXT", &next)
        .replace("ALL_FITS", &format!("#value == {size}"))
}

/// What is the same for all policies.
pub(super) fn whole_sizes(line: &str) -> String {
    let listed = |sizes: Vec<usize>| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let (counts, name_sizes) = form::sizes();
    line.replace("ALL_WORD_COUNTS", &listed(counts)).replace("ALL_NAME_SIZES", &listed(name_sizes))
}

/// The names of one rule.
struct Names {
    algorithm: Algorithm,
    /// From 1.
    number: usize,
    /// From where in ARGV its arguments are counted: nothing, or a name and a plus.
    base: &'static str,
    /// The place of its first argument.
    first_argument: usize,
    /// Where its name stands in the heading, from 0, and how long it is.
    name: (usize, usize),
    /// How many buckets stand before it.
    bucket: usize,
}

impl Names {
    fn argument_count(&self) -> usize {
        self.algorithm.definition().arguments().len()
    }

    fn write(&self, code: &str) -> String {
        let definition = self.algorithm.definition();
        let suffixed = |names: &[&str]| names.iter().map(|name| format!("{name}_1")).collect::<Vec<_>>();
        let words = suffixed(definition.words);
        let arguments = suffixed(definition.arguments());
        let values: Vec<String> =
            (0..arguments.len()).map(|i| format!("tonumber(ARGV[{}{}])", self.base, self.first_argument + i)).collect();
        let fresh: Vec<String> = definition.fresh.iter().map(|word| format!("{} == 0", words[*word])).collect();
        code.replace("words_1", &words.join(", "))
            .replace("sum_1", &words.join(" + "))
            .replace("zeros_1", &vec!["0"; words.len()].join(", "))
            .replace("arguments_1", &arguments.join(", "))
            .replace("values_1", &values.join(", "))
            .replace("NAME_1", &format!("string.sub(heading, {}, {})", self.name.0 + 1, self.name.0 + self.name.1))
            .replace("FILLED_1", &(HOLD_SIZE + FILLED_SIZE * self.bucket).to_string())
            .replace("ID_1", &definition.id.to_string())
            .replace("fresh_1", &fresh.join(" and "))
            .replace("TOP_1", if definition.has_capacity { "capacity_1" } else { "limit_1" })
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

    const SECTIONS: [&str; 14] = [
        "bound",
        "carry",
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
        for algorithm in crate::rules::algorithm::ALL {
            for section in ["settle", "wait", "charge", "refund", "show"] {
                assert!(algorithm.definition().section(section).is_some(), "{algorithm:?} has no {section}");
            }
        }
    }
}
