//! A Lua script: constant text and its SHA-1.

use std::ops::Deref;

use once_cell::race::OnceBox;

use super::lua::{self, Constants};
use crate::base::format::NEXT_FORMAT;

/// What Dragonfly does for a script: it answers with whole numbers, as all others do. To them it is a comment.
const FLAGS: &str = "--!df flags=legacy-float\n";

/// The head of every script: the clock and the deadline.
const CLOCK: &str = include_str!("clock.lua");

/// A script as the server runs it. Made from constant fragments only, so a server never holds more than a few.
#[derive(Debug)]
pub struct Script {
    text: String,
    sha: String,
}

impl Script {
    /// Joins the common head and these fragments, with the numbers that Rust knows by a name as well.
    pub fn new(constants: &Constants, fragments: &[&str]) -> Script {
        let mut text = String::from(FLAGS);
        [&[CLOCK, NEXT_FORMAT], fragments].concat().iter().for_each(|code| lua::write_out(&mut text, code, constants));
        let sha = sha1_smol::Sha1::from(text.as_bytes()).digest().to_string();
        Script { text, sha }
    }

    /// The Lua text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The SHA-1 of the text in lower-case hexadecimal, as EVALSHA takes it.
    pub(crate) fn sha(&self) -> &str {
        &self.sha
    }

    /// The name of the Redis command called in this line of the script, counted from 1.
    pub(crate) fn command_at(&self, line: usize) -> Option<&str> {
        let line = self.text.lines().nth(line.checked_sub(1)?)?;
        // It may be called by another name, or tried.
        let call = line.split_once("call('")?.1;
        call.split('\'').next()
    }
}

/// A script that has a name and is put together when it is first needed.
pub struct NamedScript {
    name: &'static str,
    constants: &'static Constants,
    fragments: &'static [&'static str],
    made: OnceBox<Script>,
}

impl NamedScript {
    /// A script of these constants and parts, in this order; `name` is what it is called in catalogs.
    pub const fn new(
        name: &'static str,
        constants: &'static Constants,
        fragments: &'static [&'static str],
    ) -> NamedScript {
        NamedScript { name, constants, fragments, made: OnceBox::new() }
    }

    /// Its name and its text.
    pub fn listed(&self) -> (String, String) {
        (self.name.to_owned(), self.text().to_owned())
    }
}

impl Deref for NamedScript {
    type Target = Script;

    fn deref(&self) -> &Script {
        self.made.get_or_init(|| Box::new(Script::new(self.constants, self.fragments)))
    }
}
