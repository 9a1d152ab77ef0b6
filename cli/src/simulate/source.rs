//! The requests of several logs, in the order of their times.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::client::{By, ClientPlace};
use super::input::{Input, Line, Progress};
use super::line::{Form, Parsed, Parser};
use super::pattern::Pattern;
use crate::printable::shown;

/// Lines that are shown of each kind that cannot be used.
const SHOWN: usize = 3;
/// How much of a line is shown.
const SHOWN_BYTES: usize = 160;
/// 1990: no access log is older.
const EARLIEST: u64 = 631_152_000_000_000;
/// A day, in microseconds.
const DAY: u64 = 86_400_000_000;

/// Why a line is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It is in no known form.
    Unreadable,
    /// It is over a mebibyte long.
    TooLong,
    /// It names no client.
    Nobody,
    /// Its time is more than a day ahead of the clock of this machine.
    Future,
    /// Its time is before 1990.
    Past,
    /// Its time is more than a day ahead of the lines before and behind it.
    Astray,
    /// There are more clients than are kept.
    TooMany,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [SkipReason; 7] = [
        SkipReason::Unreadable,
        SkipReason::TooLong,
        SkipReason::Nobody,
        SkipReason::Future,
        SkipReason::Past,
        SkipReason::Astray,
        SkipReason::TooMany,
    ];

    /// As JSON calls it.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::Unreadable => "unreadable",
            SkipReason::TooLong => "too_long",
            SkipReason::Nobody => "nobody",
            SkipReason::Future => "future",
            SkipReason::Past => "past",
            SkipReason::Astray => "astray",
            SkipReason::TooMany => "too_many_clients",
        }
    }

    /// Behind "left out: so many lines".
    pub fn words(self) -> &'static str {
        match self {
            SkipReason::Unreadable => "in no form that was expected",
            SkipReason::TooLong => "longer than 1 MiB",
            SkipReason::Nobody => "without a client",
            SkipReason::Future => "of the future, by more than a day",
            SkipReason::Past => "of before 1990",
            SkipReason::Astray => "more than a day ahead of the lines before and behind",
            SkipReason::TooMany => "of clients beyond --max-clients",
        }
    }
}

/// A line that was left out.
#[derive(Clone, Debug)]
pub struct SkippedLine {
    /// The file.
    pub file: String,
    /// Its number in the file, from 1 on.
    pub line: u64,
    /// How it begins.
    pub text: Vec<u8>,
}

/// What was read, and what could not be used.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Lines that are not empty.
    pub lines: u64,
    /// Lines of each form.
    pub forms: [u64; Form::ALL.len()],
    /// How many were left out for each reason, and the first of them.
    pub left_out: [(u64, Vec<SkippedLine>); SkipReason::ALL.len()],
    /// Files that could not be read to their end, and why.
    pub broken: Vec<String>,
}

impl Reading {
    fn leave(&mut self, why: SkipReason, file: &str, line: u64, text: &[u8]) {
        let (count, examples) = &mut self.left_out[why as usize];
        *count += 1;
        if examples.len() < SHOWN {
            let text = text[..text.len().min(SHOWN_BYTES)].to_vec();
            examples.push(SkippedLine { file: file.to_owned(), line, text });
        }
    }
}

/// One log.
struct Source {
    name: String,
    input: Input,
    parser: Parser,
    number: u64,
    /// The next request; none at the end.
    next: Option<Next>,
    /// The one behind it, if that had to be known first.
    behind: Option<Next>,
    /// The time of the last one.
    last: Option<u64>,
}

/// A request that was read.
struct Next {
    time: u64,
    key: ClientField,
    number: u64,
    text: Range<usize>,
}

/// Where the name of a client is.
enum ClientField {
    Buffer(Range<usize>),
    Decoded,
    Own(Vec<u8>),
}

/// A request.
pub struct Request<'a> {
    /// Microseconds since the epoch.
    pub time: u64,
    /// Whose it is.
    pub key: &'a [u8],
    /// The log that has it.
    pub file: &'a str,
    /// The number of its line there, from 1 on.
    pub line: u64,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It was decided, or will be in its turn.
    Decided,
    /// It is earlier than one before it, by more than the window in which requests are sorted.
    TooLate,
    /// There is no room for one more client.
    TooMany,
    /// No more are wanted.
    Enough,
}

/// All logs.
pub struct Sources {
    all: Vec<Source>,
    /// What was read so far.
    pub reading: Reading,
}

impl Sources {
    /// Opens all logs, and tells how many bytes they have, if that can be told.
    ///
    /// # Errors
    /// The name of a file that cannot be opened, and why.
    pub fn open(
        paths: &[PathBuf],
        by: &By,
        pattern: Option<&Pattern>,
        read: &Progress,
    ) -> Result<(Sources, Option<u64>), (String, io::Error)> {
        let (mut all, mut size) = (Vec::new(), Some(0));
        for path in paths {
            let name = path.to_string_lossy().into_owned();
            let (input, length) = Input::open(path, read.clone()).map_err(|error| (name.clone(), error))?;
            size = size.zip(length).map(|(size, length)| size + length);
            let parser = Parser::new(by.clone(), pattern.cloned());
            all.push(Source { name, input, parser, number: 0, next: None, behind: None, last: None });
        }
        Ok((Sources { all, reading: Reading::default() }, size))
    }

    /// Tells all requests, always the earliest of the next ones of all logs. What is later than a day after `now` is left out.
    pub fn each(&mut self, now: u64, mut tell: impl FnMut(Request<'_>) -> RequestOutcome) {
        let (latest, reading) = (now.saturating_add(DAY), &mut self.reading);
        self.all.iter_mut().for_each(|source| source.advance(latest, reading));
        while let Some((at, limit)) = earliest(&self.all) {
            let source = &mut self.all[at];
            // As long as no other log has an earlier one.
            while let Some(next) = &source.next
                && next.time <= limit
            {
                let key = match &next.key {
                    ClientField::Buffer(range) => source.input.bytes(range.clone()),
                    ClientField::Decoded => &source.parser.decoded,
                    ClientField::Own(key) => key,
                };
                match tell(Request { time: next.time, key, file: &source.name, line: next.number }) {
                    RequestOutcome::Decided => {}
                    RequestOutcome::TooMany => source.leave(next, SkipReason::TooMany, reading),
                    RequestOutcome::TooLate | RequestOutcome::Enough => return,
                }
                source.advance(latest, reading);
            }
        }
    }
}

/// The log with the earliest request, and the time of the next one of the others.
fn earliest(all: &[Source]) -> Option<(usize, u64)> {
    let times = || all.iter().enumerate().filter_map(|(at, source)| Some((source.next.as_ref()?.time, at)));
    let (_, at) = times().min()?;
    let limit = times().filter(|(_, other)| *other != at).map(|(time, _)| time).min();
    Some((at, limit.unwrap_or(u64::MAX)))
}

impl Source {
    fn leave(&self, next: &Next, why: SkipReason, reading: &mut Reading) {
        reading.leave(why, &self.name, next.number, self.input.bytes(next.text.clone()));
    }

    /// Goes on to the next request.
    fn advance(&mut self, latest: u64, reading: &mut Reading) {
        self.next = self.behind.take().or_else(|| self.read(latest, reading));
        while let Some(next) = &self.next
            && self.last.is_none_or(|last| next.time > last.saturating_add(DAY))
            && self.behind.is_none()
        {
            // One that stands alone in another time must not take the clock along: what does the one behind it say?
            let (time, number) = (next.time, next.number);
            let text = self.input.bytes(next.text.clone()).to_vec();
            let key = match &next.key {
                ClientField::Buffer(range) => self.input.bytes(range.clone()).to_vec(),
                ClientField::Decoded => self.parser.decoded.clone(),
                ClientField::Own(_) => break,
            };
            match self.read(latest, reading) {
                Some(behind) if behind.time.saturating_add(DAY) < time => {
                    reading.leave(SkipReason::Astray, &self.name, number, &text);
                    self.next = Some(behind);
                }
                behind => {
                    self.next = Some(Next { time, key: ClientField::Own(key), number, text: 0..0 });
                    self.behind = behind;
                    break;
                }
            }
        }
        self.last = self.next.as_ref().map(|next| next.time);
    }

    /// Reads the next request that can be used.
    fn read(&mut self, latest: u64, reading: &mut Reading) -> Option<Next> {
        loop {
            let line = match self.input.next() {
                Ok(Line::At(line)) => line,
                Ok(Line::TooLong) => {
                    (self.number, reading.lines) = (self.number + 1, reading.lines + 1);
                    reading.leave(SkipReason::TooLong, &self.name, self.number, b"");
                    continue;
                }
                Ok(Line::End) => return None,
                Err(error) => {
                    reading.broken.push(format!("{} after line {}: {error}", shown(self.name.as_bytes()), self.number));
                    return None;
                }
            };
            self.number += 1;
            let text = self.input.bytes(line.clone());
            if text.is_empty() {
                continue;
            }
            reading.lines += 1;
            let why = match self.parser.parse(text) {
                None => SkipReason::Unreadable,
                Some(Parsed { time, .. }) if time > latest => SkipReason::Future,
                Some(Parsed { time, .. }) if time < EARLIEST => SkipReason::Past,
                Some(Parsed { time, key, form }) => {
                    reading.forms[form as usize] += 1;
                    let number = self.number;
                    match key {
                        ClientPlace::Line(range) => {
                            let key = ClientField::Buffer(line.start + range.start..line.start + range.end);
                            return Some(Next { time, key, number, text: line });
                        }
                        ClientPlace::Decoded => {
                            return Some(Next { time, key: ClientField::Decoded, number, text: line });
                        }
                        ClientPlace::Nowhere => SkipReason::Nobody,
                    }
                }
            };
            reading.leave(why, &self.name, self.number, self.input.bytes(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Reading, RequestOutcome, SkipReason, Sources};
    use crate::simulate::client::By;

    const NOW: u64 = 1_500_000_000_000_000;

    /// Who came when, of these logs.
    fn requests(logs: &[&str]) -> (Vec<String>, Reading) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("quotalock-source-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = |(at, log): (usize, &&str)| {
            let path = folder.join(at.to_string());
            std::fs::write(&path, log).unwrap();
            path
        };
        let paths: Vec<PathBuf> = logs.iter().enumerate().map(path).collect();
        let (mut sources, _) = Sources::open(&paths, &By::Ip, None, &Default::default()).unwrap();
        let mut all = Vec::new();
        sources.each(NOW, |request| {
            let key = String::from_utf8_lossy(request.key).into_owned();
            all.push(format!("{key}@{}", request.time / 1_000_000));
            RequestOutcome::Decided
        });
        std::fs::remove_dir_all(&folder).unwrap();
        (all, sources.reading)
    }

    fn out(reading: &Reading) -> u64 {
        reading.left_out.iter().map(|(count, _)| count).sum()
    }

    fn log(lines: &[(&str, u64)]) -> String {
        lines.iter().map(|(key, time)| format!("{{\"ip\":\"{key}\",\"ts\":{time}}}\n")).collect()
    }

    #[test]
    fn several_logs_come_in_the_order_of_their_times() {
        let newer = log(&[("a", 1_400_000_005), ("a", 1_400_000_006)]);
        let older = log(&[("b", 1_400_000_001), ("b", 1_400_000_003)]);
        let beside = log(&[("c", 1_400_000_002), ("c", 1_400_000_006), ("c", 1_400_000_004)]);
        let (all, reading) = requests(&[&newer, &older, &beside]);
        let order: String = all.iter().map(|one| format!("{}{} ", &one[..1], &one[11..])).collect();
        assert_eq!(order, "b1 c2 b3 a5 a6 c6 c4 ");
        assert_eq!((reading.lines, out(&reading)), (7, 0));
    }

    #[test]
    fn a_line_alone_in_another_time_is_left_out() {
        let (first, astray, far) = (1_400_000_000, 1_490_000_000, 1_410_000_000);
        let lines = [
            ("x", astray),
            ("a", first),
            ("b", first),
            ("y", astray),
            ("c", first),
            ("d", far),
            ("e", far),
            ("f", astray),
        ];
        let (all, reading) = requests(&[&log(&lines)]);
        assert_eq!(all.iter().map(|one| &one[..1]).collect::<String>(), "abcdef");
        let (count, examples) = &reading.left_out[SkipReason::Astray as usize];
        assert_eq!((*count, examples[0].line, examples[1].line), (2, 1, 4));
        assert!(examples[0].text.starts_with(b"{\"ip\":\"x\""));
    }

    #[test]
    fn what_cannot_be_used_is_counted() {
        let lines = "\n\x1b[2J\n{\"ip\":\"a\",\"ts\":1400000000}\nb - - [13/May/2014:16:53:20 +0000] \"\"\n\
            {\"ip\":\"-\",\"ts\":1400000000}\n{\"ip\":\"a\",\"ts\":1600000000}\n{\"ip\":\"a\",\"ts\":1}\n";
        let (all, reading) = requests(&[lines]);
        assert_eq!(all, ["a@1400000000", "b@1400000000"]);
        assert_eq!((reading.lines, out(&reading), reading.forms), (6, 4, [1, 2, 0]));
        for why in [SkipReason::Unreadable, SkipReason::Nobody, SkipReason::Future, SkipReason::Past] {
            assert_eq!(reading.left_out[why as usize].0, 1, "{why:?}");
        }
        assert_eq!(reading.left_out[SkipReason::Unreadable as usize].1[0].line, 2);
    }
}
