//! Errors thrown while something is constructed; JavaScript makes them one of its own classes by their code.

use quotalock::{Code, Error};

/// An error whose status, `code` in JavaScript, is the core's code.
pub type Thrown = napi::Error<&'static str>;

/// The result of a function that may throw.
pub type Result<T> = std::result::Result<T, Thrown>;

/// Turns an error of the core into one to be thrown.
pub fn thrown(error: Error) -> Thrown {
    let mut thrown = Thrown::new(error.code().as_str(), error.message());
    if let Some(number) = error.cause::<f64>() {
        thrown.set_cause(napi::Error::from_reason(number.to_string()));
    }
    thrown
}

/// Turns a failure of Node's own interface into one to be thrown.
pub fn failed(error: napi::Error) -> Thrown {
    Thrown::new(Code::Internal.as_str(), error.reason.clone())
}
