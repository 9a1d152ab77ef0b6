//! An argument that is a function of PHP code.

use ext_php_rs::convert::FromZval;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;

use super::wrong_type;
use crate::exception::Problem;

/// A parameter of type `callable`.
pub struct Function<'a>(&'a Zval);

impl<'a> FromZval<'a> for Function<'a> {
    const TYPE: DataType = DataType::Callable;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Function(value))
    }
}

impl<'a> Function<'a> {
    /// What can be called.
    pub fn get(&self, position: u32) -> Result<&'a Zval, Problem> {
        if self.0.is_callable() { Ok(self.0) } else { Err(wrong_type(position, c"callable", self.0)) }
    }
}
