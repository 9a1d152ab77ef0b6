//! The text of a policy: what is accepted says the same when it is written out and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quotalock::Policy;

fuzz_target!(|text: &str| {
    match Policy::parse(text) {
        Ok(policy) => {
            let written = policy.to_string();
            let again = Policy::parse(&written).unwrap_or_else(|error| panic!("{written}: {}", error.message()));
            assert_eq!(again.to_string(), written);
        }
        Err(error) => assert!(error.message().len() < 1000, "{}", error.message()),
    }
});
