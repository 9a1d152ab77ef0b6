//! What an error reply means: whether the script ran, and what a person should do about it.

use crate::base::error::{Code, Error, newer_version, shown, wrong_type};
use crate::call::breaker::Scope;
use crate::call::command::Command;
use crate::call::script::Script;

/// What to do after an error reply.
pub(crate) enum ErrorReply {
    /// The script is not loaded: send its text.
    NoScript,
    /// It did not run and may run soon: try again within the deadline, else this error. Tells what else is refused.
    Later(Error, Scope),
    /// As `Later`, but on a new connection: this server was demoted, and the name may lead to another by now.
    Elsewhere(Error, Scope),
    /// Another server of the cluster serves its keys.
    Redirected(Redirect),
    /// It is of no use to try again.
    Final(Error),
}

impl ErrorReply {
    /// The same, with another error if it has one.
    pub(crate) fn map(self, how: impl FnOnce(&Error) -> Error) -> ErrorReply {
        match self {
            ErrorReply::Later(error, scope) => ErrorReply::Later(how(&error), scope),
            ErrorReply::Elsewhere(error, scope) => ErrorReply::Elsewhere(how(&error), scope),
            ErrorReply::Final(error) => ErrorReply::Final(how(&error)),
            ErrorReply::NoScript | ErrorReply::Redirected(_) => self,
        }
    }
}

/// Where a server of a cluster sends a call; it did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// As the server wrote it.
    pub(crate) address: String,
    /// Whether for this time only, since the slot is on its way there.
    pub(crate) once: bool,
}

impl Redirect {
    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`.
    pub(crate) fn read(text: &str) -> Option<Redirect> {
        let mut words = text.split(' ');
        let once = match words.next()? {
            "MOVED" => false,
            "ASK" => true,
            _ => return None,
        };
        words.next()?.parse::<u16>().ok()?;
        Some(Redirect { address: words.next()?.to_owned(), once })
    }
}

/// Of the codes below, those that only what writes gets.
const OF_WRITES: [&str; 3] = ["MISCONF", "NOREPLICAS", "READONLY"];
/// Codes that prove that the script did not run, and pass by themselves.
const PASSING: [&str; 5] = ["LOADING", "CLUSTERDOWN", "NOREPLICAS", "BUSY", "MISCONF"];
/// The same, from a server that is (or follows) no master.
const DEMOTED: [&str; 2] = ["READONLY", "MASTERDOWN"];

/// What an ACL refuses to a command inside a script: until Redis 7.0, and since then.
const IN_A_SCRIPT: [&str; 2] = ["The user executing the script can't", "ACL failure in script"];

/// Reads an error reply to a command's script. Redis before 7 wraps the errors of inner commands, so a code counts
/// wherever it stands; the codes, not the sentences behind them, are the same in Redis and Valkey.
pub(crate) fn read(text: &str, command: &dyn Command, server: &str) -> ErrorReply {
    let code = text.split(' ').next().unwrap_or_default();
    let inner = |wanted: &str| code == wanted || (code == "ERR" && text.contains(wanted));
    if code == "NOSCRIPT" {
        return ErrorReply::NoScript;
    }
    let keys = || -> Vec<&[u8]> { (0..).map_while(|at| command.key(at)).collect() };
    if inner("WRONGTYPE") {
        return ErrorReply::Final(wrong_type(&keys()));
    }
    if let Some(format) = format_in(text) {
        return ErrorReply::Final(newer_version(&keys(), format));
    }
    if inner("CROSSSLOT") {
        return ErrorReply::Final(cross_slot(command, server));
    }
    if let Some(error) = login(text, server, "the url") {
        return ErrorReply::Final(error);
    }
    if code == "NOPERM" || IN_A_SCRIPT.into_iter().any(|start| text.contains(start)) {
        return ErrorReply::Final(not_permitted(text, Some(command.script()), server));
    }
    if is_unknown_command(text) {
        let message = format!(
            "{server} does not know EVAL or EVALSHA: they were renamed there, or this is not Redis; restore them, or \
             correct the url"
        );
        return ErrorReply::Final(Error::new(Code::NotPermitted, message));
    }
    if inner("OOM") {
        let message = format!(
            "{server} is full (maxmemory reached, nothing may be evicted), so {} was not done: raise maxmemory, or give \
             limits and locks a Redis of their own",
            command.describe()
        );
        return ErrorReply::Final(Error::new(Code::Unavailable, message).lasting());
    }
    if let Some(redirect) = Redirect::read(text) {
        return ErrorReply::Redirected(redirect);
    }
    if matches!(code, "MOVED" | "ASK") {
        let message = format!(
            "{server} sent {} on with a redirection that is none (\"{}\"): is there a proxy in between?",
            command.describe(),
            shown(text.as_bytes())
        );
        return ErrorReply::Final(Error::new(Code::Unavailable, message));
    }
    let scope = if OF_WRITES.into_iter().any(inner) {
        Scope::Writes
    } else if inner("TRYAGAIN") || text.contains("Hash slot not served") {
        Scope::Keys
    } else {
        Scope::All
    };
    if DEMOTED.into_iter().any(inner) {
        let message = format!(
            "{server} is a replica ({}): wait for its failover to end, or point the url at the primary",
            shown(text.as_bytes())
        );
        return ErrorReply::Elsewhere(Error::new(Code::Unavailable, message), scope);
    }
    if inner("TRYAGAIN") {
        let message = format!(
            "{server} has some of the keys of {} and not the others, while their slot moves to another server (TRYAGAIN): wait; if \
             it goes on, the move was broken off: end it with redis-cli --cluster fix {server}",
            command.describe()
        );
        return ErrorReply::Later(Error::new(Code::Unavailable, message), scope);
    }
    if PASSING.into_iter().any(inner) {
        let message =
            format!("{server} does not work at the moment ({}): wait, or check its log", shown(text.as_bytes()));
        return ErrorReply::Later(Error::new(Code::Unavailable, message), scope);
    }
    if text.contains("max number of clients") {
        let message = format!("{server} has no connection left (maxclients): raise it or use fewer processes");
        return ErrorReply::Final(Error::new(Code::Unavailable, message));
    }
    let message = format!(
        "{server} refused {} with \"{}\": this is a fault of Quotalock or of a proxy in between",
        command.describe(),
        shown(text.as_bytes())
    );
    ErrorReply::Final(Error::new(Code::Internal, message))
}

/// The number in `ERR NEWERVERSION 2 ...`, with which a script refuses a value of a newer format: see `base/format.lua`.
fn format_in(text: &str) -> Option<u8> {
    let (_, behind) = text.split_once("NEWERVERSION ")?;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The error for keys that one server of a cluster cannot decide about.
pub(crate) fn cross_slot(command: &dyn Command, server: &str) -> Error {
    let message = format!(
        "{} uses keys in different slots of the cluster at {server}, which cannot decide them together: give their \
         limiters or stocks one scope, and use locks and cache keys one by one",
        command.describe()
    );
    Error::new(Code::CrossSlot, message)
}

/// The error for a node of a cluster behind a URL of one server.
pub fn is_cluster(server: &str) -> Error {
    let message = format!("{server} is a node of a Redis Cluster: use redis+cluster:// in the url");
    Error::new(Code::Unavailable, message).lasting()
}

/// Whether the server does not know what it was asked, as where an operator renamed commands.
pub(crate) fn is_unknown_command(text: &str) -> bool {
    text.starts_with("ERR unknown command")
}

/// The error for a refused login, if that is what the reply says; `origin` is where the login comes from.
pub(crate) fn login(text: &str, server: &str, origin: &str) -> Option<Error> {
    let code = text.split(' ').next().unwrap_or_default();
    let message = match code {
        // Of a command with many words it says so in words of its own.
        _ if code == "NOAUTH" || text.starts_with("ERR Protocol error: unauthenticated") => {
            format!("{server} wants a password: put it into the url as redis://:PASSWORD@host")
        }
        "WRONGPASS" => format!("{server} refused the user or password of {origin}: correct it"),
        "ERR" if text.contains("invalid password") => {
            format!("{server} refused the user or password of {origin}: correct it")
        }
        "ERR" if text.contains("AUTH") && text.contains("without any password") => {
            format!("{server} has no password set, but {origin} gives one: take it out there or set it on the server")
        }
        "DENIED" => format!("{server} is in protected mode: set a password there, or bind it to where its clients are"),
        _ => return None,
    };
    Some(Error::new(Code::NotPermitted, message))
}

/// The error for a command that the user's ACL lacks, naming it. For commands inside a script older servers tell only
/// the line, so the script's text gives the name.
pub(crate) fn not_permitted(text: &str, script: Option<&Script>, server: &str) -> Error {
    // A user's name may have quotes, too.
    let quoted = text.rsplit_once("run the '").and_then(|(_, rest)| rest.split('\'').next());
    let quoted = quoted.filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'|'));
    let in_line = || {
        let line = text.contains("can't run this command").then(|| line_of(text))??;
        script?.command_at(line)
    };
    let command = quoted.or_else(in_line).map(str::to_ascii_lowercase);
    let message = match command {
        Some(name) => {
            format!("the Redis user lacks the command '{name}' on {server}: allow it with ACL SETUSER <user> +{name}")
        }
        None => format!(
            "the Redis user lacks a right on {server} ({}): allow our commands, keys and channels with ACL SETUSER",
            shown(text.as_bytes())
        ),
    };
    Error::new(Code::NotPermitted, message)
}

/// The number in `@user_script:12` or `@user_script: 12`; older servers put the line that counts last.
fn line_of(text: &str) -> Option<usize> {
    let numbers = text.split("user_script:").skip(1).filter_map(|rest| {
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    numbers.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_a_password_is_understood_whatever_it_was_sent() {
        for text in [
            "NOAUTH Authentication required.",
            "ERR Protocol error: unauthenticated multibulk length",
            "ERR Protocol error: unauthenticated bulk length",
        ] {
            let error = login(text, "redis:6379", "the url").unwrap();
            assert_eq!(error.code(), Code::NotPermitted);
            assert!(error.message().starts_with("redis:6379 wants a password"), "{error}");
        }
    }

    #[test]
    fn a_refused_login_is_told_from_other_errors() {
        for (text, expected) in [
            ("WRONGPASS invalid username-password pair or user is disabled.", Some("refused the user or password")),
            ("ERR invalid password", Some("refused the user or password")),
            ("ERR AUTH <password> called without any password configured", Some("has no password set")),
            ("ERR Client sent AUTH, but no password is set", None),
            ("ERR invalid DB index", None),
            ("DENIED Redis is running in protected mode", Some("is in protected mode")),
            ("LOADING Redis is loading the dataset in memory", None),
        ] {
            let message = login(text, "redis:6379", "the url").map(|error| error.message().to_owned());
            assert_eq!(message.is_some(), expected.is_some(), "{text}: {message:?}");
            assert!(message.is_none_or(|message| message.contains(expected.unwrap())), "{text}");
        }
    }

    #[test]
    fn the_command_that_a_user_lacks_is_named_if_it_is_one() {
        let lacks = "the Redis user lacks the command";
        for (text, expected) in [
            ("NOPERM User u has no permissions to run the 'EVALSHA' command", format!("{lacks} 'evalsha'")),
            (
                "NOPERM User run the 'x' has no permissions to run the 'config|get' command",
                format!("{lacks} 'config|get'"),
            ),
            ("NOPERM User u has no permissions to run the 'a b' command", "lacks a right".into()),
            ("NOPERM User u has no permissions to run the '' command", "lacks a right".into()),
            ("NOPERM No permissions to access a key", "lacks a right".into()),
        ] {
            let error = not_permitted(text, None, "redis:6379");
            assert!(error.message().contains(&expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_line_of_a_script_is_the_last_that_is_named() {
        for (text, line) in [
            ("ERR user_script:12: no", Some(12)),
            ("ERR @user_script: 7: no, in @user_script:3: no", Some(3)),
            ("ERR user_script: no", None),
            ("ERR", None),
        ] {
            assert_eq!(line_of(text), line, "{text}");
        }
    }
}
