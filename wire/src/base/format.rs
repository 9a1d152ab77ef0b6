//! The number of the stored formats, and how a value shows that a newer version wrote it.
//!
//! Every format after the first begins with eight bytes: `0xFF`, `quota`, the format's number, and 255 less that number. No
//! value of the first format begins so, and damage does not make one of it, since all of these bytes would have to be right.
//! So an older version can tell a newer value, which it leaves alone, from a damaged one, which it replaces.

/// The number of the formats that this version writes.
pub const FORMAT: u8 = if cfg!(quotalock_next_format) { 2 } else { 1 };
/// The same, as scripts know it.
pub const FORMAT_OF_SCRIPTS: (&str, u64) = ("FORMAT", FORMAT as u64);

/// What the values of every newer format begin with.
const NEWER: &[u8; 6] = b"\xffquota";

/// Fails a script if a newer version wrote a value: twin of [`newer_format`]. It needs the constant `FORMAT`.
pub const CHECK_FORMAT: &str = include_str!("format.lua");

/// What a build that pretends to be the next version has scripts do: only the test of upgrades makes one.
pub(crate) const NEXT_FORMAT: &str = if cfg!(quotalock_next_format) { include_str!("next_format.lua") } else { "" };

/// The number of the format of a value that a newer version wrote; none for a value of this version, or for no value of ours.
pub fn newer_format(value: &[u8]) -> Option<u8> {
    let rest = value.strip_prefix(NEWER)?;
    let [number, check, ..] = *rest else { return None };
    (number > FORMAT && number == !check).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_value_is_told_from_damage() {
        for (value, expected) in [
            (&b"\xffquota\x02\xfd and so on"[..], Some(2)),
            (b"\xffquota\xfe\x01", Some(254)),
            (b"\xffquota\x02\xfc", None),
            (b"\xffquota\x02", None),
            (b"\xffquota\x01\xfe", None),
            (b"\xffquote\x02\xfd", None),
            (b"QL\x02\x01quota\x02\xfd", None),
            (b"", None),
        ] {
            assert_eq!(newer_format(value), expected, "{value:?}");
        }
    }
}
