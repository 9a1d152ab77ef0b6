//! What stands for the names in a script for every policy, whatever its rules, so that a server holds few of them.
//!
//! The rules are in a table there (`rules.lua`), and what `compose.rs` writes out rule by rule is a loop: names
//! that end in `_1` are fields of the rule, a section is that of the rule's algorithm.

use std::borrow::Cow;

use crate::limiter::algorithm::{ALL, Definition};
use crate::limiter::codec;
use wire::call::lua::{is_lower, is_name};

/// What stands for what is said of one rule.
const FIELDS: [(&str, &str); 7] = [
    ("N_1", "rule.number"),
    ("MARK_1", "rule.mark"),
    ("ID_1", "rule.id"),
    ("NAME_1", "rule.name"),
    ("FILLED_1", "rule.filled"),
    ("TOP_1", "(rule.capacity or rule.limit)"),
    ("FRESH_1", "is_fresh(rule)"),
];

/// What stands for what is said of all rules together.
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

fn look_up(known: &[(&'static str, &'static str)], name: &str) -> Option<Cow<'static, str>> {
    known.iter().find(|(known, _)| *known == name).map(|(_, code)| Cow::Borrowed(*code))
}

/// What stands for a name that is about a rule of the list.
pub(super) fn field(name: &str) -> Option<Cow<'static, str>> {
    let own = || name.strip_suffix("_1").filter(|stem| is_lower(stem)).map(|stem| format!("rule.{stem}").into());
    look_up(&FIELDS, name).or_else(own)
}

/// What stands for a name that is about a stored record: its words are in a list.
pub(super) fn field_of_record(definition: &Definition, name: &str) -> Option<Cow<'static, str>> {
    let stem = name.strip_suffix("_1").filter(|stem| is_lower(stem))?;
    let word = definition.words.iter().position(|word| *word == stem);
    Some(word.map_or_else(|| format!("record.{stem}"), |at| format!("words[{}]", at + 1)).into())
}

/// What stands for a name that is about all rules together.
pub(super) fn of_all(name: &str) -> Option<Cow<'static, str>> {
    look_up(&TOGETHER, name)
}

/// What is said of every algorithm there is: a table by their ids.
pub(super) fn of_all_algorithms(name: &str) -> Option<Cow<'static, str>> {
    let quoted = |words: &[&str]| format!("{{'{}'}}", words.join("', '"));
    let told: &dyn Fn(&Definition) -> Option<String> = match name {
        "ALL_WORD_COUNTS" => &|definition| Some(definition.words.len().to_string()),
        "ALL_WORD_NAMES" => &|definition| Some(quoted(definition.words)),
        "ALL_FRESH_NAMES" => {
            &|definition| Some(quoted(&definition.fresh.iter().map(|at| definition.words[*at]).collect::<Vec<_>>()))
        }
        "ALL_NAME_SIZES" => &|definition| Some(codec::name_size(definition).to_string()),
        "ALL_BUCKETS" => &|definition| definition.has_capacity().then(|| format!("[{}] = true", definition.id)),
        "ALL_LOGS" => &|definition| definition.has_log().then(|| format!("[{}] = true", definition.id)),
        _ => return None,
    };
    let mut definitions: Vec<&Definition> = ALL.iter().map(|algorithm| algorithm.definition()).collect();
    definitions.sort_by_key(|definition| definition.id);
    let listed: Vec<String> = definitions.into_iter().filter_map(told).collect();
    Some(format!("{{{}}}", listed.join(", ")).into())
}

/// A line without the declaration of what is a field here.
pub(super) fn undeclared(line: &str) -> Cow<'_, str> {
    let code = line.trim_start();
    let declared = code
        .strip_prefix("local ")
        .filter(|rest| rest.split(|c: char| !is_name(c)).next().is_some_and(|name| field(name).is_some()));
    declared.map_or(Cow::Borrowed(line), |rest| format!("{}{rest}", &line[..line.len() - code.len()]).into())
}
