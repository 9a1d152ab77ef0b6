//! The scripts of limiters: one set for each sequence of algorithms, written out rule by rule.
//!
//! A server runs straight code on locals much faster than loops over tables, so a script is composed: the lines of
//! `scripts/limit/{load,<transition>,finish}.lua` in order, where
//! * the lines between `--[each]` and `--[end]` stand once for each rule,
//! * a line `--> section` stands for that section of each rule's algorithm, `--@ place` for the file of that name,
//! * names that end in `_1` are the first rule's, the other rules' end in their number; some stand for all that a rule's
//!   algorithm keeps or is told (`words_1`, `arguments_1`) and a few in capitals for a constant.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use crate::algorithm::{self, Algorithm};
use crate::policy::Policy;
use crate::script::Script;

const LOAD: &str = include_str!("../../scripts/limit/load.lua");
const PLACE: &str = include_str!("../../scripts/limit/place.lua");
const FINISH: &str = include_str!("../../scripts/limit/finish.lua");
const CONSUME: &str = include_str!("../../scripts/limit/consume.lua");
const REFUND: &str = include_str!("../../scripts/limit/refund.lua");
const BLOCK: &str = include_str!("../../scripts/limit/block.lua");
const RESET: &str = include_str!("../../scripts/limit/reset.lua");

/// Which algorithms a policy's rules use, in their order.
type Shape = Box<[u8]>;

/// Made so far in this process. Only ever tried: a lock that a fork left taken costs the making, nothing else.
static MADE: Mutex<Option<HashMap<Shape, Arc<Scripts>>>> = Mutex::new(None);

/// The scripts for policies whose rules use the same algorithms in the same order.
pub(super) struct Scripts {
    pub consume: Script,
    pub refund: Script,
    pub block: Script,
    pub reset: Script,
}

impl Scripts {
    pub fn for_policy(policy: &Policy) -> Arc<Scripts> {
        let algorithms: Vec<Algorithm> = policy.rules().iter().map(|rule| rule.algorithm()).collect();
        let shape = algorithms.iter().map(|a| a.definition().id).collect();
        match MADE.try_lock() {
            Ok(mut made) => {
                let made = made.get_or_insert_default();
                made.entry(shape).or_insert_with(|| Arc::new(Scripts::make(&algorithms))).clone()
            }
            Err(_) => Arc::new(Scripts::make(&algorithms)),
        }
    }

    fn make(algorithms: &[Algorithm]) -> Scripts {
        let with = |transition| Script::new(&[&compose(algorithms, &[LOAD, transition, FINISH])]);
        Scripts { consume: with(CONSUME), refund: with(REFUND), block: with(BLOCK), reset: Script::new(&[RESET]) }
    }
}

fn compose(algorithms: &[Algorithm], parts: &[&str]) -> String {
    let (mut text, mut argument) = (String::new(), 4);
    let rules: Vec<Names> = algorithms
        .iter()
        .enumerate()
        .map(|(i, algorithm)| {
            let first = argument;
            argument += algorithm.definition().arguments().len();
            Names { algorithm: *algorithm, number: i + 1, first_argument: first }
        })
        .collect();
    for part in parts {
        append(&mut text, &rules, part, "");
    }
    text
}

fn append(text: &mut String, rules: &[Names], part: &str, outer: &str) {
    let mut lines = part.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let indent = format!("{outer}{}", &line[..line.len() - code.len()]);
        if code == "--[each]" {
            let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim_start() != "--[end]").collect();
            for rule in rules {
                block.iter().for_each(|line| put(text, outer, &rule.write(line)));
            }
        } else if let Some(section) = code.strip_prefix("--> ") {
            for (i, rule) in rules.iter().enumerate() {
                // Helpers are the same for all rules of an algorithm.
                let again = rules[..i].iter().any(|r| r.algorithm == rule.algorithm);
                if !(section == "helpers" && again) {
                    rule.append_section(text, section, &indent);
                }
            }
        } else if code == "--@ place" {
            append(text, rules, PLACE, &indent);
        } else {
            put(text, outer, &whole(line, rules));
        }
    }
}

fn put(text: &mut String, indent: &str, line: &str) {
    let _ = writeln!(text, "{}", format!("{indent}{line}").trim_end());
}

/// What stands for all rules together.
fn whole(line: &str, rules: &[Names]) -> String {
    if !line.contains("ALL_") {
        return line.to_owned();
    }
    let size = rules.iter().map(|rule| algorithm::record_size(rule.algorithm)).sum::<usize>();
    let answers: Vec<String> = rules.iter().map(|rule| rule.write("wait_1, left_1, reset_1")).collect();
    let counts: Vec<String> = algorithm::ALL.iter().map(|a| a.definition().words.len().to_string()).collect();
    line.replace("ALL_ANSWERS", &answers.join(", "))
        .replace("ALL_WORD_COUNTS", &counts.join(", "))
        .replace("ALL_SIZE", &(3 + size).to_string())
}

/// The names of one rule.
struct Names {
    algorithm: Algorithm,
    /// From 1.
    number: usize,
    /// The place of its first argument in ARGV.
    first_argument: usize,
}

impl Names {
    fn write(&self, code: &str) -> String {
        let definition = self.algorithm.definition();
        let suffixed = |names: &[&str]| names.iter().map(|name| format!("{name}_1")).collect::<Vec<_>>();
        let words = suffixed(definition.words);
        let arguments = suffixed(definition.arguments());
        let values: Vec<String> =
            (0..arguments.len()).map(|i| format!("tonumber(ARGV[{}])", self.first_argument + i)).collect();
        code.replace("words_1", &words.join(", "))
            .replace("sum_1", &words.join(" + "))
            .replace("zeros_1", &vec!["0"; words.len()].join(", "))
            .replace("arguments_1", &arguments.join(", "))
            .replace("values_1", &values.join(", "))
            .replace("FORMAT_1", &format!("'<BI8{}'", "I8".repeat(words.len())))
            .replace("ID_1", &definition.id.to_string())
            .replace("N_1", &self.number.to_string())
            .replace("_1", &format!("_{}", self.number))
    }

    fn append_section(&self, text: &mut String, section: &str, indent: &str) {
        let Some(code) = self.algorithm.definition().section(section) else { return };
        // Constants and helpers are there for the sections after them; the names of the others end with them.
        let inner = if matches!(section, "constants" | "helpers") { "" } else { "  " };
        if !inner.is_empty() {
            put(text, indent, &self.write("do -- rule N_1"));
        }
        code.lines().for_each(|line| put(text, &format!("{indent}{inner}"), &self.write(line)));
        if !inner.is_empty() {
            put(text, indent, "end");
        }
    }
}

/// Scripts with names that tell their transition and algorithms, such as `consume-fixed-window`: those of every policy of
/// one rule, and of one with a rule of each algorithm.
pub fn scripts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let shapes = algorithm::ALL.map(|a| vec![a]).into_iter().chain([algorithm::ALL.to_vec()]);
    for shape in shapes {
        let made = Scripts::make(&shape);
        let algorithms: Vec<&str> = shape.iter().map(|algorithm| algorithm.name()).collect();
        for (transition, script) in [("consume", &made.consume), ("refund", &made.refund), ("block", &made.block)] {
            all.push((format!("{transition}-{}", algorithms.join("-")), script.text().to_owned()));
        }
        if all.len() == 3 {
            all.push(("reset".into(), made.reset.text().to_owned()));
        }
    }
    all
}
