//! Header fields.

use std::fmt::Write;

use super::{HttpDecisions, is_blocked, name_of, seconds};
use crate::limiter::decision::{CombinedDecision, Decision};
use wire::base::error::{Error, Result, shown};

/// The largest integer of a structured field (RFC 9651).
const MOST: u64 = 999_999_999_999_999;

/// How quotas are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderSyntax {
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11.
    #[default]
    Draft11,
    /// Not at all.
    None,
}

impl HeaderSyntax {
    /// The syntax of that name: `draft-11` or `none`.
    ///
    /// # Errors
    /// `invalid_argument` for another name.
    pub fn parse(name: &str) -> Result<HeaderSyntax> {
        match name {
            "draft-11" => Ok(HeaderSyntax::Draft11),
            "none" => Ok(HeaderSyntax::None),
            _ => {
                let name = shown(name.as_bytes());
                Err(Error::invalid(format!("syntax \"{name}\" is unknown: use \"draft-11\" or \"none\"")))
            }
        }
    }
}

/// Which header fields are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderOptions {
    /// How quotas are told.
    pub syntax: HeaderSyntax,
    /// Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are told too, of the rule that binds.
    pub legacy: bool,
}

impl Decision {
    /// The header fields of an answer to the request that was decided, in their order: `RateLimit-Policy` and `RateLimit`
    /// with an item for each rule, `X-RateLimit-*` if they are wanted, and on a denial `Retry-After`: whole seconds, rounded
    /// up, at least 1. For a call that can never be admitted it is the longest period of the rules that say so.
    ///
    /// A decision of `on_error` without a count has no `RateLimit`, because what remains is unknown.
    pub fn headers(&self, options: &HeaderOptions) -> Vec<(&'static str, String)> {
        headers(&HttpDecisions::one(self), options)
    }
}

impl CombinedDecision {
    /// As [`Decision::headers`], about all keys.
    pub fn headers(&self, options: &HeaderOptions) -> Vec<(&'static str, String)> {
        HttpDecisions::several(self).map(|told| headers(&told, options)).unwrap_or_default()
    }
}

fn headers(told: &HttpDecisions<'_>, options: &HeaderOptions) -> Vec<(&'static str, String)> {
    let mut fields = Vec::with_capacity(6);
    match options.syntax {
        HeaderSyntax::Draft11 => draft_11(told, &mut fields),
        HeaderSyntax::None => {}
    }
    if options.legacy {
        let binding = told.binding;
        fields.push(("X-RateLimit-Limit", binding.limit.to_string()));
        if told.is_counted() {
            fields.push(("X-RateLimit-Remaining", binding.remaining.to_string()));
            fields.push(("X-RateLimit-Reset", seconds(binding.reset_after).to_string()));
        }
    }
    if !told.allowed {
        fields.push(("Retry-After", told.retry_seconds().to_string()));
    }
    fields
}

/// The one place that knows this syntax.
fn draft_11(told: &HttpDecisions<'_>, fields: &mut Vec<(&'static str, String)>) {
    let (mut policy, mut limit) = (String::with_capacity(64), String::with_capacity(64));
    for (decision, rule) in told.rules() {
        let name = sf_string(&name_of(decision, rule));
        item(&mut policy, &name, [('q', rule.quota), ('w', seconds(rule.period).max(1))]);
        let (left, resets) = match is_blocked(decision) {
            true => (0, decision.retry_after.unwrap_or(0)),
            false => (rule.remaining, rule.reset_after),
        };
        item(&mut limit, &name, [('r', left), ('t', seconds(resets))]);
    }
    fields.push(("RateLimit-Policy", policy));
    if told.is_counted() {
        fields.push(("RateLimit", limit));
    }
}

/// Adds an item to a list, with its parameters.
fn item(list: &mut String, name: &str, parameters: [(char, u64); 2]) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push_str(name);
    for (key, value) in parameters {
        list.extend([';', key, '=']);
        list.push_str(itoa::Buffer::new().format(value.min(MOST)));
    }
}

/// A text as a string of a structured field, which holds printable ASCII only: other bytes are percent-encoded.
fn sf_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                // Writing to a String cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out.push('"');
    out
}
