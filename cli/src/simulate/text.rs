//! A report as text.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::report::{Client, LIKELY_FALSE, LeftOut, PolicyOutcome, Report};
use super::time::written;
use crate::numbers::{count, counted, percent, share};
use crate::printable::shown;
use crate::words::span;

const TITLE: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();
/// The most columns that a client's name gets.
const WIDEST: usize = 42;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.interrupted {
            writeln!(f, "{BAD}The replay was interrupted: this is of the lines before.{BAD:#}")?;
        }
        let (requests, clients) = (counted(self.requests, "request"), counted(self.clients, "client"));
        write!(
            f,
            "{TITLE}{requests} of {clients}{TITLE:#} (by {}) in {}",
            shown(self.by.as_bytes()),
            counted(self.lines, "line")
        )?;
        match self.first.zip(self.last) {
            Some((first, last)) => writeln!(f, ", {} to {} UTC", moment(first), moment(last))?,
            None => writeln!(f)?,
        }
        if self.forms.len() > 1 {
            let forms: Vec<String> =
                self.forms.iter().map(|(form, lines)| format!("{} {form}", count(*lines))).collect();
            writeln!(f, "  The lines have several forms: {}.", forms.join(", "))?;
        }
        self.earlier(f)?;
        self.left_out.iter().try_for_each(|left| left.write(f))?;
        for broken in &self.broken {
            writeln!(f, "  {BAD}Not read to its end:{BAD:#} {broken}")?;
        }
        if self.requests > 0 {
            self.policies.iter().try_for_each(|outcome| outcome.write(f, self))?;
        }
        Ok(())
    }
}

impl Report {
    fn earlier(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earlier == 0 {
            return Ok(());
        }
        let (lines, by) = (counted(self.earlier, "line"), span((self.earlier_by * 1e6) as u64));
        writeln!(f, "  {lines} came after a later one, by up to {by}: all lines were sorted by time")
    }
}

impl LeftOut {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {BAD}Left out:{BAD:#} {} {}", counted(self.lines, "line"), self.words)?;
        for example in &self.examples {
            writeln!(
                f,
                "    {DIM}{}:{}:{DIM:#} {}",
                shown(example.file.as_bytes()),
                example.line,
                shown(&example.raw)
            )?;
        }
        Ok(())
    }
}

impl PolicyOutcome {
    fn write(&self, f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
        writeln!(f, "\n{TITLE}{}{TITLE:#}", self.policy)?;
        if self.denied == 0 {
            writeln!(f, "  denies nobody")?;
            return self.suggestion(f, report);
        }
        let (denied, clients) = (share(self.denied, report.requests), share(self.clients_denied, report.clients));
        writeln!(
            f,
            "  denies {} ({denied}), of {} ({clients})",
            counted(self.denied, "request"),
            counted(self.clients_denied, "client")
        )?;
        if let Some((first, last)) = self.first_denied.zip(self.last_denied) {
            let wait = span((self.longest_wait * 1e6) as u64);
            writeln!(f, "  from {} to {} UTC; the longest wait it tells is {wait}", moment(first), moment(last))?;
        }
        if let Some((worst, denied)) = self.busiest() {
            let width = span(self.series.width * 1_000_000);
            writeln!(f, "  most in {width}: {} at {} UTC", counted(denied, "denial"), moment(worst))?;
        }
        if self.rules.len() > 1 {
            let rules: Vec<String> =
                self.rules.iter().map(|rule| format!("{} by {}", count(rule.denied), rule.rule)).collect();
            writeln!(f, "  {}", rules.join(", "))?;
        }
        writeln!(
            f,
            "  likely false positives: {}, {} (denied, although at least {LIKELY_FALSE} % of the client's requests pass)",
            counted(self.likely_false_clients, "client"),
            counted(self.likely_false_requests, "request")
        )?;
        self.suggestion(f, report)?;
        self.worst(f)
    }

    /// When most was denied, and how much.
    fn busiest(&self) -> Option<(u64, u64)> {
        let (bin, denied) =
            self.series.denied.iter().enumerate().max_by_key(|(at, denied)| (**denied, std::cmp::Reverse(*at)))?;
        Some((self.series.start + bin as u64 * self.series.width, *denied))
    }

    fn suggestion(&self, f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
        let Some(told) = &self.suggestion else { return Ok(()) };
        let below = percent(told.below_percent);
        match &told.policy {
            Some(policy) => writeln!(
                f,
                "  to deny less than {below} of clients: {TITLE}{policy}{TITLE:#}, which denies {} ({})",
                count(told.clients_denied),
                share(told.clients_denied, report.clients)
            ),
            None => writeln!(f, "  no policy of this shape denies less than {below} of clients"),
        }
    }

    fn worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.worst.iter().map(Client::short).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
        if !names.is_empty() {
            writeln!(
                f,
                "  {DIM}{:width$}  {:>10}  {:>10}  {:>8}  {:19}  {:19}{DIM:#}",
                "client", "requests", "denied", "", "first denied", "last denied"
            )?;
        }
        for (client, name) in self.worst.iter().zip(names) {
            let (requests, denied) = (count(client.requests.into()), count(client.denied.into()));
            let share = share(client.denied.into(), client.requests.into());
            let [first, last] = [client.first_denied, client.last_denied].map(|at| moment(at.into()));
            writeln!(f, "  {name:width$}  {requests:>10}  {denied:>10}  {share:>8}  {first}  {last}")?;
        }
        Ok(())
    }
}

impl Client {
    /// The name as a terminal may see it, and not too long.
    pub fn short(&self) -> String {
        let name = shown(&self.raw);
        if name.chars().count() <= WIDEST {
            return name;
        }
        let mut short: String = name.chars().take(WIDEST - 1).collect();
        // A String takes everything.
        let _ = short.write_char('…');
        short
    }
}

/// A time in seconds since the epoch.
pub fn moment(seconds: u64) -> String {
    written(seconds * 1_000_000)
}
