//! States as they come, for browsers that stay.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::site::{Site, problem};

/// How many browsers are told of states at most.
const BROWSERS: usize = 64;

/// A state each second, as long as the session lasts. One who reads slowly gets the newest, and not all between: what is not
/// sent yet is one state, and what the connection holds.
pub fn stream(site: &Arc<Site>, session: String) -> Response {
    let Some(seat) = BrowserSlot::take(site) else {
        let message = format!("{BROWSERS} browsers look already: close one");
        return problem(StatusCode::SERVICE_UNAVAILABLE, "too_many_browsers", message);
    };
    let (mut live, ended) = (site.live.clone(), site.ended.clone());
    live.mark_changed();
    let states = stream::unfold((live, ended, seat, session), |(mut live, mut ended, seat, session)| async move {
        tokio::select! {
            _ = ended.wait_for(|is_over| *is_over) => return None,
            changed = live.changed() => changed.ok()?,
        }
        let event = live.borrow_and_update().event.clone();
        // A browser that signs out, or stays too long, gets no more events.
        seat.0.sessions.csrf(&session)?;
        Some((Ok::<Bytes, Infallible>(event), (live, ended, seat, session)))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(states)).into_response()
}

/// The place of a browser, free when it goes.
struct BrowserSlot(Arc<Site>);

impl BrowserSlot {
    fn take(site: &Arc<Site>) -> Option<BrowserSlot> {
        let seat = BrowserSlot(Arc::clone(site));
        // If there is none the seat gives back what it counted.
        (site.browsers.fetch_add(1, Ordering::Relaxed) < BROWSERS).then_some(seat)
    }
}

impl Drop for BrowserSlot {
    fn drop(&mut self) {
        self.0.browsers.fetch_sub(1, Ordering::Relaxed);
    }
}
