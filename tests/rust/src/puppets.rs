//! Servers that play a cluster: what they answer is the test's to say; what is to be done, a real server behind them does.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a puppet does with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// Has the real server do it.
    It,
    /// Answers so; an error is `-MOVED 1 h:1`.
    Says(String),
    /// Has it done, and hangs up without an answer.
    ItAndGoes,
    /// Says nothing.
    Nothing,
}

type Script = dyn Fn(&[String], &[Vec<String>]) -> Does + Send + Sync;

/// A server that answers on loopback.
pub struct Puppet {
    /// Where it listens.
    pub port: u16,
    /// The commands that came, but for those that begin a connection.
    heard: Arc<Mutex<Vec<Vec<String>>>>,
    script: Arc<Mutex<Arc<Script>>>,
    came: Arc<AtomicUsize>,
}

impl Puppet {
    /// One before the real server of this URL. `does` says what it does with a command (its words), after those that came on
    /// the same connection.
    pub fn before(url: &str) -> Puppet {
        let server = url.strip_prefix("redis://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Arc<Script> = Arc::new(|_: &[String], _: &[Vec<String>]| Does::It);
        let puppet = Puppet { port, heard: Arc::default(), script: Arc::new(Mutex::new(script)), came: Arc::default() };
        let (heard, script, came) = (puppet.heard.clone(), puppet.script.clone(), puppet.came.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                came.fetch_add(1, Ordering::SeqCst);
                let far = TcpStream::connect(&server).unwrap();
                let (heard, script) = (heard.clone(), script.clone());
                std::thread::spawn(move || serve(&near, &far, &heard, &script));
            }
        });
        puppet
    }

    /// From now on it does this.
    pub fn does(&self, script: impl Fn(&[String], &[Vec<String>]) -> Does + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    /// How often a command came.
    pub fn count(&self, command: &str) -> usize {
        self.heard.lock().unwrap().iter().filter(|words| words[0].eq_ignore_ascii_case(command)).count()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }

    /// As the cluster knows it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn serve(near: &TcpStream, far: &TcpStream, heard: &Mutex<Vec<Vec<String>>>, script: &Mutex<Arc<Script>>) {
    let (mut from, mut behind) = (BufReader::new(near), BufReader::new(far));
    let mut before = Vec::new();
    while let Some((raw, words)) = command(&mut from) {
        heard.lock().unwrap().push(words.clone());
        let script = script.lock().unwrap().clone();
        let does = script(&words, &before);
        before.push(words);
        if matches!(does, Does::It | Does::ItAndGoes) {
            (&*far).write_all(&raw).unwrap();
        }
        let answer = match does {
            Does::It => reply(&mut behind),
            Does::Says(text) => format!("{text}\r\n").into_bytes(),
            Does::Nothing => continue,
            Does::ItAndGoes => {
                reply(&mut behind);
                let _ = near.shutdown(Shutdown::Both);
                return;
            }
        };
        if (&*near).write_all(&answer).is_err() {
            return;
        }
    }
}

/// A line with its end, and the number behind its first character.
fn line(from: &mut impl BufRead) -> Option<(Vec<u8>, i64)> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).ok().filter(|read| *read > 2)?;
    let number = std::str::from_utf8(&line[1..line.len() - 2]).ok()?.parse().unwrap_or(0);
    Some((line, number))
}

/// The next command as it came, and its words.
fn command(from: &mut impl BufRead) -> Option<(Vec<u8>, Vec<String>)> {
    let (mut raw, count) = line(from)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let (head, length) = line(from)?;
        let mut bytes = vec![0; length as usize + 2];
        from.read_exact(&mut bytes).ok()?;
        words.push(String::from_utf8_lossy(&bytes[..length as usize]).into_owned());
        raw.extend_from_slice(&head);
        raw.extend_from_slice(&bytes);
    }
    Some((raw, words))
}

/// The next reply as it came.
fn reply(from: &mut impl BufRead) -> Vec<u8> {
    let (mut raw, number) = line(from).expect("the real server has gone");
    match raw[0] {
        b'$' if number >= 0 => {
            let mut bytes = vec![0; number as usize + 2];
            from.read_exact(&mut bytes).unwrap();
            raw.append(&mut bytes);
        }
        b'*' => (0..number).for_each(|_| raw.append(&mut reply(from))),
        _ => {}
    }
    raw
}

/// From which slot to which, and the port and the id of the primary and of its replicas.
pub type Range<'a> = (u16, u16, &'a [(u16, &'a str)]);

/// A map of the cluster as `CLUSTER SLOTS` gives it.
pub fn slots(ranges: &[Range<'_>]) -> String {
    let node = |(port, id): &(u16, &str)| format!("*3\r\n$9\r\n127.0.0.1\r\n:{port}\r\n${}\r\n{id}\r\n", id.len());
    let range = |(first, last, nodes): &Range<'_>| {
        let nodes: Vec<String> = nodes.iter().map(node).collect();
        format!("*{}\r\n:{first}\r\n:{last}\r\n{}", nodes.len() + 2, nodes.concat())
    };
    let ranges: Vec<String> = ranges.iter().map(range).collect();
    format!("*{}\r\n{}", ranges.len(), ranges.concat()).trim_end().to_owned()
}

/// Whether a command is a call of ours.
pub fn is_call(words: &[String]) -> bool {
    words[0].starts_with("EVAL")
}
