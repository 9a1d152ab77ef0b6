//! Connections: accepted, limited, and ended.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::time;

use super::web::From;

/// How many connections there are at once; more wait until one ends.
const CONNECTIONS: usize = 256;
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
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            accepted = accepted => accepted,
        };
        let (Ok(place), Ok((stream, from))) = (place, accepted) else {
            time::sleep(PAUSE).await;
            continue;
        };
        let (router, ended) = (router.clone(), end.subscribe());
        tokio::spawn(async move {
            converse(stream, From(from), router, ended).await;
            drop(place);
        });
    }
    end.send_replace(true);
    // All places are free when all connections have ended.
    let _ = time::timeout(ENDS_WITHIN, places.acquire_many(CONNECTIONS as u32)).await;
    Ok(())
}

async fn converse(stream: TcpStream, from: From, router: Router, mut ended: watch::Receiver<bool>) {
    set_patience(&stream);
    let answer = TowerToHyperService::new(router.layer(Extension(from)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD);
    let over = async { drop(ended.wait_for(|is_over| *is_over).await) };
    let connection = http.serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    tokio::select! {
        // One that breaks off is no matter of ours.
        _ = connection.as_mut() => {}
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
