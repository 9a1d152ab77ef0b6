//! `lock`: runs a command under a lock, as `flock` does, on as many machines as there are.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use quotalock::{Lock, LockOptions, MAX_LABEL_BYTES};

use super::lock_group::{ChildChange, ProcessGroup, adopt_orphans, nobody_continues_us};
use super::lock_signals::{Received, Signals, ignore_terminal_stops, send_to_others_of_group, set_default, stop_here};
use super::lock_terminal::Terminal;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::printable::shown;
use crate::raw;
use crate::shared::SharedArguments;
use crate::words::{bytes, duration, span};

/// What the command finds the fencing token in.
const TOKEN: &str = "QUOTALOCK_TOKEN";
/// What a shell answers for a command that is not there, or that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;
/// How often to look whether the command's process group is gone, in addition to each time that the system reports a child's end.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// After which time what the command left behind is reported.
const PATIENCE: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "Examples:
  quotalock lock backup -- ./backup.sh                 wait for the lock, then run the command
  quotalock lock -n -E 0 backup -- ./backup.sh         exit with 0 if another process has the lock
  quotalock lock --permits 3 exports -- ./export.sh    at most three at a time";

/// What `lock` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct LockArguments {
    /// Name of the lock
    name: OsString,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
    /// Lease of the lock: how long it lasts if this program is killed
    #[arg(long, value_parser = duration, default_value = "30s")]
    ttl: u64,
    /// Time to wait for the lock (default: no limit)
    #[arg(short = 'w', long, visible_alias = "wait", value_parser = duration)]
    timeout: Option<u64>,
    /// Do not wait for the lock
    #[arg(short = 'n', long, conflicts_with = "timeout")]
    nonblock: bool,
    /// Exit code when the lock cannot be acquired
    #[arg(short = 'E', long, default_value_t = 1)]
    conflict_exit_code: u8,
    /// Take a read lock (shared)
    #[arg(short = 's', long = "shared", group = "kind")]
    reads: bool,
    /// Take the write lock (exclusive)
    #[arg(short = 'x', long = "exclusive", group = "kind")]
    writes: bool,
    /// Use a semaphore with this many permits
    #[arg(long, group = "kind")]
    permits: Option<u64>,
    /// Number of permits to take
    #[arg(long, requires = "permits", default_value_t = 1)]
    weight: u64,
    /// Serve waiters in order of arrival
    #[arg(long)]
    fair: bool,
    /// Action when the lock is lost
    #[arg(long, value_enum, default_value_t = OnLoss::Stop)]
    on_loss: OnLoss,
    /// Time from SIGTERM to SIGKILL. The process group gets both signals after a loss of the lock. Processes that an interrupted command leaves behind get them too
    #[arg(long, value_parser = duration, default_value = "10s")]
    grace: u64,
    /// Stop renewing the lock after this time (default: renew while the command's process group runs)
    #[arg(long, value_parser = duration)]
    max_hold: Option<u64>,
    /// Text that `locks` shows for the holder (default: the command)
    #[arg(long)]
    label: Option<String>,
}

/// What becomes of the command when the lock is lost.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnLoss {
    /// Send SIGTERM to the command's process group, and SIGKILL after --grace
    Stop,
    /// Let the command continue
    Continue,
}

/// What happens while the command runs.
enum Event {
    Signal(Received),
    Lost,
    Child(ChildChange),
}

/// Runs the command.
pub fn run(arguments: &LockArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let name = shown(bytes(&arguments.name));
    let lock = arguments.handle(shared)?;
    let (events, inbox) = channel();
    let mut signals = Signals::catch().map_err(|error| failed(format!("cannot catch signals: {error}")))?;
    let heard = events.clone();
    thread::spawn(move || while signals.next().is_some_and(|signal| heard.send(Event::Signal(signal)).is_ok()) {});
    let wait = match (arguments.nonblock, arguments.timeout) {
        (true, _) => Duration::ZERO,
        (false, Some(micros)) => Duration::from_micros(micros),
        (false, None) => Duration::MAX,
    };
    let mut ended_by = None;
    // On this thread alone: when it gives up, nothing of it waits to be undone in the background of a program that ends.
    let acquired = lock.acquire(wait)?.run_interruptibly(&mut || {
        ended_by = ended_by.or_else(|| end_asked(&inbox));
        ended_by.is_some()
    });
    // It may have come with the lock itself.
    if let Some(signal) = ended_by.or_else(|| end_asked(&inbox)) {
        let _ = lock.release().run();
        return Ok(Exit::Command(128 + signal.number as u8));
    }
    if !acquired? {
        tell(lock.not_acquired().message());
        return Ok(Exit::Command(arguments.conflict_exit_code));
    }
    let told = events.clone();
    lock.on_loss(Box::new(move || drop(told.send(Event::Lost))));
    let token = lock.token().unwrap_or(0);
    adopt_orphans();
    let child = match arguments.spawn(token) {
        Ok(child) => child,
        Err(error) => {
            let _ = lock.release().run();
            tell(&format!("cannot run {}: {error}", shown(bytes(&arguments.command[0]))));
            return Ok(Exit::Command(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }));
        }
    };
    let group = ProcessGroup::of(child.id());
    thread::spawn(move || group.watch(|change| events.send(Event::Child(change)).is_ok()));
    let terminal = Terminal::shared_with(group);
    let (status, in_front) = Watch::new(arguments, &lock, &name, group, &terminal).until_gone(&inbox)?;
    match lock.release().run() {
        Ok(_) => {}
        Err(error) => tell(&format!("{name} ends by itself within {}: {error}", span(arguments.ttl))),
    }
    if let Some(number @ (libc::SIGINT | libc::SIGQUIT)) = status.signal()
        && in_front
    {
        // The terminal sent it to the command alone, and a script around this program is to end too.
        send_to_others_of_group(number);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Exit::Command(code as u8))
}

/// The signal that asks this program to end while it waits for the lock, if one came.
fn end_asked(inbox: &Receiver<Event>) -> Option<Received> {
    while let Ok(Event::Signal(signal)) = inbox.try_recv() {
        if signal.ends() {
            return Some(signal);
        }
        if signal.number == libc::SIGTSTP {
            stop_here(signal.number, false);
        }
    }
    None
}

fn failed(message: String) -> Failure {
    Failure { exit: Exit::Findings, code: "internal", message }
}

impl LockArguments {
    fn handle(&self, shared: &SharedArguments) -> Result<Lock, Failure> {
        let label = self.label.clone().unwrap_or_else(|| label_of(&self.command[0]));
        let options = LockOptions {
            ttl: self.ttl,
            max_hold: self.max_hold.unwrap_or(u64::MAX),
            fair: self.fair,
            label,
            ..LockOptions::default()
        };
        let (client, name) = (raw::client(shared)?, bytes(&self.name));
        Ok(match self.permits {
            Some(permits) => client.semaphore(name, permits, self.weight, options)?,
            None if self.reads => client.read_lock(name, options)?,
            None if self.writes => client.write_lock(name, options)?,
            None => client.lock(name, options)?,
        })
    }

    /// Starts the command in a process group of its own.
    fn spawn(&self, token: u64) -> std::io::Result<Child> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env(TOKEN, token.to_string()).process_group(0);
        let not_inherited = ignore_terminal_stops();
        let (parent, is_told) = (std::process::id(), self.on_loss == OnLoss::Stop);
        // SAFETY: all that is called may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                not_inherited.iter().for_each(|&number| set_default(number));
                if is_told {
                    end_with(parent);
                }
                Ok(())
            });
        }
        command.spawn()
    }
}

/// Has this process, which is the command to be, get SIGTERM when its parent is killed: then nobody renews the lock. It reaches
/// the command alone, not what it starts, and Linux only. Linux sends the signal once or several times: the command is handed on
/// from the thread that started it to each thread of the parent that ends later.
fn end_with(parent: u32) {
    #[cfg(target_os = "linux")]
    // SAFETY: all three may be called between fork and exec.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        // The parent may have ended before.
        if libc::getppid() as u32 != parent {
            libc::raise(libc::SIGTERM);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
}

/// The command, cut to what a label may have.
fn label_of(command: &OsString) -> String {
    let mut label = command.to_string_lossy().replace(char::is_control, " ");
    while label.len() > MAX_LABEL_BYTES {
        label.pop();
    }
    label
}

/// A command that runs under a lock.
struct Watch<'a> {
    arguments: &'a LockArguments,
    lock: &'a Lock,
    name: &'a str,
    group: ProcessGroup,
    terminal: &'a Terminal,
    /// When what is left of the group is killed.
    kill_at: Option<Instant>,
    was_lost: bool,
    /// Whether a signal asked the command to end.
    is_to_end: bool,
    /// The job stops as a whole, and nobody renews the lock meanwhile: but only once the command has stopped, which it need not.
    is_to_stop: bool,
    has_stopped: bool,
}

impl<'a> Watch<'a> {
    fn new(
        arguments: &'a LockArguments,
        lock: &'a Lock,
        name: &'a str,
        group: ProcessGroup,
        terminal: &'a Terminal,
    ) -> Watch<'a> {
        let (kill_at, was_lost, is_to_end, is_to_stop, has_stopped) = (None, false, false, false, false);
        Watch { arguments, lock, name, group, terminal, kill_at, was_lost, is_to_end, is_to_stop, has_stopped }
    }

    /// Passes signals on until no process of the group is left, and ends it if the lock is lost. Returns how the command ended,
    /// and whether it was in the foreground of the terminal then.
    fn until_gone(mut self, inbox: &Receiver<Event>) -> Result<(ExitStatus, bool), Failure> {
        let (status, was_in_front) = loop {
            match self.next(inbox, None) {
                Some(Event::Child(ChildChange::Ended(status))) => break (status, self.terminal.take_back()),
                Some(Event::Child(ChildChange::Stopped(number))) => self.on_stop(number),
                Some(event) => self.on(event),
                None => {}
            }
        };
        // What the terminal sent to the command alone this program did not hear.
        self.is_to_end |= was_in_front && matches!(status.signal(), Some(libc::SIGINT | libc::SIGQUIT));
        let ended_at = Instant::now();
        let mut is_reported = false;
        while self.group.lives() {
            if self.is_to_end && self.kill_at.is_none() {
                // Shells have what runs in the background ignore SIGINT.
                self.group.send(libc::SIGTERM);
                self.kill_at = self.after_grace();
                self.is_to_end = false;
            }
            if !is_reported && ended_at.elapsed() >= PATIENCE {
                is_reported = true;
                self.report_left_behind();
            }
            match self.next(inbox, Some(LOOKS_AGAIN_AFTER)) {
                Some(Event::Signal(signal)) if signal.number == libc::SIGTSTP && !nobody_continues_us() => {
                    // The command is not there any more, whose stopping would be awaited.
                    self.group.send(signal.number);
                    self.stop(signal.number, false);
                }
                Some(event) => self.on(event),
                None => {}
            }
        }
        if !self.was_lost && !self.lock.is_held() {
            tell(&format!("{} was lost before the command ended: another may have held it meanwhile", self.name));
        }
        Ok((status, was_in_front))
    }

    /// The next event; none if there was none for as long as that, or the group was killed.
    fn next(&mut self, inbox: &Receiver<Event>, within: Option<Duration>) -> Option<Event> {
        let to_kill = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        let event = match (to_kill, within) {
            (None, None) => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (one, other) => inbox.recv_timeout(one.unwrap_or(Duration::MAX).min(other.unwrap_or(Duration::MAX))),
        };
        if self.kill_at.is_some_and(|at| at <= Instant::now()) {
            tell(&format!("the command is killed, it did not end within {}", span(self.arguments.grace)));
            self.group.send(libc::SIGKILL);
            self.kill_at = None;
        }
        event.ok()
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Signal(signal) => self.on_signal(signal),
            Event::Lost => self.on_loss(),
            Event::Child(_) => {}
        }
    }

    fn on_signal(&mut self, signal: Received) {
        match signal.number {
            // The system would ignore it too.
            libc::SIGTSTP if nobody_continues_us() => return,
            libc::SIGTSTP if self.has_stopped => return self.stop(libc::SIGTSTP, false),
            libc::SIGTSTP => self.is_to_stop = true,
            // Stopped for longer than the lock lasted: the command is told before it goes on.
            libc::SIGCONT if !self.lock.is_held() => self.on_loss(),
            _ => {}
        }
        if signal.number == libc::SIGCONT {
            (self.is_to_stop, self.has_stopped) = (false, false);
        }
        self.is_to_end |= signal.ends();
        // What the command sent to us is nothing to send back.
        if signal.sender != self.group.id() {
            self.group.send(signal.number);
        }
    }

    /// The command has stopped.
    fn on_stop(&mut self, number: i32) {
        self.has_stopped = true;
        let wants_terminal = matches!(number, libc::SIGTTIN | libc::SIGTTOU);
        if wants_terminal && self.terminal.give() {
            self.go_on(false);
        } else if self.is_to_stop {
            self.stop(libc::SIGTSTP, false);
        } else if wants_terminal && nobody_continues_us() {
            tell("the command wants the terminal, and no shell can give it: it gets SIGHUP");
            self.is_to_end = true;
            self.group.send(libc::SIGHUP);
            self.group.send(libc::SIGCONT);
            self.kill_at = self.kill_at.or_else(|| self.after_grace());
        } else if wants_terminal || number == libc::SIGTSTP || self.terminal.is_theirs() {
            self.stop(if wants_terminal { number } else { libc::SIGTSTP }, true);
        }
    }

    /// Stops this process, as the command has stopped, until a shell continues it.
    fn stop(&mut self, number: i32, whole_group: bool) {
        let wants_terminal = self.terminal.take_back() || number != libc::SIGTSTP;
        if !nobody_continues_us() {
            stop_here(number, whole_group);
        }
        if !self.lock.is_held() {
            self.on_loss();
        }
        self.go_on(wants_terminal);
    }

    /// Continues the command, in the foreground if it is to be there and this process is.
    fn go_on(&mut self, in_front: bool) {
        (self.is_to_stop, self.has_stopped) = (false, false);
        if in_front {
            self.terminal.give();
        }
        self.group.send(libc::SIGCONT);
    }

    /// The lock is lost: the group has to end, unless the command is to go on.
    fn on_loss(&mut self) {
        if std::mem::replace(&mut self.was_lost, true) {
            return;
        }
        let name = self.name;
        if self.arguments.on_loss == OnLoss::Continue {
            return tell(&format!("{name} is lost: another may hold it, and the command goes on"));
        }
        tell(&format!("{name} is lost: another may hold it, and the command gets SIGTERM"));
        self.group.send(libc::SIGTERM);
        // What is stopped would not hear of it.
        self.group.send(libc::SIGCONT);
        self.kill_at = self.after_grace();
    }

    fn after_grace(&self) -> Option<Instant> {
        Instant::now().checked_add(Duration::from_micros(self.arguments.grace))
    }

    fn report_left_behind(&self) {
        let members = self.group.members();
        let numbers: Vec<String> = members.iter().take(5).map(i32::to_string).collect();
        let more = if members.len() > numbers.len() { ", ..." } else { "" };
        let which = if numbers.is_empty() { String::new() } else { format!(" (pid {}{more})", numbers.join(", ")) };
        tell(&format!(
            "the command has ended, but not all of its process group{which}: {} is kept until they end",
            self.name
        ));
    }
}
