//! What an operator does to a server.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::spec::root;

/// Sends a command that answers with `OK` or a number.
///
/// # Panics
/// If it answers anything else.
pub fn command(url: &str, words: &[&str]) {
    let mut connection = sent(url, words);
    let mut reply = [0; 3];
    connection.read_exact(&mut reply).unwrap();
    assert!(&reply == b"+OK" || reply[0] == b':', "{words:?}");
}

/// The reply to a command, as it comes, without the end of its last line.
///
/// # Panics
/// If the server is not there.
pub fn ask(url: &str, words: &[&str]) -> String {
    const END: &str = "+PONG\r\n";
    let mut connection = sent(url, words);
    connection.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    let (mut reply, mut connection) = (String::new(), BufReader::new(connection));
    while !reply.ends_with(END) {
        assert!(connection.read_line(&mut reply).unwrap() > 0, "{words:?}: {reply}");
    }
    reply.trim_end_matches(END).trim_end().to_owned()
}

fn sent(url: &str, words: &[&str]) -> TcpStream {
    let mut connection = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    let mut sent = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| sent.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    connection.write_all(sent.as_bytes()).unwrap();
    connection
}

/// The servers of a URL: of a cluster's all that it names.
pub fn nodes(url: &str) -> Vec<String> {
    let (_, places) = url.split_once("://").unwrap();
    places.split(',').map(|place| format!("redis://{place}")).collect()
}

/// The words after the user's name in the lines of SECURITY.md, each with the comment above it.
///
/// # Panics
/// If SECURITY.md has no block of such lines.
pub fn rights() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let block = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let line = |block: &str| {
        let (comment, line) = block.trim().strip_prefix("# ").unwrap().split_once('\n').unwrap();
        let rights = line.strip_prefix("ACL SETUSER quotalock ").unwrap();
        (comment.to_owned(), rights.split_whitespace().map(str::to_owned).collect())
    };
    block.split("\n\n").map(line).collect()
}

/// Has a user with this name on all servers of a URL, who has these words of [`rights`] for keys with this prefix; the URL
/// with the login.
pub fn login(url: &str, user: &str, prefix: &str, words: &[String]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word.split_at(1) {
            (">", _) => ">secret".to_owned(),
            ("~" | "&", rest) => format!("{}{}", &word[..1], rest.replacen("ql:", &format!("{prefix}:"), 1)),
            _ => word.clone(),
        })
        .collect();
    let mut line = vec!["ACL", "SETUSER", user];
    line.extend(words.iter().map(String::as_str));
    nodes(url).iter().for_each(|node| command(node, &line));
    url.replace("://", &format!("://{user}:secret@"))
}

/// Whether the servers of this URL let users be given the right to say which library they are: Redis 6.2 takes any word for a
/// subcommand, and later ones only those that they know.
pub fn takes_setinfo(url: &str) -> bool {
    nodes(url).iter().all(|node| !ask(node, &["ACL", "SETUSER", "nobody", "+client|setinfo"]).starts_with('-'))
}

/// The words of all lines of [`rights`] for this server or cluster of the harness.
pub fn rights_at(store: &str, url: &str) -> Vec<String> {
    let (is_cluster, takes_setinfo) = (store.starts_with("cluster"), takes_setinfo(url));
    let is_for = |about: &str| match about {
        "A server" | "Names in CLIENT LIST" => true,
        _ => is_cluster && about.starts_with("A cluster") || takes_setinfo && about.starts_with("Names in CLIENT LIST"),
    };
    rights().into_iter().filter(|(about, _)| is_for(about)).flat_map(|(_, words)| words).collect()
}

/// What the servers of this URL refused this user: commands, keys and channels.
///
/// # Panics
/// If a server's ACL log cannot be read.
pub fn refused(url: &str, user: &str) -> BTreeSet<String> {
    let mut refused = BTreeSet::new();
    for node in nodes(url) {
        let log = ask(&node, &["ACL", "LOG", "1000"]);
        for entry in log.split("\r\nreason\r\n").skip(1) {
            let field = |name: &str| {
                let (_, rest) = entry.split_once(&format!("\r\n{name}\r\n")).unwrap();
                rest.split("\r\n").nth(1).unwrap().to_owned()
            };
            if field("username") == user {
                refused.insert(field("object"));
            }
        }
    }
    refused
}
