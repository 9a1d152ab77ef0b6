//! `simulate`: replays access logs through policies, in the time of the log.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quotalock::Policy;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::printable::shown;
use crate::shared::SharedArguments;
use crate::simulate::client::By;
use crate::simulate::html;
use crate::simulate::input::Progress;
use crate::simulate::pattern::Pattern;
use crate::simulate::report::{Report, ReportRequest};
use crate::simulate::run::Run;
use crate::simulate::source::{Request, RequestOutcome, Sources};
use crate::simulate::time::written;
use crate::words::{duration, span};

/// After so many requests the bar moves, and signals are looked for.
const STEP: u64 = 8_192;

/// What `simulate` is asked.
///
/// Reads common and combined logs (as Apache and nginx write them) and JSON, each line in its form, plain or gzip. Several logs are
/// merged by their times. Counts of a client take about 120 bytes, for each policy beyond the first about 40 more.
///
const EXAMPLES: &str = "Examples:
  quotalock simulate --policy 100/minute access.log                  100 requests per address
  quotalock simulate --policy 10/s --policy 100/minute access.log    compare two policies
  quotalock simulate --policy 100/minute --suggest 1 access.log      deny less than 1 percent";

/// Ends with 0; with 1 if a log could not be read to its end, is empty or nothing in it could be used, and with --fail if a policy
/// denies anything; with 2 for wrong arguments.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArguments {
    /// Policy to replay, such as '10/minute;100/hour'. Repeat the option to compare several policies
    #[arg(long, required = true, value_name = "POLICY")]
    policy: Vec<String>,
    /// Field to limit by: ip, user, path or field:NAME
    #[arg(long, default_value = "ip", value_parser = By::parse)]
    by: By,
    /// Format of the lines: nginx's log_format, or a regular expression with groups such as (?<time>...) and (?<ip>...)
    #[arg(long)]
    pattern: Option<String>,
    /// Find the smallest limits that deny less than this percentage of clients; all limits of a policy are scaled together
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    suggest: Option<f64>,
    /// Number of most-denied clients to list
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    worst: usize,
    /// Maximum number of clients to track. Requests of further clients are left out, and their number is reported
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_clients: u32,
    /// Sort lines whose times are out of order by at most this duration. A line that is further out of order ends the replay
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    reorder: u64,
    /// Write the report with plots into an HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each decision into a file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// Exit with 1 if a policy denies a request
    #[arg(long)]
    fail: bool,
    /// The logs; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Parses `1` or `1%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    number
        .ok()
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .ok_or_else(|| "give a percentage above 0, up to 100".into())
}

/// Runs the command.
pub fn run(arguments: SimulateArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let policies: Vec<Policy> = arguments.policy.iter().map(|text| Policy::parse(text)).collect::<Result<_, _>>()?;
    let pattern = arguments.pattern.as_ref().map(|text| Pattern::parse(text, &arguments.by)).transpose();
    let pattern = pattern.map_err(usage)?;
    arguments.html.as_deref().map_or(Ok(()), check_place)?;
    let mut decisions = arguments.decisions.as_deref().map(DecisionsFile::create).transpose()?;

    let read = Progress::default();
    let opened = Sources::open(&arguments.files, &arguments.by, pattern.as_ref(), &read);
    let (mut sources, size) =
        opened.map_err(|(file, error)| usage(format!("cannot read {}: {error}", shown(file.as_bytes()))))?;
    let (bar, stop) = (bar(size), interrupted());
    let mut run = Run::new(&policies, arguments.max_clients as usize, arguments.reorder, arguments.suggest.is_some());
    let (mut failed, mut too_late) = (None, None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    sources.each(now, |request| {
        let told = run.enter(&request);
        match (told, decisions.as_mut()) {
            (RequestOutcome::TooLate, _) => {
                too_late = Some(out_of_order(&request, run.latest(), arguments.reorder));
                return told;
            }
            (RequestOutcome::Decided, Some(decisions)) => decisions.know(&run, &request),
            _ => {}
        }
        failed = decide(&mut run, decisions.as_mut(), false).err();
        if failed.is_some() {
            return RequestOutcome::Enough;
        }
        if run.decided.is_multiple_of(STEP) {
            bar.set_position(read.get());
            if stop.load(Ordering::Relaxed) {
                return RequestOutcome::Enough;
            }
        }
        told
    });
    if let Some(failure) = too_late {
        bar.finish_and_clear();
        return Err(failure);
    }
    if failed.is_none() {
        failed = decide(&mut run, decisions.as_mut(), true).err();
    }
    bar.finish_and_clear();
    if let Some(decisions) = decisions {
        failed = failed.or_else(|| decisions.end().err());
    }
    let asked = ReportRequest {
        files: arguments.files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        by: arguments.by,
        worst: arguments.worst,
        suggest: arguments.suggest,
        interrupted: stop.load(Ordering::Relaxed),
    };
    let report = Report::of(&run, &sources.reading, asked);
    // The tables of the clients may be large, and all that is told of them is in the report.
    drop((run, sources));
    if report.lines == 0 && report.broken.is_empty() && !report.interrupted {
        return Err(empty(&report.files));
    }
    answer(shared, &report.to_string(), &json!(report))?;
    if let Some(error) = failed {
        return Err(not_written(arguments.decisions.as_deref(), &error));
    }
    if let Some(path) = &arguments.html {
        html::save(path, &html::page(&report)).map_err(|error| not_written(Some(path), &error))?;
    }
    let found =
        report.requests == 0 || report.interrupted || !report.broken.is_empty() || arguments.fail && report.denies();
    Ok(if found { Exit::Findings } else { Exit::Fine })
}

/// Decides about all requests whose turn it is.
fn decide(run: &mut Run, mut decisions: Option<&mut DecisionsFile>, is_over: bool) -> io::Result<()> {
    while let Some(turn) = run.decide(is_over) {
        if let Some(decisions) = &mut decisions {
            decisions.write(run, turn.client)?;
        }
    }
    Ok(())
}

/// A replay of what is out of order would deny what was admitted: nothing is told of it.
fn out_of_order(request: &Request<'_>, latest: u64, window: u64) -> Failure {
    let (file, line, by) = (shown(request.file.as_bytes()), request.line, span(latest - request.time));
    let message = format!(
        "{file}:{line} is of {}, but a line before it is of {}: {by} later, more than --reorder {} sorts. Sort the log by time, or give \
         --reorder a longer time, which takes 24 bytes for each line of that time",
        written(request.time),
        written(latest),
        span(window)
    );
    Failure { exit: Exit::Findings, code: "out_of_order", message }
}

/// Logs without a line say nothing about a policy.
fn empty(files: &[String]) -> Failure {
    let files: Vec<String> = files.iter().map(|file| shown(file.as_bytes())).collect();
    let (files, verb) = (files.join(", "), if files.len() == 1 { "has" } else { "have" });
    let message = format!("{files} {verb} no line: nothing was replayed. Give a log with requests");
    Failure { exit: Exit::Findings, code: "empty_log", message }
}

fn usage(message: String) -> Failure {
    Failure { exit: Exit::Usage, code: "invalid_argument", message }
}

fn not_written(path: Option<&Path>, error: &io::Error) -> Failure {
    let path = path.map(|path| shown(path.to_string_lossy().as_bytes())).unwrap_or_default();
    Failure { exit: Exit::Findings, code: "not_written", message: format!("cannot write {path}: {error}") }
}

/// Refuses a place that cannot be written to before gigabytes were read.
fn check_place(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_none() || path.is_dir() || !folder.is_dir() {
        let path = shown(path.to_string_lossy().as_bytes());
        return Err(usage(format!("cannot write {path}: give the name of a file in a folder that exists")));
    }
    Ok(())
}

/// A bar, where there is a terminal to draw it on.
fn bar(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr_with_hz(10));
    let form = match size {
        Some(_) => "{bar:30} {percent:>3} %  {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        None => "{spinner} {bytes} read, {bytes_per_sec}",
    };
    // The form is known to be right; if it were not, the bar would look otherwise.
    match ProgressStyle::with_template(form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Set by Ctrl-C: what was read so far is told. A second one ends the program at once.
fn interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    // Where that cannot be, Ctrl-C ends the program, as it does by default.
    let _ = ctrlc::set_handler(move || {
        if told.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
    stop
}

/// The file of all decisions.
struct DecisionsFile {
    file: BufWriter<File>,
    /// The clients as JSON, by their numbers.
    clients: Vec<String>,
}

impl DecisionsFile {
    fn create(path: &Path) -> Result<DecisionsFile, Failure> {
        let file = File::create(path).map_err(|error| not_written(Some(path), &error))?;
        Ok(DecisionsFile { file: BufWriter::with_capacity(1 << 18, file), clients: Vec::new() })
    }

    /// Remembers the name of a client that comes for the first time.
    fn know(&mut self, run: &Run, request: &Request<'_>) {
        if self.clients.len() < run.requests.len() {
            self.clients.push(json!(String::from_utf8_lossy(request.key)).to_string());
        }
    }

    fn write(&mut self, run: &Run, client: u32) -> io::Result<()> {
        let client = self.clients.get(client as usize).map_or("null", String::as_str);
        let (seconds, micros) = (run.now() / 1_000_000, run.now() % 1_000_000);
        write!(self.file, "{{\"time\":{seconds}.{micros:06},\"client\":{client},\"admitted\":[")?;
        for (at, trial) in run.trials.iter().enumerate() {
            write!(self.file, "{}{}", if at > 0 { "," } else { "" }, trial.admitted)?;
        }
        self.file.write_all(b"]}\n")
    }

    fn end(mut self) -> io::Result<()> {
        self.file.flush()
    }
}
