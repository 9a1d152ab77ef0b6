//! The body of a refusal.

use std::fmt::Write;

use super::{HttpDecisions, is_blocked, name_of};
use crate::limiter::decision::{CombinedDecision, Decision, RuleDecision};
use wire::base::error::{Error, Result};
use wire::base::source::Source;

/// Where the types of problems are registered.
macro_rules! registered {
    ($name:literal) => {
        concat!("https://iana.org/assignments/http-problem-types#", $name)
    };
}

/// Why a request was refused, as RFC 9457 tells it (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The type's URI, of draft-ietf-httpapi-ratelimit-headers-11.
    pub kind: &'static str,
    /// What the type means, always the same for one.
    pub title: &'static str,
    /// The status of the answer: 429, or 503 if Redis could not be asked.
    pub status: u16,
    /// What happened to this request, and what to do.
    pub detail: String,
    /// The member `violated-policies`: the rules that deny, named as in the header fields;
    /// none if the call was not counted.
    pub violated_policies: Vec<String>,
}

impl Problem {
    /// The body as JSON: `type`, `title`, `status`, `detail` and `violated-policies`.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(384);
        for (name, text) in [("{\"type\":", self.kind), (",\"title\":", self.title)] {
            json.push_str(name);
            put_text(&mut json, text);
        }
        // Writing to a String cannot fail.
        let _ = write!(json, ",\"status\":{},\"detail\":", self.status);
        put_text(&mut json, &self.detail);
        json.push_str(",\"violated-policies\":[");
        for (place, name) in self.violated_policies.iter().enumerate() {
            json.push_str(if place == 0 { "" } else { "," });
            put_text(&mut json, name);
        }
        json.push_str("]}");
        json
    }
}

/// Adds a text as JSON has it (RFC 8259).
fn put_text(json: &mut String, text: &str) {
    json.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        let (plain, special) = rest.split_at(at);
        json.push_str(plain);
        let mut chars = special.chars();
        match chars.next().unwrap_or_default() {
            c @ ('"' | '\\') => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            c => {
                // Writing to a String cannot fail.
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
        }
        rest = chars.as_str();
    }
    json.push_str(rest);
    json.push('"');
}

impl Decision {
    /// The body of the answer to the request that was denied: 429, or 503 when Redis could not be asked and
    /// `on_error = closed` denied. It names no key and no server.
    ///
    /// # Errors
    /// `invalid_argument` if the call was allowed.
    pub fn problem(&self) -> Result<Problem> {
        problem(&HttpDecisions::one(self))
    }
}

impl CombinedDecision {
    /// As [`Decision::problem`], about all keys.
    ///
    /// # Errors
    /// `invalid_argument` if the call was allowed.
    pub fn problem(&self) -> Result<Problem> {
        HttpDecisions::several(self).map_or_else(|| Err(no_problem()), |told| problem(&told))
    }
}

fn no_problem() -> Error {
    Error::invalid("the call was allowed, so there is no problem: ask for one only if allowed is false")
}

fn problem(told: &HttpDecisions<'_>) -> Result<Problem> {
    if told.allowed {
        return Err(no_problem());
    }
    let wait = match told.retry_seconds() {
        1 => "try again in 1 second".to_owned(),
        seconds => format!("try again in {seconds} seconds"),
    };
    if told.source == Source::Closed {
        return Ok(Problem {
            kind: registered!("temporary-reduced-capacity"),
            title: "Request cannot be satisfied due to temporary server capacity constraints",
            status: 503,
            detail: format!("Requests cannot be counted at the moment: {wait}."),
            violated_policies: Vec::new(),
        });
    }
    let detail = match told.retry_after {
        None => format!(
            "This request costs {}, and no more than {} are ever admitted at once: do not repeat it.",
            told.binding.cost, told.binding.limit
        ),
        Some(_) if is_blocked(told.binding) => format!("Requests are refused for now: {wait}."),
        Some(_) => format!("Too many requests: {wait}."),
    };
    let denies = |(decision, rule): &(&Decision, &RuleDecision)| is_blocked(decision) || !rule.allowed;
    Ok(Problem {
        kind: registered!("quota-exceeded"),
        title: "Request cannot be satisfied as assigned quota has been exceeded",
        status: 429,
        detail,
        violated_policies: told.rules().filter(denies).map(|(decision, rule)| name_of(decision, rule)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_any_name() {
        let names = vec!["api".to_owned(), "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{7f}é€😀/".to_owned()];
        let problem = Problem { kind: "k", title: "t", status: 429, detail: "d".to_owned(), violated_policies: names };
        assert_eq!(
            problem.to_json(),
            concat!(
                r#"{"type":"k","title":"t","status":429,"detail":"d","violated-policies":["api","#,
                r#""a\"b\\c\n\r\t\b\f\u0001"#,
                "\u{7f}é€😀/\"]}"
            )
        );
        let problem = Problem { violated_policies: Vec::new(), ..problem };
        assert!(problem.to_json().ends_with(r#","violated-policies":[]}"#));
    }
}
