//! Who waits for a lock is told on its channel when permits are free, and a full server takes them back all the same.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use quotalock::testing::lease::{
    self, Acquire, AcquireOutcome, AttemptId, ExtendLease, ForceRelease, QueueMode, Release,
};
use quotalock::{Client, Code, testing};
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::{client, fresh_prefix, servers};

/// A connection that speaks for itself.
struct Wire(TcpStream);

impl Wire {
    fn new(url: &str) -> Wire {
        let stream = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Wire(stream)
    }

    fn send(&mut self, line: &str) {
        self.0.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    /// Reads until `end` comes.
    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !read.ends_with(end) {
            self.0.read_exact(&mut byte).unwrap();
            read.push(byte[0]);
        }
        read
    }
}

struct Lock {
    client: Client,
    keys: Arc<[Vec<u8>]>,
    wake_prefix: Arc<[u8]>,
}

impl Lock {
    fn new(url: &str) -> Lock {
        let prefix = fresh_prefix("wake");
        let keys = [format!("{prefix}:lock:{{it}}").into_bytes()].into();
        let client = client(url, &prefix);
        // It stands still: a right of way lasts for 50 ms, and a machine may do so for longer.
        testing::set_time(&client, Some(1_700_000_000_000_000)).unwrap();
        Lock { client, keys, wake_prefix: format!("{prefix}:wake:").into_bytes().into() }
    }

    fn acquire(
        &self,
        id: AttemptId,
        queue: QueueMode,
        channel: AttemptId,
        instead_of: Option<AttemptId>,
    ) -> quotalock::Result<AcquireOutcome> {
        let call = Acquire {
            keys: self.keys.clone(),
            id,
            ttl: 60_000_000,
            floor: 0,
            permits: 1,
            weight: 1,
            queue,
            channel,
            wake_prefix: self.wake_prefix.clone(),
            who: b"me".as_slice().into(),
            instead_of,
            waited: 0,
            token: 0,
            shown: "lock \"it\"".into(),
        };
        lease::acquire(&self.client, call).run().map(|grant| grant.outcome)
    }

    fn release(&self, id: AttemptId) -> bool {
        let (keys, wake_prefix) = (self.keys.clone(), self.wake_prefix.clone());
        let call = Release { keys, id, cancel: 0, permits: 1, wake_prefix, shown: "lock \"it\"".into() };
        lease::release(&self.client, call).run().unwrap()
    }

    fn force_release(&self) -> u64 {
        let (keys, wake_prefix) = (self.keys.clone(), self.wake_prefix.clone());
        let call = ForceRelease { keys, permits: 1, wake_prefix, shown: "lock \"it\"".into() };
        lease::force_release(&self.client, call).run().unwrap()
    }
}

fn is_granted(outcome: quotalock::Result<AcquireOutcome>) -> bool {
    matches!(outcome.unwrap(), AcquireOutcome::Granted { .. })
}

const A: AttemptId = [b'a'; 16];
const B: AttemptId = [b'b'; 16];
const C: AttemptId = [b'c'; 16];

#[test]
fn the_first_waiter_gets_its_id_on_its_channel() {
    for (name, url) in servers() {
        let (lock, mut wire) = (Lock::new(&url), Wire::new(&url));
        let prefix = String::from_utf8(lock.wake_prefix.to_vec()).unwrap();
        wire.send(&format!("PSUBSCRIBE {prefix}*"));
        wire.until(b":1\r\n");
        let mut told = |channel: &str, id: &str| {
            let heard = String::from_utf8(wire.until(id.as_bytes())).unwrap();
            assert!(heard.contains(&format!("{prefix}{channel}\r\n$16\r\n{id}")), "{name}: {heard:?}");
            assert_eq!(heard.matches("pmessage").count(), 1, "{name}: {heard:?}");
        };
        let (channel_b, channel_c) = ("channel-of-b.....", "channel-of-c.....");
        let channel = |name: &str| name.as_bytes()[..16].try_into().unwrap();
        assert!(is_granted(lock.acquire(A, QueueMode::No, [0; 16], None)));
        assert!(!is_granted(lock.acquire(B, QueueMode::Hint, channel(channel_b), None)));
        assert!(!is_granted(lock.acquire(C, QueueMode::Order, channel(channel_c), None)));
        assert!(lock.release(A));
        told(&channel_c[..16], "cccccccccccccccc");
        assert!(is_granted(lock.acquire(C, QueueMode::Order, channel(channel_c), None)));
        assert_eq!(lock.force_release(), 1);
        told(&channel_b[..16], "bbbbbbbbbbbbbbbb");
        assert!(!is_granted(lock.acquire(A, QueueMode::No, [0; 16], None)), "who was told has the right of way");
        assert!(is_granted(lock.acquire(B, QueueMode::Hint, channel(channel_b), None)));
        assert!(!is_granted(lock.acquire(A, QueueMode::Hint, channel(channel_b), None)));
        // Handed over, but somebody waits: that one is told.
        assert!(!is_granted(lock.acquire(C, QueueMode::Hint, channel(channel_c), Some(B))));
        told(&channel_b[..16], "aaaaaaaaaaaaaaaa");
        // Told, it gives up: the next one is told.
        assert!(!lock.release(A));
        told(&channel_c[..16], "cccccccccccccccc");
    }
}

#[test]
fn a_full_server_refuses_to_lock_but_extends_hands_over_and_releases() {
    for server in OwnServer::each() {
        let (name, lock) = (server.name(), Lock::new(server.url()));
        assert!(is_granted(lock.acquire(A, QueueMode::No, [0; 16], None)));
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        let refused = lock.acquire(B, QueueMode::Hint, C, None).unwrap_err();
        let call = ExtendLease { keys: lock.keys.clone(), id: A, ttl: 90_000_000, shown: "lock \"it\"".into() };
        let extended = lease::extend(&lock.client, call).run();
        let handed_over = lock.acquire(C, QueueMode::No, [0; 16], Some(A));
        let released = lock.release(C);
        assert_eq!(refused.code(), Code::Unavailable, "{name}: {refused}");
        assert!(extended.unwrap() && is_granted(handed_over) && released, "{name}");
    }
}
