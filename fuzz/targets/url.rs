//! URLs: none is read wrong without an error, and no error shows a password.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quotalock::redacted;
use quotalock::testing::wire;

const PASSWORD: &str = "s3cr3tPW";

fuzz_target!(|text: &str| {
    let _ = wire::check_url(text);
    let _ = redacted(text);
    let mut parts = text.splitn(3, '\n');
    let mut next = || parts.next().unwrap_or_default();
    let url = format!("{}://{}:{PASSWORD}@{}", next(), next(), next());
    if url.matches(PASSWORD).count() > 1 {
        return;
    }
    assert!(!redacted(&url).contains(PASSWORD), "{url}");
    if let Err(error) = wire::check_url(&url) {
        assert!(!error.message().contains(PASSWORD), "{url}");
    }
});
