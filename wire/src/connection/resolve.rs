//! The addresses of a host. The system's resolver has no deadline, so a name is looked up on a thread that is left behind
//! if it takes too long; whoever asks for the same name meanwhile waits for the same thread, so these do not pile up.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::deadline::CallDeadline;
use crate::base::error::{Error, Result};
use crate::base::fork::ForkCell;
use crate::base::thread::on_thread;

type ResolvedAddresses = std::result::Result<Vec<IpAddr>, String>;
type ResolveFunction = fn(&str) -> io::Result<Vec<IpAddr>>;

/// Who waits for the names that are being looked up.
static ASKED: ForkCell<Mutex<HashMap<String, Vec<SyncSender<ResolvedAddresses>>>>> = ForkCell::new();

fn pending_lookups() -> MutexGuard<'static, HashMap<String, Vec<SyncSender<ResolvedAddresses>>>> {
    ASKED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a host has no addresses.
pub(crate) enum Unresolved {
    /// The resolver said so.
    Failed(String),
    /// The caller's time was over, or the caller interrupted.
    GaveUp(io::Error),
    /// No thread could be started.
    NoThread(Error),
}

/// The addresses of a host, which may be one itself.
pub(crate) fn resolve(
    host: &str,
    port: u16,
    patience: &mut CallDeadline<'_>,
) -> std::result::Result<Vec<SocketAddr>, Unresolved> {
    if let Ok(ip) = host.parse() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let answer = ask(host, by_the_system).map_err(Unresolved::NoThread)?;
    loop {
        match answer.recv_timeout(patience.slice()) {
            Ok(Ok(found)) => return Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()),
            Ok(Err(why)) => return Err(Unresolved::Failed(why)),
            Err(RecvTimeoutError::Timeout) => patience.look().map_err(Unresolved::GaveUp)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Unresolved::Failed("the resolver failed".into())),
        }
    }
}

fn by_the_system(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// Looks a name up, unless that is under way.
fn ask(host: &str, look_up: ResolveFunction) -> Result<Receiver<ResolvedAddresses>> {
    let (tell, answer) = sync_channel(1);
    let mut all = pending_lookups();
    let waiting = all.entry(host.to_owned()).or_default();
    // Those who gave up meanwhile are told in vain, once.
    waiting.push(tell);
    if waiting.len() > 1 {
        return Ok(answer);
    }
    drop(all);
    let name = host.to_owned();
    let spawned = on_thread("quotalock-dns", move || {
        let found = look_up(&name).map_err(|e| e.to_string());
        let waiting = pending_lookups().remove(&name).unwrap_or_default();
        // Nobody listens any more if the deadline has passed.
        waiting.into_iter().for_each(|tell| drop(tell.try_send(found.clone())));
    });
    if let Err(error) = spawned {
        // Whoever joined meanwhile finds that nobody is there to tell.
        pending_lookups().remove(host);
        return Err(error);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    static LOOKUPS: AtomicU64 = AtomicU64::new(0);
    static GATE: Mutex<()> = Mutex::new(());

    fn slow(_: &str) -> io::Result<Vec<IpAddr>> {
        LOOKUPS.fetch_add(1, Ordering::SeqCst);
        drop(GATE.lock().unwrap());
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }

    #[test]
    fn one_name_is_looked_up_by_one_thread_however_often_it_is_asked_for() {
        let gate = GATE.lock().unwrap();
        let given_up: Vec<_> = (0..20).map(|_| ask("slow.test", slow).unwrap()).collect();
        assert!(given_up[0].recv_timeout(Duration::from_millis(20)).is_err());
        drop(given_up);
        let waiting = ask("slow.test", slow).unwrap();
        drop(gate);
        assert_eq!(waiting.recv_timeout(Duration::from_secs(20)).unwrap().unwrap().len(), 1);
        assert_eq!(LOOKUPS.load(Ordering::SeqCst), 1);
        let end = Instant::now() + Duration::from_secs(20);
        while pending_lookups().contains_key("slow.test") {
            assert!(Instant::now() < end);
        }
        let again = ask("slow.test", slow).unwrap();
        assert!(again.recv_timeout(Duration::from_secs(20)).unwrap().is_ok());
        assert_eq!(LOOKUPS.load(Ordering::SeqCst), 2, "and anew when that is done");
    }
}
