//! A report as one HTML file that needs nothing else.

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::plots;
use super::report::{LIKELY_FALSE, PolicyOutcome, Report};
use super::text::moment;
use crate::numbers::{count, counted, percent, share};
use crate::printable::escaped;
use crate::printable::shown;
use crate::words::span;

/// Light and dark, as the reader's system says.
const STYLE: &str = include_str!("report.css");

/// Bytes of a log as a page may show them.
fn safe(bytes: &[u8]) -> String {
    escaped(&shown(bytes))
}

/// Writes a file that is there as a whole or not at all: beside its place, and then moved.
///
/// # Errors
/// What the system says.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"))?;
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // A device or a pipe is written to where it is.
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    // Not beside a link, but beside what it points to.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = name.to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        // A full disk may say so only here.
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    written().inspect_err(|_| {
        // What cannot be removed either is all that can be left.
        let _ = fs::remove_file(&beside);
    })
}

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    let (requests, clients) = (counted(report.requests, "request"), counted(report.clients, "client"));
    let files = report.files.iter().map(|file| safe(file.as_bytes())).collect::<Vec<_>>().join(", ");
    // A String takes everything, here and below.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Quotalock: who would have been denied</title>\n<style>\n{STYLE}</style>\n\
         <main>\n<h1>Who would have been denied</h1>\n<p class=\"lead\">{requests} of {clients} (by {}) in {files}",
        safe(report.by.as_bytes())
    );
    if let Some((first, last)) = report.first.zip(report.last) {
        let _ = write!(page, ", {} to {} UTC", moment(first), moment(last));
    }
    page.push_str(".</p>\n");
    notes(&mut page, report);
    if report.requests > 0 {
        side_by_side(&mut page, report);
        report.policies.iter().for_each(|outcome| policy(&mut page, report, outcome));
        words(&mut page);
    }
    page.push_str("</main>\n</html>\n");
    page
}

fn notes(page: &mut String, report: &Report) {
    let mut notes = Vec::new();
    if report.interrupted {
        notes.push("The replay was interrupted: this is of the lines before.".to_owned());
    }
    if report.earlier > 0 {
        let (lines, by) = (counted(report.earlier, "line"), span((report.earlier_by * 1e6) as u64));
        notes.push(format!("{lines} came after a later one, by up to {by}: all lines were sorted by time."));
    }
    if report.forms.len() > 1 {
        let forms: Vec<String> = report.forms.iter().map(|(form, lines)| format!("{} {form}", count(*lines))).collect();
        notes.push(format!("The lines have several forms: {}.", forms.join(", ")));
    }
    for left in &report.left_out {
        let mut note = format!("Left out: {} {}<ul>", counted(left.lines, "line"), left.words);
        for example in &left.examples {
            let (file, text) = (safe(example.file.as_bytes()), safe(&example.raw));
            let _ = write!(note, "<li>{file}:{}: <code>{text}</code></li>", example.line);
        }
        notes.push(note + "</ul>");
    }
    notes.extend(report.broken.iter().map(|broken| format!("Not read to its end: {}", escaped(broken))));
    if !notes.is_empty() {
        let _ = writeln!(page, "<ul class=\"notes\"><li>{}</li></ul>", notes.join("</li><li>"));
    }
}

fn side_by_side(page: &mut String, report: &Report) {
    page.push_str(
        "<div class=\"wide\"><table><thead><tr><th>policy</th><th>requests denied</th><th>clients denied</th>\
         <th>likely false positives</th><th>longest wait</th></tr></thead><tbody>\n",
    );
    for outcome in &report.policies {
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code></td><td>{} ({})</td><td>{} ({})</td><td>{}</td><td>{}</td></tr>",
            escaped(&outcome.policy),
            count(outcome.denied),
            share(outcome.denied, report.requests),
            count(outcome.clients_denied),
            share(outcome.clients_denied, report.clients),
            counted(outcome.likely_false_clients, "client"),
            span((outcome.longest_wait * 1e6) as u64)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn policy(page: &mut String, report: &Report, outcome: &PolicyOutcome) {
    let _ = writeln!(page, "<section>\n<h2><code>{}</code></h2>", escaped(&outcome.policy));
    let width = span(outcome.series.width * 1_000_000);
    let told = format!(
        "Over time: {} admitted and {} denied",
        counted(outcome.admitted, "request"),
        counted(outcome.denied, "request")
    );
    let _ = writeln!(
        page,
        "<h3>Over time</h3>\n<p class=\"legend\"><span class=\"admitted\"></span> admitted \
         <span class=\"denied\"></span> denied, in each {width}</p>\n{}",
        plots::over_time(&outcome.series, &told)
    );
    if let Some((first, last)) = outcome.first_denied.zip(outcome.last_denied) {
        let _ =
            writeln!(page, "<p>The first denial is at {} UTC, the last at {} UTC.</p>", moment(first), moment(last));
    }
    if outcome.rules.len() > 1 {
        let rule = |rule: &super::report::RuleDenials| {
            format!("{} by <code>{}</code>", count(rule.denied), escaped(&rule.rule))
        };
        let _ = writeln!(page, "<p>Denied: {}.</p>", outcome.rules.iter().map(rule).collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(page, "<h3>Clients</h3>\n{}", plots::classes(outcome));
    let _ = writeln!(
        page,
        "<p>Likely false positives: {}, of whom {} would be denied.</p>",
        counted(outcome.likely_false_clients, "client"),
        counted(outcome.likely_false_requests, "request")
    );
    if !outcome.worst.is_empty() {
        let _ = writeln!(page, "<h3>Of whom most is denied</h3>\n{}", plots::clients(&outcome.worst));
        worst(page, outcome);
    }
    if let Some(told) = &outcome.suggestion {
        let below = percent(told.below_percent);
        match &told.policy {
            Some(policy) => {
                let clients = counted(told.clients_denied, "client");
                let share = share(told.clients_denied, report.clients);
                let _ = writeln!(
                    page,
                    "<h3>The smallest limit</h3>\n<p>To deny less than {below} of clients: <code>{}</code>, which denies {clients} \
                     ({share}). The line shows the clients that each limit of this shape denies, by the limit of the first rule.</p>\n{}",
                    escaped(policy),
                    plots::curve(&told.curve, told.below_percent)
                );
            }
            None => {
                let _ = writeln!(page, "<p>No policy of this shape denies less than {below} of clients.</p>");
            }
        }
    }
    page.push_str("</section>\n");
}

fn worst(page: &mut String, outcome: &PolicyOutcome) {
    page.push_str(
        "<details><summary>As a table</summary><div class=\"wide\"><table><thead><tr><th>client</th><th>requests</th>\
         <th>denied</th><th>first denied</th><th>last denied</th></tr></thead><tbody>\n",
    );
    for client in &outcome.worst {
        let [first, last] = [client.first_denied, client.last_denied].map(|at| moment(at.into()));
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code></td><td>{}</td><td>{} ({})</td><td>{first}</td><td>{last}</td></tr>",
            safe(&client.raw),
            count(client.requests.into()),
            count(client.denied.into()),
            share(client.denied.into(), client.requests.into())
        );
    }
    page.push_str("</tbody></table></div></details>\n");
}

fn words(page: &mut String) {
    let _ = writeln!(
        page,
        "<section>\n<h2>How to read this</h2>\n\
         <p>The requests of the log were offered to each policy at the times that the log says, to the same rules that decide in \
         production. A denied request counts as not made: clients that would have asked again, or given up, behave here as they did \
         without a limit.</p>\n\
         <p>A client counts as a likely false positive if something of it is denied although at least {LIKELY_FALSE} % of its \
         requests pass: it keeps to the limit nearly all the time, so it is more likely a person in a hurry than a flood. That is an \
         estimate. A log does not say who is welcome.</p>\n</section>"
    );
}
