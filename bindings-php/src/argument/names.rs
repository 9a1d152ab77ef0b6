//! An argument that is a list of names.

use ext_php_rs::convert::FromZval;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{Code, Error};

use super::text::text;
use super::{type_name, wrong_type};
use crate::exception::Problem;

/// A parameter of type `array` that holds strings.
pub struct Names<'a>(&'a Zval);

impl<'a> FromZval<'a> for Names<'a> {
    const TYPE: DataType = DataType::Array;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Names(value))
    }
}

impl Names<'_> {
    /// The names, copied: a `__toString` among them may change what the list refers to.
    pub fn get(&self, position: u32) -> Result<Vec<Vec<u8>>, Problem> {
        let list = self.0.array().ok_or_else(|| wrong_type(position, c"array", self.0))?;
        let name = |(place, value): (usize, &Zval)| {
            // Our own count keeps the value alive while its text is made.
            let value = value.dereference().shallow_clone();
            let wrong = || {
                let message = format!("names[{place}] is {}: give strings", type_name(&value));
                Problem::from(Error::new(Code::InvalidArgument, message))
            };
            text(&value).unwrap_or_else(|| Err(wrong())).map(|bytes| bytes.into_owned())
        };
        list.values().enumerate().map(name).collect()
    }
}
