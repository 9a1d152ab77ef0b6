//! What the core has to say to the user about its decisions, as warnings of PHP.

use ext_php_rs::ffi::{ZEND_INTERNAL_FUNCTION, ext_php_rs_executor_globals, zend_execute_data, zend_string};

use crate::exception::Outcome;
use crate::unkept;

/// The classes of this project's packages begin so.
const OURS: &[u8] = b"Quotalock\\";

/// Warns the caller of what was decided, if there is something to say, and passes it on. As of [`unkept::warn`].
#[inline]
pub fn after<T>(decided: Outcome<T>) -> Outcome<T> {
    if decided.is_ok() && quotalock::has_limiter_warning() { warned(decided) } else { decided }
}

#[cold]
fn warned<T>(decided: Outcome<T>) -> Outcome<T> {
    let decided = decided?;
    match quotalock::limiter_warning() {
        Some(message) => unkept::advise(message, decided),
        None => Ok(decided),
    }
}

/// The file and line of the nearest caller outside of this project's packages; without one, of the nearest.
pub fn place() -> Option<String> {
    let mut nearest = None;
    // SAFETY: while our function runs the engine's current frame is its own.
    let mut frame = unsafe { ext_php_rs_executor_globals().as_ref()?.current_execute_data.as_ref() };
    while let Some(at) = frame {
        if let Some((place, is_ours)) = of_script(at) {
            if !is_ours {
                return Some(place);
            }
            nearest = nearest.or(Some(place));
        }
        // SAFETY: the frames of callers outlive ours.
        frame = unsafe { at.prev_execute_data.as_ref() };
    }
    nearest
}

/// Where a frame is, and whether it is one of our packages'; none if it is not of a script.
fn of_script(frame: &zend_execute_data) -> Option<(String, bool)> {
    // SAFETY: a frame that has a function of a script has its instruction, the function's file and maybe a class, which all live as
    // long as the frame.
    unsafe {
        let function = frame.func.as_ref()?;
        if u32::from(function.type_) & ZEND_INTERNAL_FUNCTION != 0 {
            return None;
        }
        let (script, line) = (&function.op_array, frame.opline.as_ref()?.lineno);
        let class = script.scope.as_ref().and_then(|class| bytes(class.name));
        let is_ours = class.is_some_and(|class| class.starts_with(OURS));
        Some((format!("{}:{line}", String::from_utf8_lossy(bytes(script.filename)?)), is_ours))
    }
}

/// The bytes of a string of the engine's.
///
/// # Safety
/// It is null or valid, and stays so while the bytes are used.
unsafe fn bytes<'a>(text: *mut zend_string) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises; the bytes follow the head, as many as it says.
    unsafe { text.as_ref().map(|text| std::slice::from_raw_parts(text.val.as_ptr().cast(), text.len)) }
}
