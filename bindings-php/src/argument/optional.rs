//! Parameters that have a default.

use ext_php_rs::convert::{FromZval, StubLiteral};
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;

/// A parameter whose default is a `D`.
pub enum Optional<'a, D> {
    /// What the caller gave.
    Given(&'a Zval),
    /// The default.
    Default(D),
}

/// What a default can be.
pub trait Literal {
    /// Its type in PHP.
    const TYPE: DataType;

    /// How PHP code writes it.
    fn literal(&self) -> String;
}

impl Literal for i64 {
    const TYPE: DataType = DataType::Long;

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for bool {
    const TYPE: DataType = DataType::Bool;

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for f64 {
    const TYPE: DataType = DataType::Double;

    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl Literal for &'static str {
    const TYPE: DataType = DataType::String;

    fn literal(&self) -> String {
        format!("'{self}'")
    }
}

impl<D> From<D> for Optional<'_, D> {
    fn from(value: D) -> Self {
        Optional::Default(value)
    }
}

impl<D: Literal> StubLiteral for Optional<'_, D> {
    fn stub_literal(&self) -> String {
        match self {
            Optional::Default(value) => value.literal(),
            // Stubs are asked of defaults alone.
            Optional::Given(_) => String::new(),
        }
    }
}

impl<'a, D: Literal> FromZval<'a> for Optional<'a, D> {
    const TYPE: DataType = D::TYPE;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Optional::Given(value))
    }
}
