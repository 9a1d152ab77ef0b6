//! For tests: what reads bytes and texts of others.

use crate::base::endpoint::Endpoint;
use crate::base::error::Result;
use crate::call::resp::{Parser, ReplyLimit};

/// The replies in bytes that arrive in pieces of so many, as text, and whether what follows is none.
pub fn replies(bytes: &[u8], piece: usize) -> (Vec<String>, bool) {
    let (mut parser, mut read) = (Parser::default(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        parser.feed(piece);
        loop {
            match parser.next_reply(ReplyLimit::SMALL) {
                Ok(Some(reply)) => read.push(format!("{reply:?}")),
                Ok(None) => break,
                Err(_) => return (read, true),
            }
        }
    }
    (read, false)
}

/// Reads a URL.
///
/// # Errors
/// `invalid_argument` for one that is wrong.
pub fn check_url(url: &str) -> Result<()> {
    Endpoint::parse(url, None).map(drop)
}
