//! One server, and the connection to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use quotalock::places::{Place, Reach, TlsPaths};
use redis::{
    Client, ClientTlsConfig, Cmd, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, Pipeline,
    RedisConnectionInfo, RedisResult, TlsCertificates, Value, io::tcp::TcpSettings,
};

use super::refusal::{Refusal, Why};

/// How long a server may take to let us in.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long it may take to answer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A server to which there is a connection.
pub struct Node {
    /// Where it is.
    pub place: Place,
    /// Whether it takes writes.
    pub is_primary: bool,
    connection: Connection,
}

impl Node {
    /// Connects to a server; a replica in a cluster is told that it may answer.
    ///
    /// # Errors
    /// If it cannot be reached in time, or does not let us in.
    pub fn connect(place: Place, is_primary: bool, is_cluster: bool) -> Result<Node, Refusal> {
        let fail = |error: redis::RedisError| Refusal::of(&place, &error);
        let client = client(&place)?;
        let connection = client.get_connection_with_timeout(CONNECT_WITHIN).map_err(fail)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN)).map_err(fail)?;
        connection.set_write_timeout(Some(ANSWER_WITHIN)).map_err(fail)?;
        let mut node = Node { place, is_primary, connection };
        // For the operator, who may look who is there; it is no matter if it is refused.
        let name = node.place.client_name().to_owned();
        let _ = node.ask::<Value>(redis::cmd("CLIENT").arg("SETNAME").arg(name));
        if is_cluster && !is_primary {
            node.ask::<Value>(&redis::cmd("READONLY"))?;
        }
        // One that needs a login lets everybody in, and refuses whatever they ask.
        match node.ask::<Value>(&redis::cmd("PING")) {
            Err(refusal) if matches!(refusal.why, Why::Away | Why::Login) => Err(refusal),
            _ => Ok(node),
        }
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
        pipeline.ignore_errors();
        let answers: RedisResult<Vec<RedisResult<Value>>> = pipeline.query(&mut self.connection);
        let refusal = |error: redis::RedisError| Refusal::of(&self.place, &error);
        let answers = answers.map_err(refusal)?;
        Ok(answers.into_iter().map(|answer| answer.map_err(refusal)).collect())
    }
}

/// What connects to this place.
fn client(place: &Place) -> Result<Client, Refusal> {
    let refused = |message: String| Refusal { why: Why::Away, message };
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
