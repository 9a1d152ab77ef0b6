//! The URL of a primary that Sentinels know by a name: `redis+sentinel://h:p,h:p/name`.

use super::options::{UrlOptions, password_of};
use super::server::{Address, HostPort, SentinelPrimary, Server, TlsFiles};
use crate::base::credentials::Secret;
use crate::base::url::{MAX_PRIMARY_NAME, SENTINEL_PORT, decoded, host_and_port, is_name_of_primary};

/// The primary that a URL names, and its database.
pub(super) fn parse(
    scheme: &str,
    place: &str,
    files: Option<TlsFiles>,
    client_name: &str,
    options: &mut UrlOptions<'_>,
) -> std::result::Result<(SentinelPrimary, String), String> {
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    let hosts: Vec<HostPort> =
        authority.split(',').map(|host| host_and_port(host, SENTINEL_PORT)).collect::<std::result::Result<_, _>>()?;
    if name.is_empty() {
        return Err(format!(
            "names no primary: write it as {scheme}://host:{SENTINEL_PORT},host:{SENTINEL_PORT}/mymaster"
        ));
    }
    if !is_name_of_primary(name) {
        return Err(format!(
            "has an invalid name of a primary: use up to {MAX_PRIMARY_NAME} letters, digits, '-', '_' and '.'"
        ));
    }
    let user = options.take("sentinel_user");
    let password = password_of(
        options.take("sentinel_password").filter(|text| !text.is_empty()).map(Secret::new),
        options.take("sentinel_password_file"),
        "sentinel_password_file",
        None,
    )?;
    if user.is_some() && password.is_none() {
        return Err("has a sentinel_user= but no sentinel_password= or sentinel_password_file=: give one".into());
    }
    let sentinel = |(host, port)| Server {
        address: Address::at(host, port, files.clone()),
        user: user.clone(),
        password: password.clone(),
        database: 0,
        client_name: client_name.to_owned(),
        trusted: None,
    };
    let sentinels = hosts.into_iter().map(sentinel).collect::<Vec<_>>();
    Ok((SentinelPrimary::new(decoded(name)?, sentinels, files), database.to_owned()))
}
