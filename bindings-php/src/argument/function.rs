//! An argument that is a function of PHP code.

use ext_php_rs::types::Zval;

use super::wrong_type;
use crate::exception::Problem;

parameter! {
    /// A parameter of type `callable`.
    Function, Callable
}

impl<'a> Function<'a> {
    /// What can be called.
    pub fn get(&self, position: u32) -> Result<&'a Zval, Problem> {
        if self.0.is_callable() { Ok(self.0) } else { Err(wrong_type(position, c"callable", self.0)) }
    }
}
