//! Writes a script for every policy, whatever its rules, so that a server holds few of them.
//!
//! As in `compose.rs`, but the rules are in a table (`scripts/limit/rules.lua`), and what is written out there rule by rule
//! is a loop here: names that end in `_1` are fields of the rule, a section is that of the rule's algorithm.

use super::compose::{included, put, whole_sizes};
use crate::rules::algorithm::ALL;

/// What stands for what else is said of one rule.
const FIELDS: [(&str, &str); 7] = [
    ("N_1", "rule.number"),
    ("MARK_1", "rule.mark"),
    ("ID_1", "rule.id"),
    ("NAME_1", "rule.name"),
    ("FILLED_1", "rule.filled"),
    ("TOP_1", "(rule.capacity or rule.limit)"),
    ("fresh_1", "is_fresh(rule)"),
];

/// What stands for all rules together.
const TOGETHER: [(&str, &str); 8] = [
    ("ALL_PREFIX", "#heading"),
    ("ALL_HOLD_SIZE", "usual_holds"),
    ("ALL_LOG", "#heading + 8 * word_count + 1"),
    ("ALL_END", "usual_size - 1"),
    ("ALL_COUNT", "#list"),
    ("ALL_MARKS", "every_rule"),
    ("ALL_NEXT", "behind"),
    ("ALL_FITS", "#value == usual_size"),
];

/// Writes the block behind a directive, if it is one of those that mean something else here.
pub(super) fn block(
    text: &mut String,
    directive: &str,
    block: &[&str],
    outer: &str,
    rest: impl FnOnce(&mut String, &str),
) {
    let opening = match directive {
        "each" => "for _, rule in ipairs(list) do",
        "log" => "if with_log then",
        _ => "if not with_log then",
    };
    put(text, outer, opening);
    let inner = format!("{outer}  ");
    match directive {
        "each" => block.iter().for_each(|line| put(text, &inner, &of_rule(line))),
        _ => rest(text, &inner),
    }
    put(text, outer, "end");
}

/// Writes a section: of each rule that of its algorithm, if `condition` holds.
pub(super) fn section(text: &mut String, name: &str, indent: &str, condition: Option<&str>) {
    let with_section = ALL.iter().filter_map(|algorithm| Some((algorithm, algorithm.definition().section(name)?)));
    if name == "helpers" {
        with_section.for_each(|(_, code)| code.lines().for_each(|line| put(text, indent, line)));
        return;
    }
    put(text, indent, "for _, rule in ipairs(list) do");
    let mut keyword = "if";
    for (algorithm, code) in with_section {
        let condition = condition.map_or(String::new(), |condition| format!("{} and ", of_rule(condition)));
        let id = algorithm.definition().id;
        put(text, indent, &format!("  {keyword} {condition}rule.id == {id} then -- {}", algorithm.name()));
        code.lines().for_each(|line| put(text, &format!("{indent}    "), &of_rule(line)));
        keyword = "elseif";
    }
    put(text, indent, "  end");
    put(text, indent, "end");
}

/// A line about one rule.
fn of_rule(line: &str) -> String {
    let code = line.trim_start();
    // What is a local there is a field here.
    let declares = code
        .strip_prefix("local ")
        .filter(|rest| rest.split(|c: char| !is_name(c)).next().is_some_and(|n| n.ends_with("_1")));
    let line = match declares {
        Some(rest) => format!("{}{rest}", &line[..line.len() - code.len()]),
        None => line.to_owned(),
    };
    let (mut written, mut rest) = (String::new(), line.as_str());
    while let Some(at) = rest.find(is_name) {
        let end = rest[at..].find(|c| !is_name(c)).map_or(rest.len(), |length| at + length);
        let (before, name) = (&rest[..at], &rest[at..end]);
        written.push_str(before);
        match (FIELDS.iter().find(|(known, _)| *known == name), name.strip_suffix("_1")) {
            (Some((_, field)), _) => written.push_str(field),
            (None, Some(field)) => written.extend(["rule.", field]),
            (None, None) => written.push_str(name),
        }
        rest = &rest[end..];
    }
    whole(&(written + rest))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A line about all rules.
pub(super) fn whole(line: &str) -> String {
    if !line.contains("ALL_") {
        return line.to_owned();
    }
    let of = |words: &[&str]| format!("{{'{}'}}", words.join("', '"));
    let names: Vec<String> = ALL.iter().map(|algorithm| of(algorithm.definition().words)).collect();
    let fresh = ALL.iter().map(|algorithm| algorithm.definition());
    let fresh: Vec<String> =
        fresh.map(|d| of(&d.fresh.iter().map(|word| d.words[*word]).collect::<Vec<_>>())).collect();
    let line =
        whole_sizes(line).replace("ALL_WORD_NAMES", &names.join(", ")).replace("ALL_FRESH_NAMES", &fresh.join(", "));
    TOGETHER.iter().fold(line, |line, (name, code)| line.replace(name, code))
}

/// What is included before a charge.
pub(super) fn append(text: &mut String, indent: &str, write: impl FnOnce(&mut String, &str, &str)) {
    put(text, indent, "if with_log then");
    write(text, included("append"), &format!("{indent}  "));
    put(text, indent, "end");
}
