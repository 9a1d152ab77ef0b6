//! What a cache does on a server that takes nothing more. Alone in its file: the server is full for everybody.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use quotalock::{Cache, CacheOptions, Code, Got, Result, Seen, Ticket};
use quotalock_tests::{client, fresh_prefix, servers};

const LONG: Duration = Duration::from_secs(20);

fn get(cache: &Cache, key: &[u8]) -> Result<Got> {
    cache.get(key, Duration::ZERO).unwrap().run()
}

fn ticket(got: Result<Got>) -> Ticket {
    match got {
        Ok(Got::Load(ticket)) => ticket,
        other => panic!("no ticket but {other:?}"),
    }
}

fn text(got: Result<Got>) -> Option<String> {
    match got {
        Ok(Got::Found(Seen { value, .. })) => value.map(|value| String::from_utf8(value.to_vec()).unwrap()),
        other => panic!("no value but {other:?}"),
    }
}

#[test]
fn a_full_server_refuses_to_begin_but_lets_everything_end() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("full"));
        let cache = client.cache("home", CacheOptions { stale: 60_000_000, ..CacheOptions::default() }).unwrap();
        let (filled, failed) = (ticket(get(&cache, b"x")), ticket(get(&cache, b"y")));
        let stale = ticket(get(&cache, b"z"));
        assert!(stale.fill(Some(b"v".to_vec())).unwrap().run().unwrap());
        let _full = Full::new(&url);
        let error = filled.fill(Some(b"v".to_vec())).unwrap().run().err().unwrap();
        assert!(error.code() == Code::Unavailable && error.message().contains("full"), "{name}: {error}");
        assert_eq!(get(&cache, b"new").err().unwrap().code(), Code::Unavailable, "{name}");
        assert_eq!(text(get(&cache, b"z")).as_deref(), Some("v"), "{name}: what is there is served");
        assert!(filled.fail(None).run().unwrap(), "{name}");
        assert!(failed.fail(Some("full")).run().unwrap(), "{name}");
        assert_eq!(get(&cache, b"y").err().unwrap().code(), Code::LoadFailed, "{name}");
        assert!(cache.invalidate(b"z").unwrap().run().unwrap(), "{name}");
        assert!(cache.peek(b"z").unwrap().run().unwrap().is_none(), "{name}");
    }
}

/// A server that takes nothing more; it does again when this is dropped.
struct Full(TcpStream);

impl Full {
    fn new(url: &str) -> Full {
        let stream = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut full = Full(stream);
        full.say("CONFIG SET maxmemory 1");
        full
    }

    fn say(&mut self, line: &str) {
        self.0.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let mut answer = [0; 5];
        self.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+OK\r\n");
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        self.say("CONFIG SET maxmemory 0");
    }
}
