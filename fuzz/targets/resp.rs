//! Replies of a server: whatever comes, and in whatever pieces, is read alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quotalock::testing::wire;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = (usize::from(input.0) + 1, input.1);
    let (whole, pieces) = (wire::replies(bytes, bytes.len().max(1)), wire::replies(bytes, piece));
    assert_eq!(whole.0, pieces.0);
    assert_eq!(whole.1, pieces.1);
});
