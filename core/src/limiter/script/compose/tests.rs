use super::*;

/// What a section of Lua may be called.
const SECTIONS: [&str; 23] = [
    "aside",
    "bound",
    "carry",
    "charge",
    "constants",
    "count",
    "ends",
    "filled",
    "first",
    "fits",
    "gather",
    "helpers",
    "longest",
    "most",
    "oldest",
    "refund",
    "renumber",
    "restore",
    "settle",
    "show",
    "simple",
    "trim",
    "wait",
];

/// What else a rule has a name for, so that no word may be called so.
const TAKEN: [&str; 11] =
    ["capacity", "filled", "id", "left", "limit", "mark", "name", "number", "period", "reset", "wait"];

fn files() -> impl Iterator<Item = (String, String)> {
    ["script", "algorithm"].into_iter().flat_map(|folder| {
        let folder = format!("{}/src/limiter/{folder}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "lua")).map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.display().to_string(), text)
        })
    })
}

#[test]
fn every_directive_names_something() {
    for (path, text) in files() {
        for line in text.lines().map(str::trim_start) {
            let section = ["--> ", "--? ", "--* "].iter().find_map(|marker| line.strip_prefix(marker));
            assert!(section.is_none_or(|name| SECTIONS.contains(&name)), "{path}: {line}");
            let block = line.strip_prefix("--[");
            let blocks = ["each]", "log]", "plain]", "queued]", "direct]", "straight]", "looped]", "end]"];
            assert!(block.is_none_or(|name| blocks.contains(&name)), "{path}: {line}");
            assert!(line.strip_prefix("--@ ").is_none_or(|file| !included(file).is_empty()), "{path}: {line}");
        }
        // What is read line by line holds nothing that goes on in the next.
        assert!(!text.contains("[["), "{path}");
    }
}

#[test]
fn every_algorithm_has_its_sections() {
    for definition in ALL.iter().map(|algorithm| algorithm.definition()) {
        let has = |section: &str| definition.section(section).is_some();
        let name = definition.name;
        for section in ["simple", "ends", "wait", "refund", "show"] {
            assert!(has(section), "{name} has no {section}");
        }
        assert_eq!(has("filled"), definition.bucket.is_some(), "{name}: filled");
        for section in ["settle", "charge"] {
            assert_ne!(has(section), definition.log.is_some(), "{name}: {section}");
        }
        for section in [
            "aside", "bound", "count", "first", "fits", "gather", "longest", "most", "oldest", "renumber", "restore",
            "trim",
        ] {
            assert_eq!(has(section), definition.log.is_some(), "{name}: {section}");
        }
        for word in definition.words {
            assert!(!TAKEN.contains(word) && is_lower(word), "{name}: a word may not be called {word}");
        }
    }
}

#[test]
fn every_name_in_capitals_is_known() {
    let forms = [Form::new(&ALL, "", FIRST_ARGUMENT, false), Form::looped(false)];
    for (path, text) in files() {
        replace_names(&text, |name| {
            let about_rule = name.ends_with("_1") && !is_lower(&name[..name.len() - 2]);
            if about_rule {
                assert!(forms[0].rules[0].replacement(name).is_some(), "{path}: {name}");
            }
            if name.starts_with("ALL_") {
                assert!(forms.iter().any(|form| form.of_all(name).is_some()), "{path}: {name}");
            }
            None
        });
    }
}

/// An algorithm whose names look like each other, like what stands for a rule, and like its argument.
fn confusing() -> Definition {
    Definition {
        id: 7,
        name: "confusing",
        words: &["top", "sum", "stop"],
        fresh: &[0, 2],
        lua: "\
--> settle
local slimit_1, sums_1 = limit_1, 'limit_1 top_1'
if stop_1 <= now then top_1, sum_1, stop_1 = 0, 0, 0 end -- top_1
if FRESH_1 then WORDS_1 = ZEROS_1 end
rule.top_1 = TOP_1..'N_1' .. N_1 .. \"\\\"MARK_1\" .. words_1 .. XTOP_1 .. TOP_10
--> wait
wait_1 = SUM_1 > slimit_1 and stop_1 - now or 0
",
        ..*Algorithm::FIXED_WINDOW.definition()
    }
}

#[test]
fn names_are_not_confused() {
    let names = RuleNames {
        definition: Box::leak(Box::new(confusing())),
        number: 3,
        base: "",
        first_argument: 5,
        name: (4, 15),
        bucket: 0,
    };
    let mut form = Form::none();
    form.rules.push(names);
    let mut text = String::new();
    form.append(&mut text, "--> settle\n--> wait\nlocal ALL_X, KEYS_1 = ALL_WORDS, 'ALL_WORDS' -- ALL_WORDS", "");
    assert_eq!(
        text,
        "\
do -- rule 3
 local slimit_3, sums_3 = limit_3, 'limit_1 top_1'
 if stop_3 <= now then top_3, sum_3, stop_3 = 0, 0, 0 end -- top_1
 if top_3 == 0 and stop_3 == 0 then top_3, sum_3, stop_3 = 0, 0, 0 end
 rule.top_1 = limit_3..'N_1' .. 3 .. \"\\\"MARK_1\" .. words_3 .. XTOP_1 .. TOP_10
end
do -- rule 3
 wait_3 = top_3 + sum_3 + stop_3 > slimit_3 and stop_3 - now or 0
end
local ALL_X, KEYS_1 = top_3, sum_3, stop_3, 'ALL_WORDS' -- ALL_WORDS
"
    );
    let form = Form::looped(false);
    let listed = |line: &str| form.of_listed(line);
    assert_eq!(
        listed("  local stop_1, slimit_1 = TOP_1, 'top_1'"),
        "  rule.stop, rule.slimit = (rule.capacity or rule.limit), 'top_1'"
    );
    assert_eq!(listed("local stop = sum_1 + stop_1 .. MARK_1"), "local stop = rule.sum + rule.stop .. rule.mark");
    let of_record = |name: &str| looped::field_of_record(&confusing(), name).unwrap_or_default();
    assert_eq!(
        ["top_1", "stop_1", "limit_1", "TOP_1", "stop"].map(of_record),
        ["words[1]", "words[3]", "record.limit", "", ""]
    );
}
