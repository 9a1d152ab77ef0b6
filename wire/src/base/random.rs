//! Random bytes from the operating system: nothing is kept in the process that a fork could repeat.

use crate::base::error::{Code, Error, Result};

/// Unguessable bytes.
///
/// # Errors
/// `internal` if the system has none to give.
pub fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(Code::Internal, format!("the operating system gave no random bytes: {error}")))?;
    Ok(bytes)
}
