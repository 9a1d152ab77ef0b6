//! The text form of policies.

use super::{MAX_LIMIT, MAX_PERIOD, Rule};
use crate::limiter::algorithm::Algorithm;
use wire::base::error::{Code, Error, Result, shown};

/// Units from the largest: canonical name, microseconds, and the other spellings.
const UNITS: [(&str, u64, &[&str]); 6] = [
    ("week", 604_800_000_000, &["w", "weeks"]),
    ("day", 86_400_000_000, &["d", "days"]),
    ("hour", 3_600_000_000, &["h", "hours"]),
    ("minute", 60_000_000, &["m", "min", "mins", "minutes"]),
    ("second", 1_000_000, &["s", "sec", "secs", "seconds"]),
    ("ms", 1_000, &["millisecond", "milliseconds"]),
];

/// What a rule begins with, after its algorithm.
const AMOUNT: &str = "an amount in digits";

enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Slash,
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Token::Number(text) | Token::Word(text) => text,
            Token::Slash => "/",
        }
    }

    /// Whether it stands between an amount and its period.
    fn is_per(&self) -> bool {
        matches!(self, Token::Slash) || self.text().eq_ignore_ascii_case("per")
    }
}

/// The largest unit that divides the period, with how often it does. Periods are whole milliseconds.
pub(super) fn largest_unit(period: u64) -> (u64, &'static str) {
    let fitting = UNITS.iter().find(|(_, micros, _)| period.is_multiple_of(*micros));
    let (name, micros, _) = fitting.unwrap_or(&UNITS[UNITS.len() - 1]);
    (period / micros, name)
}

/// Parses all rules of a policy.
pub(super) fn rules(text: &str) -> Result<Vec<Rule>> {
    if text.trim().is_empty() {
        return Err(refused("policy is empty: give a rule such as \"10/minute\"".into()));
    }
    text.split(';').map(|part| rule(part, text)).collect()
}

fn refused(message: String) -> Error {
    Error::new(Code::InvalidPolicy, message)
}

fn rule(text: &str, policy: &str) -> Result<Rule> {
    let tokens = tokens(text)?;
    let mut tokens = tokens.iter().peekable();
    if tokens.peek().is_none() {
        let policy = shown(policy.as_bytes());
        return Err(refused(format!("policy \"{policy}\" has an empty rule: remove the extra ';'")));
    }
    let form = |found: Option<&Token>, wanted: &str| {
        let found = found.map_or("its end".to_owned(), |t| format!("\"{}\"", shown(t.text().as_bytes())));
        let text = shown(text.trim().as_bytes());
        let cure = match found.as_str() {
            "\"burst\"" => "for a burst say capacity, as in \"token-bucket 10/second capacity 20\"",
            _ => "write it as \"10/minute\"",
        };
        refused(format!("rule \"{text}\" has {found} where {wanted} should be: {cure}"))
    };

    let mut algorithm = Algorithm::FIXED_WINDOW;
    if let Some(first @ Token::Word(word)) = tokens.next_if(|token| matches!(token, Token::Word(_))) {
        algorithm = match Algorithm::parse(word) {
            Err(_) if tokens.peek().is_some_and(|next| next.is_per()) => return Err(form(Some(first), AMOUNT)),
            parsed => parsed?,
        };
    }
    let limit = match tokens.next() {
        Some(Token::Number(digits)) => number(digits, "amount", MAX_LIMIT)?,
        other => return Err(form(other, AMOUNT)),
    };
    match tokens.next() {
        Some(token) if token.is_per() => {}
        other => return Err(form(other, "'/' or 'per'")),
    }
    let mut count = 1;
    if let Some(Token::Number(digits)) = tokens.peek() {
        count = number(digits, "period", MAX_PERIOD)?;
        tokens.next();
    }
    let (word, micros) = match tokens.next() {
        Some(Token::Word(word)) => (word, unit(word)?),
        other => return Err(form(other, "a unit")),
    };
    let mut capacity = None;
    if let Some(Token::Word(_)) = tokens.next_if(|token| token.text().eq_ignore_ascii_case("capacity")) {
        capacity = match tokens.next() {
            Some(Token::Number(digits)) => Some(number(digits, "capacity", MAX_LIMIT)?),
            other => return Err(form(other, "the capacity")),
        };
    }
    if let Some(extra) = tokens.next() {
        return Err(form(Some(extra), "the end"));
    }
    let Some(period) = count.checked_mul(micros).filter(|p| (1..=MAX_PERIOD).contains(p)) else {
        return Err(refused(format!("period \"{count} {word}\" is not between 1 ms and 36500 days: change it")));
    };
    Rule::of(algorithm, limit, period, capacity)
}

fn number(digits: &str, what: &str, most: u64) -> Result<u64> {
    match digits.parse::<u64>() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(refused(format!("{what} {} is more than {most}: give less", shown(digits.as_bytes())))),
    }
}

fn unit(word: &str) -> Result<u64> {
    let lower = word.to_ascii_lowercase();
    if matches!(lower.as_str(), "month" | "months" | "year" | "years") {
        return Err(refused(format!(
            "unit \"{word}\" is ambiguous, because its length varies: use days, such as \"30 days\""
        )));
    }
    let known = UNITS.iter().find(|(name, _, others)| *name == lower || others.contains(&lower.as_str()));
    known.map(|(_, micros, _)| *micros).ok_or_else(|| {
        let word = shown(word.as_bytes());
        refused(format!("unit \"{word}\" is unknown: use ms, second, minute, hour, day or week"))
    })
}

/// Splits a rule into numbers, words and slashes; `250ms` is a number and a word.
fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '/' {
            found.push(Token::Slash);
            rest = rest[1..].trim_start();
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(rest.len());
        let (chunk, after) = rest.split_at(end);
        let digits = chunk.bytes().take_while(u8::is_ascii_digit).count();
        let (number, word) = chunk.split_at(digits);
        if !word.bytes().all(|b| b.is_ascii_alphabetic() || b"-_".contains(&b)) || word.starts_with('-') {
            let chunk = shown(chunk.as_bytes());
            if chunk.contains(',') {
                return Err(refused(format!(
                    "\"{chunk}\" has a ',': separate rules with ';', as in \"10/minute;100/hour\", and write 10,000 as 10000"
                )));
            }
            return Err(refused(format!(
                "\"{chunk}\" is neither a whole positive number nor a word: write the rule as \"10/minute\""
            )));
        }
        if !number.is_empty() {
            found.push(Token::Number(number));
        }
        if !word.is_empty() {
            found.push(Token::Word(word));
        }
        rest = after.trim_start();
    }
    Ok(found)
}
