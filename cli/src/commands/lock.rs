//! `lock`: runs a command under a lock, as `flock` does, on as many machines as there are.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use quotalock::{Lock, LockOptions, MAX_LABEL_BYTES};

use super::lock_signals::{Received, Signals, await_stop_or_end, send, stop_here};
use crate::arguments::Shared;
use crate::exit::{Exit, Failure};
use crate::output::{shown, tell};
use crate::raw;
use crate::words::{bytes, duration, span};

/// What the command finds the fencing token in.
const TOKEN: &str = "QUOTALOCK_TOKEN";
/// What a shell answers for a command that is not there, or that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// What `lock` is asked.
#[derive(Args)]
pub struct Arguments {
    /// What is locked
    name: OsString,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
    /// For how long the lock outlives this program if it is killed
    #[arg(long, value_parser = duration, default_value = "30s")]
    ttl: u64,
    /// How long to wait for the lock; without it as long as it takes
    #[arg(short = 'w', long, visible_alias = "wait", value_parser = duration)]
    timeout: Option<u64>,
    /// Do not wait at all
    #[arg(short = 'n', long, conflicts_with = "timeout")]
    nonblock: bool,
    /// The exit code if the lock is not to be had
    #[arg(short = 'E', long, default_value_t = 1)]
    conflict_exit_code: u8,
    /// Be one of many readers
    #[arg(short = 's', long = "shared", group = "kind")]
    reads: bool,
    /// Be the one writer that no reader is beside
    #[arg(short = 'x', long = "exclusive", group = "kind")]
    writes: bool,
    /// Take a permit of a semaphore that has so many
    #[arg(long, group = "kind")]
    permits: Option<u64>,
    /// Take so many permits
    #[arg(long, requires = "permits", default_value_t = 1)]
    weight: u64,
    /// Wait in order
    #[arg(long)]
    fair: bool,
    /// What the command does when the lock is lost
    #[arg(long, value_enum, default_value_t = OnLoss::Stop)]
    on_loss: OnLoss,
    /// How long the command may take to end before it is killed
    #[arg(long, value_parser = duration, default_value = "10s")]
    grace: u64,
    /// Renew the lock for no longer than this; without it as long as the command runs
    #[arg(long, value_parser = duration)]
    max_hold: Option<u64>,
    /// What `locks` shows of the holder; without it the command
    #[arg(long)]
    label: Option<String>,
}

/// What becomes of the command when the lock is lost.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnLoss {
    /// It gets SIGTERM, and after the grace SIGKILL
    Stop,
    /// It goes on
    Continue,
}

/// What happens while the command runs.
enum Event {
    Signal(Received),
    Lost,
    Stopped,
    Ended,
}

/// Runs the command.
pub fn run(arguments: &Arguments, shared: &Shared) -> Result<Exit, Failure> {
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
    let mut child = match arguments.spawn(token) {
        Ok(child) => child,
        Err(error) => {
            let _ = lock.release().run();
            tell(&format!("cannot run {}: {error}", shown(bytes(&arguments.command[0]))));
            return Ok(Exit::Command(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }));
        }
    };
    let watch = Watch { arguments, lock: &lock, name: &name, pid: child.id() };
    let status = watch.until_end(&mut child, events, &inbox)?;
    match lock.release().run() {
        Ok(_) => {}
        Err(error) => tell(&format!("{name} ends by itself within {}: {error}", span(arguments.ttl))),
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
            stop_here();
        }
    }
    None
}

fn failed(message: String) -> Failure {
    Failure { exit: Exit::Findings, code: "internal", message }
}

impl Arguments {
    fn handle(&self, shared: &Shared) -> Result<Lock, Failure> {
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

    fn spawn(&self, token: u64) -> std::io::Result<Child> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env(TOKEN, token.to_string());
        #[cfg(target_os = "linux")]
        if self.on_loss == OnLoss::Stop {
            let parent = std::process::id();
            // SAFETY: both calls may be made between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    // If this program is killed nobody renews the lock: the command is told.
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                    if libc::getppid() as u32 != parent {
                        libc::raise(libc::SIGTERM);
                    }
                    Ok(())
                });
            }
        }
        command.spawn()
    }
}

/// The command, cut to what a label may have.
fn label_of(command: &OsString) -> String {
    let mut label = command.to_string_lossy().replace('\n', " ");
    while label.len() > MAX_LABEL_BYTES {
        label.pop();
    }
    label
}

/// A command that runs under a lock.
struct Watch<'a> {
    arguments: &'a Arguments,
    lock: &'a Lock,
    name: &'a str,
    pid: u32,
}

impl Watch<'_> {
    /// Passes signals on until the command ends, and ends it if the lock is lost.
    fn until_end(
        &self,
        child: &mut Child,
        events: Sender<Event>,
        inbox: &Receiver<Event>,
    ) -> Result<ExitStatus, Failure> {
        let pid = self.pid;
        thread::spawn(move || {
            while await_stop_or_end(pid) && events.send(Event::Stopped).is_ok() {}
            let _ = events.send(Event::Ended);
        });
        let mut kill_at: Option<Instant> = None;
        let mut was_lost = false;
        // The job stops as a whole, and nobody renews the lock meanwhile: but only once the command has stopped, which it need not.
        let (mut is_to_stop, mut has_stopped) = (false, false);
        loop {
            if is_to_stop && has_stopped {
                (is_to_stop, has_stopped) = (false, false);
                stop_here();
            }
            let event = match kill_at {
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Signal(signal)) => {
                    if signal.number == libc::SIGCONT && !self.lock.is_held() && !was_lost {
                        // Stopped for longer than the lock lasted: it is told before it goes on.
                        (was_lost, kill_at) = (true, self.lost());
                    }
                    match signal.number {
                        libc::SIGTSTP => is_to_stop = true,
                        libc::SIGCONT => (is_to_stop, has_stopped) = (false, false),
                        _ => {}
                    }
                    self.pass_on(signal);
                }
                Ok(Event::Stopped) => has_stopped = true,
                Ok(Event::Lost) if was_lost => {}
                Ok(Event::Lost) => (was_lost, kill_at) = (true, self.lost()),
                Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    tell(&format!("the command is killed, it did not end within {}", span(self.arguments.grace)));
                    send(pid, libc::SIGKILL);
                    kill_at = None;
                }
            }
        }
        if !was_lost && !self.lock.is_held() {
            tell(&format!("{} was lost before the command ended: another may have held it meanwhile", self.name));
        }
        child.wait().map_err(|error| failed(format!("cannot tell how the command ended: {error}")))
    }

    /// The lock is lost: when the command is to be killed.
    fn lost(&self) -> Option<Instant> {
        let name = self.name;
        if self.arguments.on_loss == OnLoss::Continue {
            tell(&format!("{name} is lost: another may hold it, and the command goes on"));
            return None;
        }
        tell(&format!("{name} is lost: another may hold it, and the command gets SIGTERM"));
        send(self.pid, libc::SIGTERM);
        // One that is stopped would not hear of it.
        send(self.pid, libc::SIGCONT);
        Instant::now().checked_add(Duration::from_micros(self.arguments.grace))
    }

    fn pass_on(&self, signal: Received) {
        // The terminal has told the command itself; and what it sent to us is nothing to send back.
        if !signal.is_from_terminal && signal.sender as u32 != self.pid {
            send(self.pid, signal.number);
        }
    }
}
