//! What is answered at each path. What all answers have in common is in [`super::guard`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Extension, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};

use super::api::{Asked, Login, Session, Target};
use super::sessions::{LASTS, TokenCheck};
use super::site::{From, Site, json, problem};
use super::writes::Writes;
use super::{assets, guard};
use crate::output;

/// The most bytes of what is posted.
const POSTED: usize = 8 << 10;
/// What a POST shows of its session.
const CSRF: HeaderName = HeaderName::from_static("x-quotalock");

/// All paths.
pub fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/login", get(ask_token).post(login))
        .route("/logout", post(logout))
        .route("/assets/{name}", get(asset))
        .route("/api/state", get(state))
        .route("/api/session", get(session))
        .route("/api/events", get(events))
        .route("/api/keys", get(keys))
        .route("/api/unblock", post(unblock))
        .route("/api/release", post(release))
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "ok\n"))
        .fallback(async || problem(StatusCode::NOT_FOUND, "not_found", "there is nothing here"))
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "not_found", "method not allowed")
        })
        .layer(DefaultBodyLimit::max(POSTED))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::look))
        .with_state(site)
}

async fn page(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    match session_of(&site, &headers) {
        Some(_) => html(assets::PAGE),
        None => (StatusCode::SEE_OTHER, [(LOCATION, "/login")]).into_response(),
    }
}

async fn ask_token() -> Response {
    html(assets::LOGIN)
}

fn html(text: &'static str) -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

async fn asset(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some((_, kind, bytes)) => ([(CONTENT_TYPE, *kind)], *bytes).into_response(),
        None => problem(StatusCode::NOT_FOUND, "not_found", "there is no such asset"),
    }
}

async fn login(
    State(site): State<Arc<Site>>,
    Extension(from): Extension<From>,
    headers: HeaderMap,
    body: Result<Json<Login>, JsonRejection>,
) -> Response {
    let Ok(Json(Login { token })) = body else { return not_understood("{\"token\": \"...\"}") };
    if let Some(refused) = refusal(&site, from, &token) {
        return refused;
    }
    let Ok((name, csrf)) = site.sessions.open() else {
        return problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the machine gave no random bytes");
    };
    // Who came by TLS never shows the cookie without.
    let is_tls = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if is_tls { "; Secure" } else { "" };
    let cookie =
        format!("{}={name}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{secure}", site.cookie, LASTS.as_secs());
    output::tell(&format!("serve: {} has signed in", from.ip()));
    ([(SET_COOKIE, cookie)], json(&Session { csrf, writes: site.writes.are_allowed() })).into_response()
}

/// Why a token opens nothing; none if it does.
fn refusal(site: &Site, from: From, token: &str) -> Option<Response> {
    match site.sessions.show(from.ip(), token) {
        TokenCheck::Right => None,
        TokenCheck::Wrong => {
            output::tell(&format!("serve: a wrong token came from {}", from.ip()));
            Some(problem(StatusCode::UNAUTHORIZED, "wrong_token", "this is not the token that quotalock serve has"))
        }
        TokenCheck::TooMany(seconds) => {
            let message = format!("there were too many wrong tokens: try again in {seconds} s");
            let refused = problem(StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", message);
            Some(([(RETRY_AFTER, seconds.to_string())], refused).into_response())
        }
    }
}

async fn logout(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let name = match poster(&site, &headers) {
        Ok(name) => name,
        Err(refused) => return *refused,
    };
    site.sessions.close(&name);
    let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", site.cookie);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}

async fn session(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    match session_of(&site, &headers) {
        Some((_, csrf)) => json(&Session { csrf, writes: site.writes.are_allowed() }),
        None => not_logged_in(),
    }
}

async fn state(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    if session_of(&site, &headers).is_none() {
        return not_logged_in();
    }
    let state = site.live.borrow().state.clone();
    ([(CONTENT_TYPE, "application/json")], state).into_response()
}

async fn keys(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
    if session_of(&site, &headers).is_none() {
        return not_logged_in();
    }
    let Ok(Query(asked)) = asked else { return not_understood("?list=denied&from=100") };
    let lists = Arc::clone(&site.live.borrow().lists);
    json(&lists.page(&asked))
}

async fn events(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    match session_of(&site, &headers) {
        Some((name, _)) => super::events::stream(&site, name),
        None => not_logged_in(),
    }
}

async fn unblock(
    State(site): State<Arc<Site>>,
    Extension(from): Extension<From>,
    headers: HeaderMap,
    body: Result<Json<Target>, JsonRejection>,
) -> Response {
    change(&site, from, &headers, body, Writes::unblock).await
}

async fn release(
    State(site): State<Arc<Site>>,
    Extension(from): Extension<From>,
    headers: HeaderMap,
    body: Result<Json<Target>, JsonRejection>,
) -> Response {
    change(&site, from, &headers, body, Writes::release).await
}

type ChangeAction = fn(&Writes, &str) -> Result<super::api::Done, crate::exit::Failure>;

async fn change(
    site: &Arc<Site>,
    from: From,
    headers: &HeaderMap,
    body: Result<Json<Target>, JsonRejection>,
    change: ChangeAction,
) -> Response {
    if let Err(refused) = poster(site, headers) {
        return *refused;
    }
    if !site.writes.are_allowed() {
        let message = "quotalock serve was started without --allow-writes: it only shows";
        return problem(StatusCode::FORBIDDEN, "read_only", message);
    }
    let Ok(Json(Target { id })) = body else { return not_understood("{\"id\": \"...\"}") };
    let writer = Arc::clone(site);
    // It waits for a server.
    let done = tokio::task::spawn_blocking(move || change(&writer.writes, &id)).await;
    match done {
        Ok(Ok(done)) => {
            output::tell(&format!("serve: {}: {}", from.ip(), done.said));
            json(&done)
        }
        Ok(Err(failure)) => {
            output::tell(&format!("serve: {}: refused: {}", from.ip(), failure.message));
            let status =
                if failure.code == "invalid_argument" { StatusCode::BAD_REQUEST } else { StatusCode::BAD_GATEWAY };
            problem(status, failure.code, failure.message)
        }
        Err(_) => {
            problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "it ended in the middle: see what the page shows")
        }
    }
}

/// For Prometheus: with the token as a password of a bearer, or the session of a browser.
async fn metrics(State(site): State<Arc<Site>>, Extension(from): Extension<From>, headers: HeaderMap) -> Response {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok());
    match shown.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(token) => {
            let token = token.trim();
            let refused = refusal(&site, from, token);
            let is_locked_out =
                refused.as_ref().is_some_and(|refused| refused.status() == StatusCode::TOO_MANY_REQUESTS);
            if let Some(refused) = refused
                && !(is_locked_out && site.sessions.show_slowly(token).await)
            {
                return refused;
            }
        }
        None if session_of(&site, &headers).is_some() => {}
        None => return ([(WWW_AUTHENTICATE, "Bearer")], not_logged_in()).into_response(),
    }
    let text = super::metrics::text(&site.live.borrow(), &site.writes, site.browsers.load(Ordering::Relaxed));
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The session of a browser, and what its POSTs must show.
fn session_of(site: &Site, headers: &HeaderMap) -> Option<(String, String)> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut named = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| {
        let csrf = if name == site.cookie { site.sessions.csrf(value) } else { None }?;
        Some((value.to_owned(), csrf))
    })
}

/// The session of who may post. That the origin is ours was looked at before.
fn poster(site: &Site, headers: &HeaderMap) -> Result<String, Box<Response>> {
    let (name, _) = session_of(site, headers).ok_or_else(|| Box::new(not_logged_in()))?;
    let shown = headers.get(CSRF).map_or(&b""[..], HeaderValue::as_bytes);
    match site.sessions.may_post(&name, std::str::from_utf8(shown).unwrap_or_default()) {
        true => Ok(name),
        false => {
            let message = "the header X-Quotalock does not have what /api/session says: load the page anew";
            Err(Box::new(problem(StatusCode::FORBIDDEN, "wrong_origin", message)))
        }
    }
}

fn not_logged_in() -> Response {
    problem(StatusCode::UNAUTHORIZED, "not_logged_in", "sign in first: /login")
}

fn not_understood(form: &str) -> Response {
    problem(StatusCode::BAD_REQUEST, "invalid_argument", format!("this is not understood: send {form}"))
}
