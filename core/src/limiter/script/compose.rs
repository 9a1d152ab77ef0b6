//! Writes scripts out rule by rule; `script/README.md` is the manual.
//!
//! A server runs straight code on locals much faster than loops over tables, so a script is composed: the lines of
//! `{load,<transition>,finish}.lua` in order, where
//! * the lines between `--[each]` and `--[end]` stand once for each rule; those after `--[log]` or `--[plain]` only if a rule
//!   has a log, or none has; those after `--[queued]` or `--[direct]` only if writes wait for the end of the script, or not,
//! * a line `--> section` stands for that section of each rule's algorithm, `--? section` for that of each rule that counts
//!   a hold, `--* section` for that of the algorithm of a stored record, `--@ file` for the file of that name,
//! * names that end in `_1` are the first rule's, the other rules' end in their number; in capitals they say something of
//!   the rule (`WORDS_1`), and so do those that begin with `ALL_` of all rules together.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::looped;
use crate::limiter::algorithm::{ALL, Algorithm, Definition};
use crate::limiter::codec::{self, LOG_SIZE, MAGIC};
use crate::limiter::holds::{FILLED_SIZE, SIZE as HOLD_SIZE};
use wire::base::format::CHECK_FORMAT;
use wire::call::lua::{is_lower, replace_names};

/// Where the arguments of the first rule stand in ARGV, after the time, the deadline, the amount and the heading.
pub(super) const FIRST_ARGUMENT: usize = 5;

/// The files that others include.
const INCLUDED: [(&str, &str); 14] = [
    ("format", CHECK_FORMAT),
    ("rules", include_str!("rules.lua")),
    ("head", include_str!("head.lua")),
    ("migrate", include_str!("migrate.lua")),
    ("decode", include_str!("decode.lua")),
    ("match", include_str!("match.lua")),
    ("rearrange", include_str!("rearrange.lua")),
    ("expire", include_str!("expire.lua")),
    ("log", include_str!("log.lua")),
    ("collapse", include_str!("collapse.lua")),
    ("append", include_str!("append.lua")),
    ("save_log", include_str!("save_log.lua")),
    ("carry_log", include_str!("carry_log.lua")),
    ("reply", include_str!("reply.lua")),
];

/// The rules that a part is written out for, and how it writes.
pub(super) struct Form {
    rules: Vec<RuleNames>,
    /// Whether it is for every policy, so that the rules are known by the script only.
    looped: bool,
    /// Whether writes wait for the end of the script.
    queued: bool,
    /// What the key is called.
    key: &'static str,
}

/// What stands for a name.
type Replacement = Option<Cow<'static, str>>;

impl Form {
    /// One of no rules, for what is there once.
    pub fn none() -> Form {
        Form { rules: Vec::new(), looped: false, queued: true, key: "KEYS[1]" }
    }

    /// One for every policy, whose heading stands behind `at` in ARGV.
    pub fn looped(queued: bool) -> Form {
        Form { rules: Vec::new(), looped: true, queued, key: "KEYS[1]" }
    }

    /// One of rules with these algorithms, whose arguments are counted from `first` behind `base`; before them stands the
    /// heading.
    pub fn new(algorithms: &[Algorithm], base: &'static str, first: usize, queued: bool) -> Form {
        let (mut argument, mut prefix, mut buckets) = (first, MAGIC.len() + 1, 0);
        let name = |(i, algorithm): (usize, &Algorithm)| {
            let definition = algorithm.definition();
            let name = (prefix, codec::name_size(definition));
            let names = RuleNames { definition, number: i + 1, base, first_argument: argument, name, bucket: buckets };
            argument += names.argument_count();
            prefix += name.1;
            buckets += usize::from(definition.has_capacity());
            names
        };
        Form { rules: algorithms.iter().enumerate().map(name).collect(), looped: false, queued, key: "KEYS[1]" }
    }

    /// The same with another name for the key.
    pub fn of_key(self, key: &'static str) -> Form {
        Form { key, ..self }
    }

    /// Writes a part out.
    pub fn append(&self, text: &mut String, part: &str, outer: &str) {
        let mut lines = part.lines();
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            let indent = format!("{outer}{}", &line[..line.len() - code.len()]);
            if let Some(directive) = code.strip_prefix("--[") {
                self.append_block(text, directive.trim_end_matches(']'), &block(&mut lines), outer);
            } else if let Some(section) = code.strip_prefix("--? ") {
                self.append_section(text, section, &indent, true);
            } else if let Some(section) = code.strip_prefix("--> ") {
                if section == "charge" {
                    self.append_block(text, "log", &["--@ append"], &indent);
                }
                self.append_section(text, section, &indent, false);
            } else if let Some(section) = code.strip_prefix("--* ") {
                by_algorithm(text, section, &indent, "kind", |definition, line| {
                    self.write(line, |name| looped::field_of_record(definition, name))
                });
            } else if let Some(file) = code.strip_prefix("--@ ") {
                self.append(text, included(file), &indent);
            } else {
                push_line(text, outer, &self.write(line, |_| None));
            }
        }
    }

    /// Writes the lines behind a directive, up to its end.
    fn append_block(&self, text: &mut String, directive: &str, block: &[&str], outer: &str) {
        let (part, inner) = (block.join("\n"), format!("{outer}  "));
        let holds = match directive {
            "each" if self.looped => {
                push_line(text, outer, "for _, rule in ipairs(list) do");
                block.iter().for_each(|line| push_line(text, &inner, &self.of_listed(line)));
                push_line(text, outer, "end");
                false
            }
            "each" => {
                let each = |rule: &RuleNames| {
                    block.iter().for_each(|line| push_line(text, outer, &self.line_of_rule(rule, line)))
                };
                self.rules.iter().for_each(each);
                false
            }
            "log" | "plain" if self.looped => {
                push_line(text, outer, if directive == "log" { "if with_log then" } else { "if not with_log then" });
                self.append(text, &part, &inner);
                push_line(text, outer, "end");
                false
            }
            "log" => self.has_log(),
            "plain" => !self.has_log(),
            "queued" => self.queued,
            "direct" => !self.queued,
            "looped" => self.looped,
            _ => !self.looped,
        };
        if holds {
            self.append(text, &part, outer);
        }
    }

    /// Writes a section of each rule's algorithm; of a hold, if the rule counts it.
    fn append_section(&self, text: &mut String, section: &str, indent: &str, of_hold: bool) {
        let counts = "bit.band(counted, MARK_1) > 0";
        // Constants and helpers are there for the sections after them; the names of the others end with them.
        let stays = matches!(section, "constants" | "helpers");
        if self.looped && section == "helpers" {
            let with_helpers = ALL.iter().filter_map(|algorithm| algorithm.definition().section(section));
            with_helpers.for_each(|code| code.lines().for_each(|line| push_line(text, indent, &self.of_listed(line))));
        } else if self.looped {
            push_line(text, indent, "for _, rule in ipairs(list) do");
            let subject = if of_hold { self.of_listed(&format!("{counts} and rule.id")) } else { "rule.id".into() };
            by_algorithm(text, section, &format!("{indent}  "), &subject, |_, line| self.of_listed(line));
            push_line(text, indent, "end");
        }
        for (i, rule) in self.rules.iter().enumerate() {
            let Some(code) = rule.definition.section(section) else { continue };
            // Helpers are the same for all rules of an algorithm.
            if section == "helpers" && self.rules[..i].iter().any(|other| other.definition.id == rule.definition.id) {
                continue;
            }
            let opening =
                if of_hold { format!("if {} then", self.line_of_rule(rule, counts)) } else { "do".to_owned() };
            let inner = if stays { indent.to_owned() } else { format!("{indent}  ") };
            if !stays {
                push_line(text, indent, &format!("{opening} -- rule {}", rule.number));
            }
            code.lines().for_each(|line| push_line(text, &inner, &self.line_of_rule(rule, line)));
            if !stays {
                push_line(text, indent, "end");
            }
        }
    }

    /// A line about one rule.
    fn line_of_rule(&self, rule: &RuleNames, line: &str) -> String {
        self.write(line, |name| rule.replacement(name))
    }

    /// A line about one rule of the list.
    fn of_listed(&self, line: &str) -> String {
        self.write(&looped::undeclared(line), looped::field)
    }

    /// A line with what stands for its names: by `known`, else of all rules.
    fn write(&self, line: &str, known: impl Fn(&str) -> Replacement) -> String {
        replace_names(line, |name| known(name).or_else(|| self.of_all(name)))
    }

    fn has_log(&self) -> bool {
        self.rules.iter().any(|rule| rule.definition.has_log())
    }

    /// What stands for a name that is about all rules.
    fn of_all(&self, name: &str) -> Replacement {
        if name == "KEY" {
            return Some(self.key.into());
        }
        name.strip_prefix("ALL_")?;
        looped::of_all_algorithms(name).or_else(|| if self.looped { looped::of_all(name) } else { self.of_rules(name) })
    }

    /// What stands for a name that is about these rules together.
    fn of_rules(&self, name: &str) -> Replacement {
        let rules = &self.rules;
        let definitions = || rules.iter().map(|rule| rule.definition);
        let of_each =
            |code: &str| rules.iter().map(|rule| self.line_of_rule(rule, code)).collect::<Vec<_>>().join(", ");
        let word_count: usize = definitions().map(|definition| definition.words.len()).sum();
        let prefix = MAGIC.len() + 1 + definitions().map(codec::name_size).sum::<usize>();
        // What a script expects: the value, or all that stands before the log's entries.
        let size = prefix + 8 * word_count + if self.has_log() { LOG_SIZE as usize } else { 0 };
        let first = rules.first();
        let written = match name {
            "ALL_ANSWERS" => of_each("wait_1, left_1, reset_1"),
            "ALL_DESCRIBED" => of_each("TOP_1, wait_1, left_1, reset_1"),
            "ALL_WORDS" => of_each("WORDS_1"),
            "ALL_FORMAT" => format!("'<{}'", "I8".repeat(word_count)),
            "ALL_HEADING" => first.map_or_else(String::new, |rule| rule.argument(-1)),
            "ALL_HOLD_SIZE" => (HOLD_SIZE
                + FILLED_SIZE * definitions().filter(|definition| definition.has_capacity()).count())
            .to_string(),
            "ALL_PREFIX" => prefix.to_string(),
            "ALL_LOG" => (prefix + 8 * word_count + 1).to_string(),
            "ALL_END" => format!("'{}'", size.saturating_sub(1)),
            "ALL_ANSWER_FORMAT" => format!("'<{}'", "i8".repeat(4 + 3 * rules.len())),
            "ALL_COUNT" => rules.len().to_string(),
            "ALL_MARKS" => ((1_u32 << rules.len()) - 1).to_string(),
            "ALL_NEXT" => first.map_or_else(String::new, |rule| {
                let count: usize = rules.iter().map(RuleNames::argument_count).sum();
                format!("{}{}", rule.base, rule.first_argument + count)
            }),
            "ALL_FITS" => format!("#value == {size}"),
            _ => return None,
        };
        Some(written.into())
    }
}

/// Writes what each algorithm has of a section, for the one whose id `subject` ends with.
fn by_algorithm(
    text: &mut String,
    section: &str,
    indent: &str,
    subject: &str,
    write: impl Fn(&Definition, &str) -> String,
) {
    let mut keyword = "if";
    for definition in ALL.iter().map(|algorithm| algorithm.definition()) {
        let Some(code) = definition.section(section) else { continue };
        push_line(text, indent, &format!("{keyword} {subject} == {} then -- {}", definition.id, definition.name));
        code.lines().for_each(|line| push_line(text, &format!("{indent}  "), &write(definition, line)));
        keyword = "elseif";
    }
    if keyword == "elseif" {
        push_line(text, indent, "end");
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

fn included(file: &str) -> &'static str {
    INCLUDED.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text)
}

/// Writes a line; comments and half of what it is indented stay here, since a server keeps every byte of a script.
fn push_line(text: &mut String, indent: &str, line: &str) {
    let code = line.trim();
    if code.starts_with("--") {
        return;
    }
    let spaces = if code.is_empty() { 0 } else { (indent.len() + line.len() - line.trim_start().len()) / 2 };
    let _ = writeln!(text, "{}{code}", " ".repeat(spaces));
}

/// The names of one rule.
struct RuleNames {
    definition: &'static Definition,
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

impl RuleNames {
    fn argument_count(&self) -> usize {
        self.definition.arguments().len()
    }

    /// An argument, counted from its first one.
    fn argument(&self, offset: isize) -> String {
        format!("ARGV[{}{}]", self.base, self.first_argument.saturating_add_signed(offset))
    }

    /// What stands for a name that is about this rule.
    fn replacement(&self, name: &str) -> Replacement {
        let (definition, stem) = (self.definition, name.strip_suffix("_1")?);
        let own = |names: &[&str], glue: &str| {
            names.iter().map(|name| format!("{name}_{}", self.number)).collect::<Vec<_>>().join(glue)
        };
        let written = match stem {
            "WORDS" => own(definition.words, ", "),
            "SUM" => own(definition.words, " + "),
            "ZEROS" => vec!["0"; definition.words.len()].join(", "),
            "ARGUMENTS" => own(definition.arguments(), ", "),
            "VALUES" => {
                let values = (0..self.argument_count()).map(|i| format!("{} + 0.0", self.argument(i as isize)));
                values.collect::<Vec<_>>().join(", ")
            }
            "NAME" => format!("string.sub(heading, {}, {})", self.name.0 + 1, self.name.0 + self.name.1),
            "FILLED" => (HOLD_SIZE + FILLED_SIZE * self.bucket).to_string(),
            "ID" => definition.id.to_string(),
            "FRESH" => {
                let words: Vec<&str> = definition.fresh.iter().map(|word| definition.words[*word]).collect();
                format!("{} == 0", own(&words, " == 0 and "))
            }
            "TOP" => own(&[if definition.has_capacity() { "capacity" } else { "limit" }], ""),
            "MARK" => (1_u32 << (self.number - 1)).to_string(),
            "N" => self.number.to_string(),
            _ if is_lower(stem) => own(&[stem], ""),
            _ => return None,
        };
        Some(written.into())
    }
}

#[cfg(test)]
mod tests;
