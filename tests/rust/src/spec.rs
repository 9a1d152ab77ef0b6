//! Reads `tests/spec/vectors` and keeps the list of what was executed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cases of one vector file.
pub fn cases(file: &str) -> Vec<Value> {
    let path = root().join("tests/spec/vectors").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole["cases"].as_array().unwrap().clone()
}

/// The names of all vector files.
pub fn files() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("tests/spec/vectors")).unwrap();
    let mut names: Vec<String> = folder.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(".json"));
    names.sort();
    names
}

/// A case's id.
pub fn id(case: &Value) -> String {
    case["id"].as_str().unwrap().to_owned()
}

/// The bytes of a field that may be text or `<field>_hex`.
pub fn bytes(object: &Value, field: &str) -> Option<Vec<u8>> {
    if let Some(text) = object[field].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    object[format!("{field}_hex")].as_str().map(unhex)
}

/// The bytes of each in a list of texts, or of hexadecimals in `<field>_hex`.
pub fn list_of_bytes(object: &Value, field: &str) -> Option<Vec<Vec<u8>>> {
    if let Some(texts) = object[field].as_array() {
        return Some(texts.iter().map(|text| text.as_str().unwrap().as_bytes().to_vec()).collect());
    }
    let digits = object[format!("{field}_hex")].as_array()?;
    Some(digits.iter().map(|digits| unhex(digits.as_str().unwrap())).collect())
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// The commands that a text of the documentation lists as rights.
pub fn listed(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let words = text.split(|c: char| c.is_whitespace() || "`,.()".contains(c));
    // A lone plus is one of a sum.
    words.filter_map(|word| word.strip_prefix('+')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Writes what was executed, and fails unless it is exactly what the spec holds.
pub fn assert_all_executed(language: &str, store: &str, executed: &BTreeSet<String>) {
    let all: BTreeSet<String> = files().iter().flat_map(|f| cases(f).iter().map(id).collect::<Vec<_>>()).collect();
    let folder = root().join("target/vectors");
    std::fs::create_dir_all(&folder).unwrap();
    let list = serde_json::to_string_pretty(executed).unwrap();
    std::fs::write(folder.join(format!("{language}-{store}.json")), list).unwrap();
    assert_eq!(executed, &all, "the executed vectors are not those of the spec");
}
