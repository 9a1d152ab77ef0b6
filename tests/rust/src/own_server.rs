//! Servers of a test's own, for tests that change settings, fill a server or stop it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{operator, servers};

/// How long a server may take to answer its first `PING`.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A server that no other test uses; dropping it ends it.
pub struct OwnServer {
    name: String,
    url: String,
    /// Where it writes its dump.
    folder: PathBuf,
    process: Child,
}

impl OwnServer {
    /// Starts a server by the name that it has in [`servers`], without persistence, on a free port of loopback.
    ///
    /// # Panics
    /// If its binary is missing or it does not answer.
    pub fn start(name: &str) -> OwnServer {
        let given = std::env::var("QUOTALOCK_TEST_BINARIES")
            .expect("QUOTALOCK_TEST_BINARIES is missing: run `make test SUITE=rust` or tests/harness/with_servers.py");
        let binaries: std::collections::BTreeMap<String, String> = serde_json::from_str(&given).unwrap();
        let binary = binaries.get(name).unwrap_or_else(|| panic!("{name} is not among {binaries:?}"));
        // Another process can take a free port before the server does: the server ends then, and the next port is tried.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
            let mark = mark();
            let folder = std::env::temp_dir().join(format!("quotalock-{mark}"));
            std::fs::create_dir_all(&folder).unwrap();
            let mut command = Command::new(binary);
            command.current_dir(&folder);
            command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            // Only this server knows the password of this user, so nothing else on the port is taken for it.
            command.args(["--user", &mark, "on", &format!(">{mark}"), "~*", "+@all"]);
            if name != "redis-6.2" {
                command.args(["--enable-debug-command", "yes"]);
            }
            let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let url = format!("redis://127.0.0.1:{port}");
            let mut server = OwnServer { name: name.into(), url, folder, process };
            if server.answers(&mark) {
                return server;
            }
        }
        panic!("{name} found no free port");
    }

    /// One of each kind that [`servers`] has.
    pub fn each() -> impl Iterator<Item = OwnServer> {
        servers().into_iter().map(|(name, _)| OwnServer::start(&name))
    }

    /// Its name in [`servers`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its address without the scheme, `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("redis://")
    }

    /// Sends a command that answers with `OK` or a number.
    ///
    /// # Panics
    /// If it answers anything else.
    pub fn command(&self, words: &[&str]) {
        operator::command(&self.url, words);
    }

    /// Stops the process (SIGSTOP): its connections stay open, and nothing answers until [`thaw`](OwnServer::thaw).
    pub fn freeze(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets a frozen process go on; it then executes all that was sent to it.
    pub fn thaw(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, number: libc::c_int) {
        // SAFETY: `kill` reads no memory of ours; the process is our child and not yet waited for, so its id is its own.
        assert_eq!(unsafe { libc::kill(self.process.id() as libc::pid_t, number) }, 0);
    }

    /// Waits for the first answer; false if the process ended before it.
    fn answers(&mut self, mark: &str) -> bool {
        let give_up = Instant::now() + STARTS_WITHIN;
        let hello = format!("AUTH {mark} {mark}\r\n");
        while self.process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < give_up, "{} does not answer at {}", self.name, self.url);
            let mut answer = [0; 3];
            let asked = TcpStream::connect(self.address()).and_then(|mut stream| {
                stream.set_read_timeout(Some(Duration::from_secs(1)))?;
                stream.write_all(hello.as_bytes())?;
                stream.read_exact(&mut answer)
            });
            if asked.is_ok() && &answer == b"+OK" {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A word that no other server of this machine knows.
fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("own-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
