//! `--pattern`: a log's form as nginx's `log_format` writes it, or as a regular expression with named groups.

use std::ops::Range;

use memchr::memmem::Finder;
use regex::bytes::{CaptureLocations, Regex};

use super::client::By;
use crate::printable::shown;

/// What the variable or group of the time may be called.
const TIMES: [&str; 7] = ["time_local", "time_iso8601", "msec", "time", "timestamp", "ts", "datetime"];

/// A form of lines.
#[derive(Clone)]
pub enum Pattern {
    /// Variables with text between them.
    Format(Format),
    /// Named groups.
    Groups(Box<PatternGroups>),
}

/// As nginx's `log_format`.
#[derive(Clone)]
pub struct Format {
    /// What lines begin with.
    prefix: Vec<u8>,
    /// What stands behind each variable; nothing behind the last means the rest of the line.
    ends: Vec<Finder<'static>>,
    time: usize,
    key: usize,
}

/// As a regular expression.
#[derive(Clone)]
pub struct PatternGroups {
    regex: Regex,
    found: CaptureLocations,
    time: usize,
    key: usize,
}

/// Where a line has its time, and its key if it names one.
pub type LineParts = (Range<usize>, Option<Range<usize>>);

impl Pattern {
    /// Parses a pattern that is asked for the time and one more field. The message says what is wrong.
    pub fn parse(text: &str, by: &By) -> Result<Pattern, String> {
        if text.contains("(?<") || text.contains("(?P<") {
            return PatternGroups::parse(text, by).map(|groups| Pattern::Groups(Box::new(groups)));
        }
        Format::parse(text, by).map(Pattern::Format)
    }

    /// Where a line has what is asked for; none if it is of another form.
    pub fn find(&mut self, line: &[u8]) -> Option<LineParts> {
        match self {
            Pattern::Format(format) => format.find(line),
            Pattern::Groups(groups) => groups.find(line),
        }
    }
}

/// The names of what is asked for, the best first. nginx's `$host` is the virtual host, while Apache calls the client so.
fn wanted(by: &By, is_format: bool) -> Vec<&str> {
    match by {
        By::Ip if is_format => vec!["remote_addr", "ip", "client_ip", "remote_ip", "clientip", "realip_remote_addr"],
        By::Ip => vec!["remote_addr", "ip", "client_ip", "remote_ip", "clientip", "host", "realip_remote_addr"],
        By::User => vec!["remote_user", "user", "user_id", "username"],
        By::Path => vec!["request", "request_uri", "uri", "path", "url"],
        By::Field(name) => vec![name],
    }
}

/// The places of the time and of the key among the names of a pattern.
fn places(names: &[Option<&str>], by: &By, what: &str) -> Result<(usize, usize), String> {
    let place = |wanted: &[&str]| wanted.iter().find_map(|name| names.iter().position(|n| *n == Some(*name)));
    let missing = |wanted: &[&str]| format!("the pattern has no {what} {}: name one of them", wanted.join(", "));
    let keys = wanted(by, what == "variable");
    let time = place(&TIMES).ok_or_else(|| missing(&TIMES))?;
    let key = place(&keys).ok_or_else(|| format!("{}, or choose another --by", missing(&keys)))?;
    Ok((time, key))
}

impl Format {
    fn parse(text: &str, by: &By) -> Result<Format, String> {
        let mut parts = text.split('$');
        let prefix = parts.next().unwrap_or_default().as_bytes().to_vec();
        let (mut names, mut ends) = (Vec::new(), Vec::new());
        for part in parts {
            let (name, after) = match part.strip_prefix('{') {
                Some(braced) => braced.split_once('}').ok_or("the pattern has a '${' without a '}'")?,
                None => {
                    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    part.split_at(part.find(|c| !is_word(c)).unwrap_or(part.len()))
                }
            };
            if name.is_empty() {
                return Err("the pattern has a '$' without a name behind it".into());
            }
            names.push(Some(name));
            ends.push(after);
        }
        if names.is_empty() {
            return Err("the pattern has no variable such as $remote_addr and no group such as (?<ip>...)".into());
        }
        if let Some(at) = ends[..ends.len() - 1].iter().position(|after| after.is_empty()) {
            let [first, second] = [at, at + 1].map(|at| names[at].unwrap_or_default());
            return Err(format!(
                "nothing stands between ${first} and ${second} in the pattern, so nobody can tell them apart"
            ));
        }
        let (time, key) = places(&names, by, "variable")?;
        let ends = ends.iter().map(|after| Finder::new(after.as_bytes()).into_owned()).collect();
        Ok(Format { prefix, ends, time, key })
    }

    fn find(&self, line: &[u8]) -> Option<LineParts> {
        let mut at = line.starts_with(&self.prefix).then_some(self.prefix.len())?;
        let (mut time, mut key) = (0..0, 0..0);
        let last = self.ends.len() - 1;
        for (i, end) in self.ends.iter().enumerate() {
            let stop = match end.needle() {
                b"" => line.len(),
                // The last text is that at the end.
                needle if i == last => line.len().checked_sub(needle.len()).filter(|stop| *stop >= at)?,
                _ => at + end.find(&line[at..])?,
            };
            if i == last && line[stop..] != *end.needle() {
                return None;
            }
            if i == self.time {
                time = at..stop;
            }
            if i == self.key {
                key = at..stop;
            }
            at = stop + end.needle().len();
        }
        Some((time, Some(key)))
    }
}

impl PatternGroups {
    fn parse(text: &str, by: &By) -> Result<PatternGroups, String> {
        let regex = Regex::new(text).map_err(|error| {
            // It repeats the pattern, and says in its last line what is wrong.
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default();
            format!("the pattern is no regular expression: {}", shown(last.as_bytes()))
        })?;
        let names: Vec<_> = regex.capture_names().collect();
        let (time, key) = places(&names, by, "group")?;
        Ok(PatternGroups { found: regex.capture_locations(), time, key, regex })
    }

    fn find(&mut self, line: &[u8]) -> Option<LineParts> {
        self.regex.captures_read(&mut self.found, line)?;
        let (start, end) = self.found.get(self.time)?;
        Some((start..end, self.found.get(self.key).map(|(start, end)| start..end)))
    }
}
