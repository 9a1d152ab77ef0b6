//! The options of a URL, behind its '?'.

use std::path::PathBuf;

use super::server::TlsFiles;
use crate::base::credentials::{Password, PasswordProvider, Secret};
use crate::base::url::decoded;

/// What an operator sees of our connections unless told otherwise.
const CLIENT_NAME: &str = "quotalock";
/// The longest name of a client's connections, in bytes.
const MAX_CLIENT_NAME: usize = 100;

/// The files of TLS; none if no option names one.
pub(super) fn tls_files(options: &mut UrlOptions<'_>) -> std::result::Result<Option<TlsFiles>, String> {
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| options.take(name).map(PathBuf::from));
    let shown = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        (Some(_), None) => return Err("has cert= without key=: give the file of its private key, too".into()),
        (None, Some(_)) => return Err("has key= without cert=: give the file of its certificate, too".into()),
    };
    Ok(Some(TlsFiles { ca, shown }).filter(|files| *files != TlsFiles::default()))
}

/// Where the password comes from: one place at most.
pub(super) fn password_of(
    fixed: Option<Secret>,
    file: Option<String>,
    option: &str,
    teller: Option<PasswordProvider>,
) -> std::result::Result<Option<Password>, String> {
    let fixed = fixed.map(|secret| ("a password", Password::Fixed(secret)));
    // What is no path may be the password, and messages show a path.
    if file.as_ref().is_some_and(|path| !path.starts_with('/')) {
        return Err(format!("has a {option}= without an absolute path: write it as /run/secrets/redis"));
    }
    let file = file.map(|path| ("a password_file=", Password::in_file(PathBuf::from(path))));
    let teller = teller.map(|teller| ("a function that tells it", Password::told_by(teller)));
    let mut given = [fixed, file, teller].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some((one, _)), Some((other, _))) => Err(format!("has {one} and {other}: take one of the two out")),
        (one, _) => Ok(one.map(|(_, password)| password)),
    }
}

/// The name of the connections, as `CLIENT SETNAME` takes one.
pub(super) fn client_name(options: &mut UrlOptions<'_>) -> std::result::Result<String, String> {
    let Some(name) = options.take("client_name") else { return Ok(CLIENT_NAME.into()) };
    if name.is_empty() || name.len() > MAX_CLIENT_NAME || !name.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "has an invalid client_name=: use 1 to {MAX_CLIENT_NAME} letters, digits and signs, no spaces"
        ));
    }
    Ok(name)
}

/// Options of others that a message may show: what stands there instead may be the end of a password.
const KNOWN_OPTIONS: [&str; 25] = [
    "ca",
    "cert",
    "key",
    "password_file",
    "client_name",
    "sentinel_user",
    "sentinel_password",
    "sentinel_password_file",
    "ssl_certfile",
    "ssl_keyfile",
    "db",
    "database",
    "ssl",
    "tls",
    "ssl_cert_reqs",
    "timeout",
    "socket_timeout",
    "username",
    "password",
    "user",
    "auth",
    "prefix",
    "host_map",
    "trusted_hosts",
    "protocol",
];

pub(super) struct UrlOptions<'a>(Vec<(&'a str, String)>);

impl<'a> UrlOptions<'a> {
    pub(crate) fn parse(query: &'a str) -> std::result::Result<Self, String> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((name, decoded(value)?))
        });
        pairs.collect::<std::result::Result<_, String>>().map(UrlOptions)
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| *n == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn finish(self) -> std::result::Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let known = if KNOWN_OPTIONS.contains(name) { format!(" \"{name}\"") } else { String::new() };
                Err(format!(
                    "has the unknown option{known}: there are password_file and client_name, for rediss:// also ca, cert and key, for unix:// also db, for redis+cluster:// \
                     also host_map and trusted_hosts, for redis+sentinel:// also trusted_hosts, sentinel_user, sentinel_password and \
                     sentinel_password_file"
                ))
            }
        }
    }
}
