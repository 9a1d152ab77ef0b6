//! An argument that is a list of keys, or of other bytes that PHP code may have as a number or an object.

use ext_php_rs::convert::FromZval;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{Code, Error};

use super::text::Key;
use super::{type_name, wrong_type};
use crate::exception::Problem;

/// A parameter of type `array` that holds what [`Key`] takes.
pub struct Keys<'a>(&'a Zval);

impl<'a> FromZval<'a> for Keys<'a> {
    const TYPE: DataType = DataType::Array;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Keys(value))
    }
}

impl Keys<'_> {
    /// The bytes, copied: a `__toString` among them may change what the list refers to. An error calls them `what`.
    pub fn get(&self, position: u32, what: &str) -> Result<Vec<Vec<u8>>, Problem> {
        let list = self.0.array().ok_or_else(|| wrong_type(position, c"array", self.0))?;
        let key = |(place, value): (usize, &Zval)| {
            // Our own count keeps the value alive while its text is made.
            let value = value.dereference().shallow_clone();
            let wrong = || {
                let message = format!("{what}[{place}] is {}: give strings or integers", type_name(&value));
                Problem::from(Error::new(Code::InvalidArgument, message))
            };
            Key(&value).taken().unwrap_or_else(|| Err(wrong())).map(|bytes| bytes.into_owned())
        };
        list.values().enumerate().map(key).collect()
    }
}
