//! How the program ends.

use std::process::{ExitCode, Termination};

use quotalock::{Code, Error};

/// What the exit code of the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: all is fine.
    Fine,
    /// 1: something was found, or went wrong.
    Findings,
    /// 2: the command cannot be understood.
    Usage,
    /// 3: the server cannot be asked.
    NoServer,
    /// 10: the call was denied.
    Denied,
    /// 130: Ctrl-C was pressed.
    Stopped,
    /// What a command that was run under a lock ended with.
    Command(u8),
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Fine => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::NoServer => 3,
            Exit::Denied => 10,
            Exit::Stopped => 130,
            Exit::Command(code) => code,
        })
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// A word that stays the same for this kind of failure.
    pub code: &'static str,
    /// What happened, and what to do.
    pub message: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match error.code() {
            Code::InvalidArgument | Code::InvalidPolicy => Exit::Usage,
            Code::Unavailable | Code::Timeout | Code::NotPermitted => Exit::NoServer,
            _ => Exit::Findings,
        };
        Failure { exit, code: error.code().as_str(), message: error.to_string() }
    }
}
