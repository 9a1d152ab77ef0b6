//! What an operator does to a server.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends a command that answers with `OK` or a number.
///
/// # Panics
/// If it answers anything else.
pub fn command(url: &str, words: &[&str]) {
    let mut connection = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    let mut sent = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| sent.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    connection.write_all(sent.as_bytes()).unwrap();
    let mut reply = [0; 3];
    connection.read_exact(&mut reply).unwrap();
    assert!(&reply == b"+OK" || reply[0] == b':', "{words:?}");
}
