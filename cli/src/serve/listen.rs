//! Connections: accepted, limited, and ended.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time;

use super::site::From;

/// How many connections there are at once. One more ends the oldest of those that ask nothing just now, of the address that has most of
/// them; if all others are being answered it is closed itself.
const CONNECTIONS: usize = 256;
/// How many of one address may ask nothing just now; one more ends its oldest.
const QUIET: usize = 64;
/// How long the head of a request may take to come, also the next one on the same connection.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// The most bytes of a head, and of what waits to be written.
const HEAD: usize = 32 << 10;
/// How long connections have to end.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// How long nothing is accepted after it could not be: there are no file descriptors left, say.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until somebody ends it, by Ctrl-C or SIGTERM.
pub async fn serve(listener: TcpListener, router: Router, end: watch::Sender<bool>) -> std::io::Result<()> {
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (table, mut talks) = (Arc::<Table>::default(), JoinSet::new());
    loop {
        let accepted = tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            Some(_) = talks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, from)) = accepted else {
            time::sleep(PAUSE).await;
            continue;
        };
        let Some(place) = Table::admit(&table, from.ip().to_canonical()) else { continue };
        let (router, ended) = (router.clone(), end.subscribe());
        talks.spawn(converse(stream, From(from), place, router, ended));
    }
    end.send_replace(true);
    let _ = time::timeout(ENDS_WITHIN, async { while talks.join_next().await.is_some() {} }).await;
    Ok(())
}

/// All connections, by the order of their coming.
#[derive(Default)]
struct Table(Mutex<(u64, BTreeMap<u64, ConnectionEntry>)>);

/// A connection as the table knows it.
struct ConnectionEntry {
    address: IpAddr,
    /// Whether it asks nothing just now: no whole head has come, or no other after the last answer.
    is_quiet: bool,
    end: Arc<Notify>,
}

/// A place in the table, free when it is dropped.
#[derive(Clone)]
struct ConnectionSlot(Arc<Held>);

struct Held {
    table: Arc<Table>,
    number: u64,
    end: Arc<Notify>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.table.seats().1.remove(&self.number);
    }
}

impl Table {
    fn seats(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, ConnectionEntry>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from an address; none if there is none, and none can be made.
    fn admit(table: &Arc<Table>, address: IpAddr) -> Option<ConnectionSlot> {
        let mut seats = table.seats();
        let (last, all) = &mut *seats;
        let mut quiet: BTreeMap<IpAddr, Vec<u64>> = BTreeMap::new();
        for (number, seat) in all.iter().filter(|(_, seat)| seat.is_quiet) {
            quiet.entry(seat.address).or_default().push(*number);
        }
        let own = quiet.get(&address).filter(|numbers| numbers.len() >= QUIET);
        let victim = match own {
            Some(numbers) => numbers.first(),
            None if all.len() < CONNECTIONS => None,
            None => Some(quiet.values().max_by_key(|numbers| numbers.len())?.first()?),
        };
        if let Some(seat) = victim.and_then(|number| all.remove(number)) {
            seat.end.notify_one();
        }
        *last += 1;
        let (number, end) = (*last, Arc::new(Notify::new()));
        all.insert(number, ConnectionEntry { address, is_quiet: true, end: Arc::clone(&end) });
        Some(ConnectionSlot(Arc::new(Held { table: Arc::clone(table), number, end })))
    }
}

impl ConnectionSlot {
    fn set_quiet(&self, is_quiet: bool) {
        if let Some(seat) = self.0.table.seats().1.get_mut(&self.0.number) {
            seat.is_quiet = is_quiet;
        }
    }
}

/// Notes that a connection asks something, until it is answered; a stream of events is answered as long as it lasts.
async fn note(State(place): State<ConnectionSlot>, request: Request, next: Next) -> Response {
    place.set_quiet(false);
    let response = next.run(request).await;
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    place.set_quiet(!is_stream);
    response
}

async fn converse(
    stream: TcpStream,
    from: From,
    place: ConnectionSlot,
    router: Router,
    mut ended: watch::Receiver<bool>,
) {
    set_patience(&stream);
    let noted = middleware::from_fn_with_state(place.clone(), note);
    let answer = TowerToHyperService::new(router.layer(Extension(from)).layer(noted));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD);
    let over = async { drop(ended.wait_for(|is_over| *is_over).await) };
    let connection = http.serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    tokio::select! {
        // One that breaks off is no matter of ours.
        _ = connection.as_mut() => {}
        // Another needs its place.
        () = place.0.end.notified() => {}
        () = over => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Ends a connection whose other side takes nothing: a machine that sleeps, or one that means it.
fn set_patience(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let millis: libc::c_uint = HEAD_WITHIN.as_millis() as libc::c_uint;
        // SAFETY: the descriptor is open as long as the stream, and the kernel reads so many bytes of the number.
        unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_USER_TIMEOUT,
                (&raw const millis).cast(),
                size_of::<libc::c_uint>() as libc::socklen_t,
            );
        }
    }
}
