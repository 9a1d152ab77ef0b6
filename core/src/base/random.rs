//! Random bytes from the operating system: nothing is kept in the process that a fork could repeat.

use crate::base::error::{Code, Error, Result};

/// Unguessable bytes.
///
/// # Errors
/// `internal` if the system has none to give.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    // SAFETY: the pointer and the length are those of the array, which lives through the call.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    // Up to 256 bytes come whole or not at all.
    if got != N as isize {
        return Err(Error::new(Code::Internal, "the operating system gave no random bytes (getrandom)"));
    }
    Ok(bytes)
}
