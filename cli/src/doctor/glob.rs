//! Patterns as `SCAN` takes them: `*` and `?`.

/// Whether a name fits.
pub fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place, mut star) = (0, 0, None);
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => match star {
                Some((back, from)) => {
                    star = Some((back, from + 1));
                    (at, place) = (back + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_anything() {
        for (pattern, name, expected) in [
            ("buy:*", "buy:42", true),
            ("buy:*", "xbuy:42", false),
            ("*:timer", "a:timer", true),
            ("a?c*e", "abcde", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("**a**", "bab", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
