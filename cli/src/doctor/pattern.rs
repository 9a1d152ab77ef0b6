//! Names of keys that differ only in whom they are about, as one pattern.

/// The name with `*` for each part that tells one user, address, hash or number from another.
pub fn pattern(name: &[u8]) -> String {
    let text = crate::printable::shown(name);
    let mut pattern = String::with_capacity(text.len());
    let mut part = String::new();
    for character in text.chars() {
        if is_separator(character) {
            push(&mut pattern, &part);
            part.clear();
            pattern.push(character);
        } else {
            part.push(character);
        }
    }
    push(&mut pattern, &part);
    // An address or a date is several parts.
    while let Some(at) = ["*.*", "*-*", "*::*", "*@*"].iter().find_map(|run| pattern.find(run)) {
        let end = at + 1 + pattern[at + 1..].find('*').map_or(0, |more| more + 1);
        pattern.replace_range(at..end, "*");
    }
    pattern
}

/// What stands between the parts of a name.
pub fn is_separator(character: char) -> bool {
    matches!(character, ':' | '/' | '|' | '.' | '-' | '_' | '{' | '}' | '@' | '#' | ' ' | ',' | '=' | '[' | ']')
}

fn push(pattern: &mut String, part: &str) {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = (part.len() >= 8 || part.len() == 4) && part.bytes().all(|b| b.is_ascii_hexdigit()) && digits > 0;
    // A word may have a number in it: v1, sha256.
    let is_number = digits > 0 && (digits * 2 > part.len() || part.len() > 12);
    match is_hex || is_number || part.len() > 40 {
        true => pattern.push('*'),
        false => pattern.push_str(part),
    }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn names_of_one_kind_are_one_pattern() {
        for (name, expected) in [
            ("buy:42", "buy:*"),
            ("LIMITS:LIMITER/127.0.0.1/index/5/1/minute", "LIMITS:LIMITER/*/index/*/*/minute"),
            ("laravel_cache:d41d8cd98f00b204e9800998ecf8427e:timer", "laravel_cache:*:timer"),
            ("throttled:v1:fixed_window:a", "throttled:v1:fixed_window:a"),
            ("ql:limit:checkout:{user:42}", "ql:limit:checkout:{user:*}"),
            ("lock:7c1f6e0e-6a36-11ee-8c99-0242ac120002", "lock:*"),
            ("a\x1b[2J", "a\\u{1b}[2J"),
        ] {
            assert_eq!(pattern(name.as_bytes()), expected);
        }
    }
}
