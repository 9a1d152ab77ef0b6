//! Arguments that are lists of keys or names.

use std::borrow::Cow;

use ext_php_rs::types::Zval;
use quotalock::{Code, Error};

use super::scalar::{Key, Taken, text};
use super::{type_name, wrong_type};
use crate::exception::Problem;

parameter! {
    /// A parameter of type `array` that holds what [`Key`] takes.
    Keys, Array
}

parameter! {
    /// A parameter of type `array` that holds strings.
    Names, Array
}

parameter! {
    /// A parameter that is a string, holds several, or is null.
    Lines, Mixed
}

impl Lines<'_> {
    /// The strings.
    pub fn get(&self, position: u32) -> Result<Vec<Vec<u8>>, Problem> {
        if self.0.is_null() {
            return Ok(Vec::new());
        }
        if self.0.is_array() {
            return each(self.0, position, ("forwarded", "give strings"), text);
        }
        let one = text(self.0).unwrap_or_else(|| Err(wrong_type(position, c"array|string|null", self.0)));
        Ok(vec![one?.into_owned()])
    }
}

impl Keys<'_> {
    /// The bytes; an error calls them `what`.
    pub fn get(&self, position: u32, what: &str) -> Result<Vec<Vec<u8>>, Problem> {
        each(self.0, position, (what, "give strings or integers"), |value| Key(value).taken())
    }
}

impl Names<'_> {
    /// The names.
    pub fn get(&self, position: u32) -> Result<Vec<Vec<u8>>, Problem> {
        self.listed(position, "names")
    }

    /// The strings; an error calls them `what`.
    pub fn listed(&self, position: u32, what: &str) -> Result<Vec<Vec<u8>>, Problem> {
        each(self.0, position, (what, "give strings"), text)
    }
}

/// The bytes of each, copied: a `__toString` among them may change what the list refers to.
fn each(
    list: &Zval,
    position: u32,
    (what, advice): (&str, &str),
    bytes: fn(&Zval) -> Taken<'_>,
) -> Result<Vec<Vec<u8>>, Problem> {
    let items = list.array().ok_or_else(|| wrong_type(position, c"array", list))?;
    let one = |(place, value): (usize, &Zval)| {
        // Our own count keeps the value alive while its text is made.
        let value = value.dereference().shallow_clone();
        let wrong = || {
            let message = format!("{what}[{place}] is {}: {advice}", type_name(&value));
            Problem::from(Error::new(Code::InvalidArgument, message))
        };
        bytes(&value).unwrap_or_else(|| Err(wrong())).map(Cow::into_owned)
    };
    items.values().enumerate().map(one).collect()
}
