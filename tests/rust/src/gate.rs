//! What stands between clients and a server, and can be shut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quotalock::{Client, Options};

/// How long a client behind a gate waits for an answer.
pub const TIMEOUT: Duration = Duration::from_secs(1);

/// A port of its own that passes on what clients and a server say.
pub struct Gate {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Whether what clients say is swallowed.
    mute: AtomicBool,
    /// How many connections there were.
    count: AtomicUsize,
    /// On so many of them, the first, what the server says is swallowed.
    deaf: AtomicUsize,
    /// Whether new connections end at once.
    closed: AtomicBool,
    /// By how many milliseconds what clients say is late.
    late: AtomicU64,
    /// By how many milliseconds what the server says is late.
    delay: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl Gate {
    /// One before the server of this URL.
    pub fn before(url: &str) -> Gate {
        let server: SocketAddr = url.strip_prefix("redis://").unwrap().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Gate { address: listener.local_addr().unwrap(), state: Arc::default() };
        let state = gate.state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if state.closed.load(Ordering::SeqCst) {
                    continue;
                }
                let server = TcpStream::connect(server).unwrap();
                let number = state.count.fetch_add(1, Ordering::SeqCst);
                state.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let ends = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (up, (from, to)) in [true, false].into_iter().zip(ends) {
                    let state = state.clone();
                    std::thread::spawn(move || pass(from, to, up, number, &state));
                }
            }
        });
        gate
    }

    /// From now on the server is not heard from.
    pub fn mute(&self) {
        self.state.mute.store(true, Ordering::SeqCst);
    }

    /// From now on the server is not heard on the connections that there are, and hears all the same.
    pub fn deafen(&self) {
        self.state.deaf.store(self.state.count.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// From now on there are no new connections.
    pub fn close(&self) {
        self.state.closed.store(true, Ordering::SeqCst);
    }

    /// As if the server had died.
    pub fn hang_up(&self) {
        self.close();
        self.cut();
    }

    /// Ends all connections; new ones are welcome.
    pub fn cut(&self) {
        self.state.open.lock().unwrap().drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }

    /// From now on there are new connections again.
    pub fn open(&self) {
        self.state.closed.store(false, Ordering::SeqCst);
    }

    /// As if the server had come back.
    pub fn reopen(&self) {
        self.cut();
        self.state.mute.store(false, Ordering::SeqCst);
        self.open();
    }

    /// From now on calls are late by this. They arrive also when the client has hung up meanwhile.
    pub fn hold_up(&self, late: Duration) {
        self.state.late.store(late.as_millis() as u64, Ordering::SeqCst);
    }

    /// From now on answers are late by this.
    pub fn delay(&self, late: Duration) {
        self.state.delay.store(late.as_millis() as u64, Ordering::SeqCst);
    }

    /// What a client is given that goes through it.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// A client that goes through it.
    pub fn client(&self, prefix: &str) -> Client {
        self.client_within(prefix, TIMEOUT)
    }

    /// The same with another timeout.
    pub fn client_within(&self, prefix: &str, timeout: Duration) -> Client {
        Client::new(Options { url: Some(self.url()), prefix: prefix.into(), timeout, ..Options::default() }).unwrap()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, up: bool, number: usize, state: &State) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let is_deaf = !up && number < state.deaf.load(Ordering::SeqCst);
        if is_deaf || up && state.mute.load(Ordering::SeqCst) {
            continue;
        }
        let late = if up { &state.late } else { &state.delay };
        std::thread::sleep(Duration::from_millis(late.load(Ordering::SeqCst)));
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
