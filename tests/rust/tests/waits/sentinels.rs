//! What Sentinels say, rightly or wrongly, and where calls go then. The Sentinels here say what a test has them say; the
//! servers are real.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Error, Options, Policy};
use quotalock_tests::futures::block_on;
use quotalock_tests::operator::command;
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{fresh_prefix, servers};

const NAME: &str = "shop";

/// What speaks as a Sentinel, or as a server that is a replica.
#[derive(Clone)]
struct Told {
    /// Where the primary is; silent if that is nowhere.
    place: Arc<Mutex<Option<String>>>,
    /// Who listens to the news.
    listeners: Arc<Mutex<Vec<TcpStream>>>,
    address: String,
}

impl Told {
    fn new(place: Option<&str>) -> Told {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let told = Told {
            place: Arc::new(Mutex::new(place.map(str::to_owned))),
            listeners: Arc::default(),
            address: listener.local_addr().unwrap().to_string(),
        };
        let teller = told.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, teller) = (stream.unwrap(), teller.clone());
                std::thread::spawn(move || teller.serve(stream));
            }
        });
        told
    }

    fn serve(&self, mut to: TcpStream) -> Option<()> {
        let mut from = BufReader::new(to.try_clone().ok()?);
        loop {
            let words = words(&mut from)?;
            let name = words.first()?.as_str();
            let place = self.place.lock().unwrap().clone();
            let answer = match name {
                "SENTINEL" => match place {
                    Some(place) => {
                        let (host, port) = place.split_once(':')?;
                        format!("*2\r\n${}\r\n{host}\r\n${}\r\n{port}\r\n", host.len(), port.len())
                    }
                    None => continue,
                },
                "SUBSCRIBE" => {
                    self.listeners.lock().unwrap().push(to.try_clone().ok()?);
                    words[1..]
                        .iter()
                        .map(|it| format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{it}\r\n:1\r\n", it.len()))
                        .collect()
                }
                "TIME" => "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n".to_owned(),
                "ROLE" => "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n".to_owned(),
                _ => "+OK\r\n".to_owned(),
            };
            to.write_all(answer.as_bytes()).ok()?;
        }
    }

    /// Who asks subscribes with its next breath.
    fn is_listened_to(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.listeners.lock().unwrap().is_empty() {
            assert!(Instant::now() < end, "nobody listens");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tells whoever listens, and from now on who asks.
    fn moved(&self, channel: &str, text: &str, to: &str) {
        *self.place.lock().unwrap() = Some(to.to_owned());
        let news = format!("*3\r\n$7\r\nmessage\r\n${}\r\n{channel}\r\n${}\r\n{text}\r\n", channel.len(), text.len());
        self.is_listened_to();
        let listeners = self.listeners.lock().unwrap();
        listeners.iter().for_each(|mut listener| listener.write_all(news.as_bytes()).unwrap());
    }
}

fn words(from: &mut impl BufRead) -> Option<Vec<String>> {
    let mut line = String::new();
    let mut number = |from: &mut dyn BufRead| {
        line.clear();
        from.read_line(&mut line).ok()?;
        line.get(1..)?.trim().parse::<usize>().ok()
    };
    let count = number(from)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(from)? + 2];
        from.read_exact(&mut word).ok()?;
        words.push(String::from_utf8_lossy(&word).trim().to_owned());
    }
    Some(words)
}

fn client(sentinels: &[&Told], prefix: &str, timeout: Duration) -> Client {
    let hosts: Vec<&str> = sentinels.iter().map(|sentinel| sentinel.address.as_str()).collect();
    let url = Some(format!("redis+sentinel://{}/{NAME}", hosts.join(",")));
    Client::new(Options { url, prefix: prefix.into(), timeout, ..Options::default() }).unwrap()
}

/// On this thread, or by the process' thread.
fn used(client: &Client, elsewhere: bool) -> Result<u64, Error> {
    let op = client.limiter("n", Policy::parse("100/hour").unwrap()).unwrap().consume(b"k", 1).unwrap();
    let decision = if elsewhere { block_on(op) } else { op.run() };
    decision.map(|decision| 100 - decision.remaining)
}

/// The hosts and ports of two real servers.
fn places() -> [String; 2] {
    let all = servers();
    [0, 1].map(|at| all[at].1.trim_start_matches("redis://").to_owned())
}

const PATIENT: Duration = Duration::from_secs(10);

#[test]
fn the_next_call_after_the_news_goes_to_the_new_primary() {
    let [old, new] = places();
    let at = |place: &str| place.replace(':', " ");
    for elsewhere in [false, true] {
        for channel in ["+switch-master", "+promoted-slave"] {
            let prefix = fresh_prefix("news");
            let sentinel = Told::new(Some(&old));
            let client = client(&[&sentinel], &prefix, PATIENT);
            assert_eq!(used(&client, elsewhere).unwrap(), 1);
            assert_eq!(used(&client, elsewhere).unwrap(), 2);
            // Of another primary.
            sentinel.moved("+switch-master", &format!("other {} {}", at(&old), at(&new)), &old);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(used(&client, elsewhere).unwrap(), 3);
            let text = match channel {
                "+switch-master" => format!("{NAME} {} {}", at(&old), at(&new)),
                _ => format!("slave {new} {} @ {NAME} {}", at(&new), at(&old)),
            };
            // A Sentinel that was slow may have been asked twice, and the one that is listened to may come later.
            let end = Instant::now() + Duration::from_secs(20);
            loop {
                assert!(Instant::now() < end, "{channel} is not heard");
                sentinel.moved(channel, &text, &new);
                // News is looked for every 5 ms at most.
                std::thread::sleep(Duration::from_millis(20));
                if used(&client, elsewhere).unwrap() == 1 {
                    break;
                }
            }
            assert_eq!(used(&client, elsewhere).unwrap(), 2);
        }
    }
}

#[test]
fn who_loses_its_sentinel_listens_to_another() {
    let [old, new] = places();
    let prefix = fresh_prefix("deaf");
    let sentinel = Told::new(Some(&old));
    let client = client(&[&sentinel], &prefix, PATIENT);
    assert_eq!(used(&client, false).unwrap(), 1);
    sentinel.is_listened_to();
    *sentinel.place.lock().unwrap() = Some(new);
    for listener in sentinel.listeners.lock().unwrap().drain(..) {
        listener.shutdown(std::net::Shutdown::Both).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(20);
    while used(&client, false).unwrap() != 1 {
        assert!(Instant::now() < end, "it never asks again");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!sentinel.listeners.lock().unwrap().is_empty());
}

#[test]
fn a_replica_that_a_sentinel_names_is_not_taken_for_the_primary() {
    let [place, _] = places();
    let replica = Told::new(None);
    let (wrong, right) = (Told::new(Some(&replica.address)), Told::new(Some(&place)));
    for sentinels in [[&wrong, &right], [&right, &wrong]] {
        assert_eq!(used(&client(&sentinels, &fresh_prefix("role"), PATIENT), false).unwrap(), 1);
    }
    let error = used(&client(&[&wrong], "x", Duration::from_secs(2)), false).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(error.message().contains(&replica.address) && error.message().contains("is a replica"), "{error}");
}

#[test]
fn a_silent_sentinel_costs_a_moment() {
    let [place, _] = places();
    let (silent, right) = (Told::new(None), Told::new(Some(&place)));
    for sentinels in [[&silent, &right], [&right, &silent]] {
        let stalls = Stalls::watch();
        let began = Instant::now();
        assert_eq!(used(&client(&sentinels, &fresh_prefix("silent"), PATIENT), false).unwrap(), 1);
        assert!(began.elapsed() < Duration::from_millis(500) + stalls.lost(), "{:?}", began.elapsed());
    }
    let stalls = Stalls::watch();
    let began = Instant::now();
    let error = used(&client(&[&silent], "x", Duration::from_millis(300)), true).unwrap_err();
    assert_eq!(error.code(), Code::Timeout, "{error}");
    assert!(began.elapsed() < Duration::from_millis(350) + stalls.lost(), "{:?}", began.elapsed());
}

#[test]
fn without_sentinels_the_primary_is_looked_for_where_it_was() {
    let (_, url) = servers().remove(0);
    let place = url.trim_start_matches("redis://");
    let user = fresh_prefix("gone");
    command(&url, &["ACL", "SETUSER", &user, "on", ">secret", "~*", "+@all"]);
    let sentinel = Told::new(Some(place));
    let options = Options {
        url: Some(format!("redis+sentinel://{user}:secret@{}/{NAME}", sentinel.address)),
        prefix: user.clone(),
        timeout: Duration::from_secs(2),
        ..Options::default()
    };
    let client = Client::new(options).unwrap();
    assert_eq!(used(&client, false).unwrap(), 1);
    *sentinel.place.lock().unwrap() = Some("nonsense\r\n:1".into());
    command(&url, &["CLIENT", "KILL", "USER", &user]);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(used(&client, false).unwrap(), 2);
}
