//! The scripts of limiters: one set for each sequence of algorithms, written out rule by rule.
//!
//! A server runs straight code on locals much faster than loops over tables, so a script is composed: the lines of
//! `scripts/limit/{load,<transition>,finish}.lua` in order, where
//! * the lines between `--[each]` and `--[end]` stand once for each rule; those after `--[log]` or `--[plain]` only if a rule
//!   has a log, or none has,
//! * a line `--> section` stands for that section of each rule's algorithm, `--@ file` for the file of that name,
//! * names that end in `_1` are the first rule's, the other rules' end in their number; some stand for all that a rule's
//!   algorithm keeps or is told (`words_1`, `arguments_1`) and a few in capitals for a constant.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use once_cell::race::OnceBox;

use crate::algorithm::{self, Algorithm};
use crate::policy::Policy;
use crate::script::Script;

const LOAD: &str = include_str!("../../scripts/limit/load.lua");
const FINISH: &str = include_str!("../../scripts/limit/finish.lua");
const RECALL: &str = include_str!("../../scripts/limit/recall.lua");
const REMEMBER: &str = include_str!("../../scripts/limit/remember.lua");
const CHARGE: &str = include_str!("../../scripts/limit/charge.lua");
const ALL: &str = include_str!("../../scripts/limit/all.lua");
const RETURN: &str = "return reply\n";

/// The files that others include.
const INCLUDED: [(&str, &str); 6] = [
    ("place", include_str!("../../scripts/limit/place.lua")),
    ("expire", include_str!("../../scripts/limit/expire.lua")),
    ("log", include_str!("../../scripts/limit/log.lua")),
    ("collapse", include_str!("../../scripts/limit/collapse.lua")),
    ("append", include_str!("../../scripts/limit/append.lua")),
    ("save_log", include_str!("../../scripts/limit/save_log.lua")),
];

/// Where the arguments of the first rule stand in ARGV, after the time, the deadline and the amount.
const FIRST_ARGUMENT: usize = 4;

/// What is done with a limiter's key; a script each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Consume,
    /// As `Consume`, remembering the request.
    ConsumeOnce,
    UpTo,
    Refund,
    /// As `Refund`, remembering the request.
    RefundOnce,
    Block,
    Reserve,
    Settle,
    Reset,
}

impl Transition {
    const ALL: [Transition; 9] = [
        Transition::Consume,
        Transition::ConsumeOnce,
        Transition::UpTo,
        Transition::Refund,
        Transition::RefundOnce,
        Transition::Block,
        Transition::Reserve,
        Transition::Settle,
        Transition::Reset,
    ];

    fn name(self) -> &'static str {
        match self {
            Transition::Consume => "consume",
            Transition::ConsumeOnce => "consume-once",
            Transition::UpTo => "up-to",
            Transition::Refund => "refund",
            Transition::RefundOnce => "refund-once",
            Transition::Block => "block",
            Transition::Reserve => "reserve",
            Transition::Settle => "settle",
            Transition::Reset => "reset",
        }
    }

    fn parts(self) -> &'static [&'static str] {
        const CONSUME: &str = include_str!("../../scripts/limit/consume.lua");
        const UP_TO: &str = include_str!("../../scripts/limit/up_to.lua");
        const REFUND: &str = include_str!("../../scripts/limit/refund.lua");
        const BLOCK: &str = include_str!("../../scripts/limit/block.lua");
        const RESERVE: &str = include_str!("../../scripts/limit/reserve.lua");
        const SETTLE: &str = include_str!("../../scripts/limit/settle.lua");
        const RESET: &str = include_str!("../../scripts/limit/reset.lua");
        match self {
            Transition::Consume => &[LOAD, CONSUME, FINISH, RETURN],
            Transition::ConsumeOnce => &[RECALL, LOAD, CONSUME, FINISH, REMEMBER, RETURN],
            Transition::UpTo => &[LOAD, UP_TO, FINISH, "reply[#reply + 1] = taken\n", RETURN],
            Transition::Refund => &[LOAD, REFUND, FINISH, RETURN],
            Transition::RefundOnce => &[RECALL, LOAD, REFUND, FINISH, REMEMBER, RETURN],
            Transition::Block => &[LOAD, BLOCK, FINISH, RETURN],
            Transition::Reserve => &[LOAD, RESERVE, FINISH, RETURN],
            Transition::Settle => &[LOAD, SETTLE, FINISH, "reply[#reply + 1] = settled\n", RETURN],
            Transition::Reset => &[RESET],
        }
    }
}

/// Which algorithms a policy's rules use, in their order.
pub(super) type Shape = Box<[u8]>;

/// What was made in this process. Its lock is only ever tried: one that a fork left taken costs the making, nothing else.
static MADE: Mutex<Option<Made>> = Mutex::new(None);

#[derive(Default)]
struct Made {
    of_one_key: HashMap<Shape, Arc<Scripts>>,
    of_several: HashMap<Vec<Shape>, Arc<Script>>,
}

/// The scripts for policies whose rules use the same algorithms in the same order.
pub(super) struct Scripts {
    algorithms: Vec<Algorithm>,
    made: [OnceBox<Script>; Transition::ALL.len()],
}

impl Scripts {
    pub fn for_policy(policy: &Policy) -> Arc<Scripts> {
        let algorithms: Vec<Algorithm> = policy.rules().iter().map(|rule| rule.algorithm()).collect();
        let make = || Arc::new(Scripts { algorithms: algorithms.clone(), made: Default::default() });
        match MADE.try_lock() {
            Ok(mut made) => {
                made.get_or_insert_default().of_one_key.entry(shape(&algorithms)).or_insert_with(make).clone()
            }
            Err(_) => make(),
        }
    }

    /// Which algorithms, in their order, as their ids.
    pub fn shape(&self) -> Shape {
        shape(&self.algorithms)
    }

    pub fn of(&self, transition: Transition) -> &Script {
        self.made[transition as usize].get_or_init(|| Box::new(Script::new(&[&self.compose(transition)])))
    }

    fn compose(&self, transition: Transition) -> String {
        let mut text = String::new();
        let rules = names(&self.algorithms, "", FIRST_ARGUMENT);
        transition.parts().iter().for_each(|part| append(&mut text, &rules, part, ""));
        text
    }
}

fn shape(algorithms: &[Algorithm]) -> Shape {
    algorithms.iter().map(|a| a.definition().id).collect()
}

/// The script that charges several keys, whose policies have these forms.
pub(super) fn of_several(forms: &[&Scripts], once: bool) -> Arc<Script> {
    let make = || {
        let mut text = String::new();
        if once {
            append(&mut text, &[], RECALL, "");
        }
        text.push_str("local forms = {}\n");
        for (n, form) in forms.iter().enumerate() {
            let rules = names(&form.algorithms, "at + ", 1);
            let size = 3 + rules.iter().map(Names::argument_count).sum::<usize>();
            let _ = writeln!(text, "forms[{}] = {{size = {size}, decide = function(key, at)", n + 1);
            let mut inner = String::new();
            [LOAD, CHARGE, FINISH, RETURN].iter().for_each(|part| append(&mut inner, &rules, part, "  "));
            text.push_str(&inner.replace("KEYS[1]", "key"));
            text.push_str("end}\n");
        }
        append(&mut text, &[], ALL, "");
        if once {
            append(&mut text, &[], REMEMBER, "");
        }
        text.push_str(RETURN);
        Arc::new(Script::new(&[&text]))
    };
    let mut key: Vec<Shape> = forms.iter().map(|form| shape(&form.algorithms)).collect();
    key.extend(once.then(Shape::default));
    match MADE.try_lock() {
        Ok(mut made) => made.get_or_insert_default().of_several.entry(key).or_insert_with(make).clone(),
        Err(_) => make(),
    }
}

fn names(algorithms: &[Algorithm], base: &'static str, first: usize) -> Vec<Names> {
    let mut argument = first;
    let name = |(i, algorithm): (usize, &Algorithm)| {
        let names = Names { algorithm: *algorithm, number: i + 1, base, first_argument: argument };
        argument += names.argument_count();
        names
    };
    algorithms.iter().enumerate().map(name).collect()
}

fn append(text: &mut String, rules: &[Names], part: &str, outer: &str) {
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
        } else if let Some(section) = code.strip_prefix("--> ") {
            if section == "charge" && with_log {
                append(text, rules, included("append"), &indent);
            }
            for (i, rule) in rules.iter().enumerate() {
                // Helpers are the same for all rules of an algorithm.
                let again = rules[..i].iter().any(|r| r.algorithm == rule.algorithm);
                if !(section == "helpers" && again) {
                    rule.append_section(text, section, &indent);
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
    let size = rules.iter().map(|rule| algorithm::record_size(rule.algorithm)).sum::<usize>();
    let fits = if has_log(rules) { format!("#value == {}", 3 + size + 41) } else { format!("#value == {}", 3 + size) };
    let answers: Vec<String> = rules.iter().map(|rule| rule.write("wait_1, left_1, reset_1")).collect();
    let next = FIRST_ARGUMENT + rules.iter().map(Names::argument_count).sum::<usize>();
    let counts: Vec<String> = algorithm::ALL.iter().map(|a| a.definition().words.len().to_string()).collect();
    line.replace("ALL_ANSWERS", &answers.join(", "))
        .replace("ALL_WORD_COUNTS", &counts.join(", "))
        .replace("ALL_END", &(3 + size + 41 - 1).to_string())
        .replace("ALL_NEXT", &next.to_string())
        .replace("ALL_FITS", &fits)
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
    let forms: Vec<Scripts> = (algorithm::ALL.map(|a| vec![a]).into_iter().chain([algorithm::ALL.to_vec()]))
        .map(|algorithms| Scripts { algorithms, made: Default::default() })
        .collect();
    for form in &forms {
        let algorithms: Vec<&str> = form.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        for transition in Transition::ALL {
            let name = format!("{}-{}", transition.name(), algorithms.join("-"));
            all.push((name, form.of(transition).text().to_owned()));
        }
    }
    let forms: Vec<&Scripts> = forms.iter().collect();
    all.push(("consume-all".into(), of_several(&forms, false).text().to_owned()));
    all.push(("consume-all-once".into(), of_several(&forms, true).text().to_owned()));
    all
}
