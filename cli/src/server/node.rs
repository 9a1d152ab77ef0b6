//! One server, and the connection to it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use quotalock::places::{Place, Reach, TlsPaths};
use redis::{
    Client, ClientTlsConfig, Cmd, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, Pipeline,
    RedisConnectionInfo, TlsCertificates, Value, io::tcp::TcpSettings,
};

use super::refusal::{Refusal, RefusalKind};

/// A server to which there is a connection.
pub struct Node {
    /// Where it is.
    pub place: Place,
    /// Whether it takes writes.
    pub is_primary: bool,
    connection: Connection,
}

impl Node {
    /// Connects to a server; a replica in a cluster is told that it may answer. The server has let us in within that time, and then
    /// has as long for each answer.
    ///
    /// # Errors
    /// If it cannot be reached in time, or does not let us in.
    pub fn connect(place: Place, is_primary: bool, is_cluster: bool, within: Duration) -> Result<Node, Refusal> {
        let began = Instant::now();
        let fail = |error: redis::RedisError| Refusal::of(&place, &error);
        let connection = client(&place)?.get_connection_with_timeout(within).map_err(fail)?;
        // No timeout at all would be none.
        let left = within.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
        connection.set_read_timeout(Some(left)).map_err(fail)?;
        connection.set_write_timeout(Some(within)).map_err(fail)?;
        let mut node = Node { place, is_primary, connection };
        // For the operator, who may look who is there; it is no matter if it is refused.
        let mut questions = vec![redis::cmd("CLIENT").arg("SETNAME").arg(node.place.client_name()).to_owned()];
        let is_reader = is_cluster && !is_primary;
        if is_reader {
            questions.push(redis::cmd("READONLY"));
        }
        // One that needs a login lets everybody in, and refuses whatever they ask.
        questions.push(redis::cmd("PING"));
        let mut answers = node.ask_all(&questions)?;
        match answers.pop() {
            Some(Err(refusal)) if matches!(refusal.why, RefusalKind::Away | RefusalKind::Login) => return Err(refusal),
            _ => {}
        }
        if is_reader && let Some(Err(refusal)) = answers.pop() {
            return Err(refusal);
        }
        node.wait_for(within);
        Ok(node)
    }

    /// Waits no longer than this for each answer. One that comes later finds nobody: the connection is of no use any more.
    pub fn wait_for(&mut self, length: Duration) {
        // A length that is not nothing can be set.
        let _ = self.connection.set_read_timeout(Some(length));
    }

    /// Asks one thing.
    ///
    /// # Errors
    /// If the server refuses, does not answer in time, or answers what was not asked.
    pub fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, Refusal> {
        command.query(&mut self.connection).map_err(|error| Refusal::of(&self.place, &error))
    }

    /// Asks many things at once, each of which may be refused.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn ask_all(&mut self, commands: &[Cmd]) -> Result<Vec<Result<Value, Refusal>>, Refusal> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::with_capacity(commands.len());
        commands.iter().for_each(|command| {
            pipeline.add_command(command.clone());
        });
        let refusal = |error: redis::RedisError| Refusal::of(&self.place, &error);
        self.connection.send_packed_command(&pipeline.get_packed_pipeline()).map_err(refusal)?;
        // The driver would wait for each answer of a pipeline, also behind one that did not come in time.
        let mut answers = Vec::with_capacity(commands.len());
        for _ in commands {
            answers.push(self.connection.recv_response().map_err(refusal)?.extract_error().map_err(refusal));
        }
        Ok(answers)
    }
}

/// What connects to this place.
fn client(place: &Place) -> Result<Client, Refusal> {
    let refused = |message: String| Refusal { why: RefusalKind::Away, message };
    let mut login = RedisConnectionInfo::default().set_db(place.database().into()).set_skip_set_lib_name();
    if let Some(user) = place.user() {
        login = login.set_username(user);
    }
    if let Some(password) = place.password().map_err(|error| refused(error.to_string()))? {
        login = login.set_password(password);
    }
    let (address, tls) = match place.reach() {
        Reach::Unix(path) => (ConnectionAddr::Unix(path.to_path_buf()), None),
        Reach::Tcp { host, port, tls: None } => (ConnectionAddr::Tcp(host.to_owned(), port), None),
        Reach::Tcp { host, port, tls: Some(paths) } => {
            let address = ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: false, tls_params: None };
            (address, Some(certificates(&paths).map_err(refused)?))
        }
    };
    let opened = address.into_connection_info().and_then(|info| {
        // Else what is asked in one trip waits for the acknowledgement of what was asked before, up to 40 ms.
        let info = info.set_redis_settings(login).set_tcp_settings(TcpSettings::default().set_nodelay(true));
        match tls {
            Some(tls) => Client::build_with_tls(info, tls),
            None => Client::open(info),
        }
    });
    opened.map_err(|error| Refusal::of(place, &error))
}

/// What the files hold.
fn certificates(paths: &TlsPaths<'_>) -> Result<TlsCertificates, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let shown = |(certificate, key): (&Path, &Path)| {
        Ok::<_, String>(ClientTlsConfig { client_cert: read(certificate)?, client_key: read(key)? })
    };
    Ok(TlsCertificates { client_tls: paths.shown.map(shown).transpose()?, root_cert: paths.ca.map(read).transpose()? })
}
