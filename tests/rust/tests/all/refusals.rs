//! Servers that answer, but not as they should: full, demoted, with no connection left.

use std::future::IntoFuture;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use quotalock::driver::LoopLink;
use quotalock::{Answer, Client, Code, Decision, Limiter, LimiterOptions, OnError, Options, Policy, Result, Source};
use quotalock_tests::fresh_prefix;
use quotalock_tests::own_server::OwnServer;

/// Sends a command as an operator would.
fn command(server: &str, line: &str) {
    command_on(&TcpStream::connect(server).unwrap(), line);
}

fn command_on(mut socket: &TcpStream, line: &str) {
    socket.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut reply = String::new();
    BufReader::new(socket).read_line(&mut reply).unwrap();
    assert!(reply.starts_with("+OK"), "{line}: {reply}");
}

fn limiter(server: &str, on_error: OnError) -> Limiter {
    let url = Some(format!("redis://{server}"));
    let options = Options {
        url,
        prefix: fresh_prefix("refusals"),
        timeout: Duration::from_secs(5),
        on_error,
        ..Options::default()
    };
    Client::new(options).unwrap().limiter("n", Policy::parse("5/hour").unwrap()).unwrap()
}

fn consume(limiter: &Limiter) -> Decision {
    limiter.consume(b"k", 1).unwrap().run().unwrap()
}

#[test]
fn local_holds_its_limit_while_a_full_server_answers_errors() {
    let own = OwnServer::start("redis-7.0");
    let server = own.address();
    let limiter = limiter(server, OnError::Local);
    assert_eq!(consume(&limiter).source, Source::Redis);
    command(server, "CONFIG SET maxmemory 1");
    let decisions: Vec<Decision> = (0..50).map(|_| consume(&limiter)).collect();
    command(server, "CONFIG SET maxmemory 0");
    assert!(decisions.iter().all(|d| d.source == Source::Local));
    assert_eq!(decisions.iter().filter(|d| d.allowed).count(), 4, "what Redis has left of the policy");
    let back = consume(&limiter);
    assert_eq!((back.source, back.remaining), (Source::Redis, 3));
}

#[test]
fn a_trial_takes_nothing_away_while_nobody_decides() {
    for (on_error, source) in [(OnError::Closed, Source::Closed), (OnError::Open, Source::Open)] {
        let options = Options { url: Some("redis://127.0.0.1:1".into()), on_error, ..Options::default() };
        let trial = LimiterOptions { enforce: false, ..LimiterOptions::default() };
        let limiter = Client::new(options).unwrap().limiter_with("n", Policy::parse("5/hour").unwrap(), trial).unwrap();
        let decision = limiter.consume_up_to(b"k", 7).unwrap().run().unwrap();
        assert_eq!((decision.source, decision.allowed, decision.cost), (source, true, 7));
    }
}

/// Forwards each new connection to whatever server is the master then, as a name or a virtual address does.
fn virtual_address(master: Arc<Mutex<String>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(&*master.lock().unwrap()).unwrap();
            for (mut from, mut to) in
                [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))].map(|(a, b)| (a.unwrap(), b.unwrap()))
            {
                std::thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(n @ 1..) = from.read(&mut buffer) {
                        if to.write_all(&buffer[..n]).is_err() {
                            return;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    address
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn consume_async(limiter: &Limiter) -> Decision {
    try_async(limiter).unwrap()
}

fn try_async(limiter: &Limiter) -> Result<Decision> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = limiter.consume(b"k", 1).unwrap().into_future();
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(10)),
        }
    }
}

#[test]
fn a_demoted_master_is_left_for_its_successor() {
    let own = ["redis-7.0", "valkey-9.1"].map(OwnServer::start);
    let [old, new] = [0, 1].map(|n| own[n].address().to_owned());
    for consume in [consume, consume_async] {
        let master = Arc::new(Mutex::new(old.clone()));
        let limiter = limiter(&virtual_address(master.clone()), OnError::Raise);
        assert_eq!(consume(&limiter).remaining, 4);
        *master.lock().unwrap() = new.clone();
        command(&old, "REPLICAOF 127.0.0.1 1");
        let decision = std::panic::catch_unwind(|| consume(&limiter));
        command(&old, "REPLICAOF NO ONE");
        // The new server knows nothing of the old one's counts: that the call got there is what matters.
        assert_eq!(decision.unwrap().remaining, 4);
    }
}

#[test]
fn a_server_that_takes_no_more_connections_is_asked_on_those_it_took() {
    let own = OwnServer::start("redis-7.0");
    let server = own.address();
    let operator = TcpStream::connect(server).unwrap();
    let limiter = limiter(server, OnError::Raise);
    assert_eq!(consume(&limiter).remaining, 4);
    // Fewer than there are: those stay, no other is let in.
    command_on(&operator, "CONFIG SET maxclients 1");
    let rounds = std::panic::catch_unwind(|| {
        for _ in 0..20 {
            // On the process' thread, which needs a connection of its own.
            let refused = try_async(&limiter).unwrap_err();
            assert_eq!(refused.code(), Code::Unavailable);
            assert!(refused.message().contains("maxclients"), "{refused}");
            limiter.peek(b"k", 1).unwrap().run().expect("the connection of this thread is as good as ever");
        }
    });
    command_on(&operator, "CONFIG SET maxclients 10000");
    rounds.unwrap();
    assert_eq!(consume(&limiter).remaining, 3);
}

/// Turns a link until its only call is answered.
fn answer(link: &mut LoopLink<()>, limiter: &Limiter) -> Result<Answer> {
    link.submit(limiter.peek(b"k", 1).unwrap().erased(), ());
    link.flush();
    loop {
        if let Some(((), answer)) = link.take_done().pop() {
            return answer;
        }
        std::thread::sleep(Duration::from_micros(200));
        link.wake();
    }
}

#[test]
fn a_loop_that_is_connected_minds_no_other_that_is_not() {
    let own = OwnServer::start("redis-7.0");
    let server = own.address();
    let limiter = limiter(server, OnError::Raise);
    let [mut connected, mut late] = [(); 2].map(|()| LoopLink::new(|()| true).unwrap());
    answer(&mut connected, &limiter).unwrap();
    let operator = TcpStream::connect(server).unwrap();
    command_on(&operator, "CONFIG SET maxclients 1");
    let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..20 {
            assert_eq!(answer(&mut late, &limiter).unwrap_err().code(), Code::Unavailable);
            answer(&mut connected, &limiter).expect("this loop's connection is as good as ever");
        }
    }));
    command_on(&operator, "CONFIG SET maxclients 10000");
    rounds.unwrap();
}
