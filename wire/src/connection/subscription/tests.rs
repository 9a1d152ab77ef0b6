use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::base::endpoint::Endpoint;

const SLOT: u16 = 42;
const CHANNEL: Channel = *b"s23456789abcdef0";
const HINT: AttemptId = *b"0123456789abcdef";

/// A server that answers as it is told, and what it was sent. Each answer to a subscription is made by its command.
struct Bench {
    server: Server,
    sent: Receiver<String>,
    /// To say what nobody asked for.
    line: Receiver<TcpStream>,
}

impl Bench {
    fn new(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Bench {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let Ok(Endpoint::Redis(server)) = Endpoint::parse(&url, None) else { panic!("{url}") };
        let ((tell, sent), (give, line)) = (channel(), channel());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            give.send(stream.try_clone().unwrap()).unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(count)) = lines.next() {
                let count: usize = count[1..].parse().unwrap();
                let words: Vec<String> = (0..2 * count).map(|_| lines.next().unwrap().unwrap()).collect();
                let (name, channel) = (&words[1], words.get(3).map_or("", |word| word));
                let said = match name.as_str() {
                    "TIME" => "*2\r\n$1\r\n1\r\n$1\r\n1\r\n".to_owned(),
                    subscribe if subscribe.ends_with("SUBSCRIBE") => answer(subscribe, channel),
                    _ => "+OK\r\n".to_owned(),
                };
                if tell.send(format!("{name} {channel}")).is_err() || stream.write_all(said.as_bytes()).is_err() {
                    break;
                }
            }
        });
        Bench { server, sent, line }
    }

    fn open(&self, slot: Option<(u16, Channel)>) -> (Subscription, Vec<News>) {
        let prefix: Arc<[u8]> = b"ql:wake:".as_slice().into();
        with_time(|patience| Subscription::open(&self.server, 7, &prefix, slot, patience)).unwrap()
    }

    /// The subscriptions that were asked for.
    fn asked(&self) -> Vec<String> {
        self.sent.try_iter().filter(|line| line.contains("SUBSCRIBE")).collect()
    }
}

fn with_time<T>(act: impl FnOnce(&mut CallDeadline<'_>) -> T) -> T {
    act(&mut CallDeadline::new(Instant::now() + Duration::from_secs(20), &mut || false))
}

fn confirmed(command: &str, channel: &str) -> String {
    let kind = command.to_lowercase();
    format!("*3\r\n${}\r\n{kind}\r\n${}\r\n{channel}\r\n:1\r\n", kind.len(), channel.len())
}

fn message(kind: &str, channel: &Channel, text: &[u8]) -> String {
    let (channel, text) = (str::from_utf8(channel).unwrap(), str::from_utf8(text).unwrap());
    format!("*3\r\n${}\r\n{kind}\r\n$24\r\nql:wake:{channel}\r\n${}\r\n{text}\r\n", kind.len(), text.len())
}

/// Reads until there is news.
fn news(subscription: &mut Subscription) -> Vec<News> {
    let mut news = Vec::new();
    with_time(|patience| {
        loop {
            subscription.listen(&mut news).unwrap();
            if !news.is_empty() {
                return;
            }
            patience.ready(subscription.descriptor(), false).unwrap();
        }
    });
    news
}

fn request(subscription: &mut Subscription, slot: u16) -> Vec<News> {
    let mut news = Vec::new();
    with_time(|patience| {
        subscription.request(slot, CHANNEL, patience).unwrap();
        subscription.settle(slot, &mut news, patience).unwrap();
    });
    news
}

#[test]
fn of_one_server_one_channel_hears_all() {
    let bench = Bench::new(confirmed);
    let (subscription, news) = bench.open(None);
    let ear = subscription.ear(0).unwrap();
    assert!(ear.node.is_none() && news.is_empty() && ear.channel[0].is_ascii_hexdigit());
    assert_eq!(bench.asked(), [format!("SUBSCRIBE ql:wake:{}", str::from_utf8(&ear.channel).unwrap())]);
    assert_eq!(subscription.slots().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_slot_is_heard_of_at_home_until_it_moves_and_then_from_elsewhere() {
    let bench = Bench::new(confirmed);
    let (mut subscription, _) = bench.open(Some((SLOT, CHANNEL)));
    let name = "ql:wake:s23456789abcdef0";
    assert_eq!(bench.asked()[1..], [format!("SSUBSCRIBE {name}"), format!("SUBSCRIBE {name}")]);
    assert_eq!(subscription.ear(SLOT), Some(HintChannel { channel: CHANNEL, node: Some(7) }));
    assert_eq!(subscription.ear(SLOT + 1), None);
    let mut line = bench.line.recv().unwrap();
    line.write_all(message("smessage", &CHANNEL, &HINT).as_bytes()).unwrap();
    assert_eq!(news(&mut subscription), [News::Hint(HINT)]);
    line.write_all(format!("*3\r\n$12\r\nsunsubscribe\r\n$24\r\n{name}\r\n:0\r\n").as_bytes()).unwrap();
    assert_eq!(news(&mut subscription), [News::Moved(SLOT)]);
    assert_eq!(subscription.ear(SLOT), Some(HintChannel { channel: CHANNEL, node: Some(0) }));
    line.write_all(message("message", &CHANNEL, &HINT).as_bytes()).unwrap();
    assert_eq!(news(&mut subscription), [News::Hint(HINT)]);
    request(&mut subscription, SLOT);
    assert_eq!(subscription.ear(SLOT), Some(HintChannel { channel: CHANNEL, node: Some(7) }), "it came back");
}

#[test]
fn a_server_without_the_slot_says_who_has_it_and_passes_hints_on() {
    let moved = "MOVED 42 127.0.0.1:7001";
    let bench = Bench::new(move |command, channel| match command {
        "SSUBSCRIBE" => format!("{}-{moved}\r\n", message("message", &CHANNEL, &HINT)),
        _ => confirmed(command, channel),
    });
    let (subscription, heard) = bench.open(Some((SLOT, CHANNEL)));
    assert_eq!(heard, [News::Hint(HINT), News::Refused(SLOT, moved.to_owned())]);
    assert_eq!(subscription.ear(SLOT), Some(HintChannel { channel: CHANNEL, node: Some(0) }));
}

#[test]
fn a_server_without_sharded_messages_or_a_user_who_may_not_hear_them_has_one_channel_for_all() {
    for refusal in ["ERR unknown command `SSUBSCRIBE`", "NOPERM this user has no permissions to run 'ssubscribe'"] {
        let bench = Bench::new(move |command, channel| match command {
            "SSUBSCRIBE" => format!("-{refusal}\r\n"),
            _ => confirmed(command, channel),
        });
        let (mut subscription, heard) = bench.open(Some((SLOT, CHANNEL)));
        let ear = subscription.ear(SLOT).unwrap();
        assert!(heard.is_empty() && ear.node.is_none() && ear.channel != CHANNEL, "{refusal}");
        assert_eq!(bench.asked().len(), 3);
        assert_eq!(subscription.ear(SLOT + 1), Some(ear));
        subscription.note(SLOT + 1);
        assert!(request(&mut subscription, SLOT + 2).is_empty());
        assert_eq!((bench.asked().len(), subscription.width()), (0, 3), "nothing more is asked");
    }
}

#[test]
fn what_says_other_than_was_asked_for_is_given_up() {
    let bench = Bench::new(|command, channel| match command {
        "SSUBSCRIBE" => confirmed(command, channel),
        _ if channel.ends_with("def0") => "-ERR no\r\n".to_owned(),
        _ => confirmed(command, channel),
    });
    let prefix: Arc<[u8]> = b"ql:wake:".as_slice().into();
    let opened = with_time(|patience| Subscription::open(&bench.server, 7, &prefix, Some((SLOT, CHANNEL)), patience));
    assert_eq!(opened.err().map(|error| error.code()), Some(Code::Unavailable));
}
