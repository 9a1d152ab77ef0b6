//! Who may look: the token, and the sessions of those who showed it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quotalock::{Client, Limiter, Options, Policy};

use crate::exit::{Exit, Failure};
use crate::raw;

/// The fewest characters of a token that was given.
pub const MIN_TOKEN: usize = 16;
/// How long a session lasts.
pub const LASTS: Duration = Duration::from_secs(12 * 3_600);
/// How many there are at most: the oldest ends when one more begins.
const MOST: usize = 64;
/// How often an address may show a wrong token, and how often all addresses together.
const ATTEMPTS: [(&str, &str); 2] = [("login-of-address", "5/minute;30/hour"), ("login", "60/minute")];

/// Between two looks at tokens of scrapes while there are too many wrong ones: 40 a second, and with as many connections as there may be
/// a scrape waits 7 s at most.
const PAUSE: Duration = Duration::from_millis(25);

/// What a session knows.
#[derive(Clone)]
struct SessionEntry {
    csrf: String,
    ends: Instant,
}

/// What became of a token that somebody showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    /// It is the one.
    Right,
    /// It is another.
    Wrong,
    /// There were too many wrong ones: it was not looked at. So many seconds yet.
    TooMany(u64),
}

/// The token, and the sessions of those who showed it.
pub struct Sessions {
    token: String,
    open: Mutex<HashMap<String, SessionEntry>>,
    attempts: Mutex<[Limiter; 2]>,
    /// Whose turn it is to be looked at slowly.
    slow: tokio::sync::Mutex<()>,
}

impl Sessions {
    /// Nobody is logged in yet.
    ///
    /// # Errors
    /// For a token that is too short.
    pub fn new(token: String) -> Result<Sessions, Failure> {
        if token.chars().count() < MIN_TOKEN {
            let message =
                format!("the token of QUOTALOCK_SERVE_TOKEN has fewer than {MIN_TOKEN} characters: make a longer one");
            return Err(raw::usage(message));
        }
        // In this process alone, and of these sessions alone: what is counted is over with it.
        let client = Client::new(Options { url: Some(format!("memory://{}", random()?)), ..Options::default() })?;
        let limiter = |(name, policy): (&str, &str)| client.limiter(name, Policy::parse(policy)?);
        let [of_address, of_all] = ATTEMPTS.map(limiter);
        Ok(Sessions {
            token,
            open: Mutex::default(),
            attempts: Mutex::new([of_address?, of_all?]),
            slow: tokio::sync::Mutex::default(),
        })
    }

    /// Looks at a token that somebody at an address showed. Of many at once one is looked at after the other, so none passes
    /// the limit.
    pub fn show(&self, address: IpAddr, token: &str) -> TokenCheck {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let address = address.to_string();
        let keys: [&[u8]; 2] = [address.as_bytes(), b"all"];
        for (limiter, key) in attempts.iter().zip(keys) {
            let waits = limiter.peek(key, 1).and_then(|asked| asked.run());
            match waits {
                Ok(decision) if decision.allowed => {}
                Ok(decision) => return TokenCheck::TooMany(decision.retry_after.unwrap_or(0).div_ceil(1_000_000)),
                Err(_) => return TokenCheck::TooMany(60),
            }
        }
        if is_same(token.as_bytes(), self.token.as_bytes()) {
            return TokenCheck::Right;
        }
        for (limiter, key) in attempts.iter().zip(keys) {
            // It was admitted above, and nobody else counts here.
            let _ = limiter.consume(key, 1).and_then(|asked| asked.run());
        }
        TokenCheck::Wrong
    }

    /// Looks at a token of a scrape although there were too many wrong ones: those may be of others behind the same address. One
    /// look after the other, each with a pause before it, so that guesses stay few.
    pub async fn show_slowly(&self, token: &str) -> bool {
        let _turn = self.slow.lock().await;
        tokio::time::sleep(PAUSE).await;
        is_same(token.as_bytes(), self.token.as_bytes())
    }

    /// Opens a session: its name for the cookie, and what its POSTs must show.
    ///
    /// # Errors
    /// If the machine has no random bytes.
    pub fn open(&self) -> Result<(String, String), Failure> {
        let (name, csrf) = (random()?, random()?);
        let session = SessionEntry { csrf: csrf.clone(), ends: Instant::now() + LASTS };
        let mut open = self.sessions();
        if open.len() >= MOST
            && let Some(oldest) = open.iter().min_by_key(|(_, session)| session.ends).map(|(name, _)| name.clone())
        {
            open.remove(&oldest);
        }
        open.insert(name.clone(), session);
        Ok((name, csrf))
    }

    /// What the POSTs of a session must show; none if there is no such session, or no longer.
    pub fn csrf(&self, name: &str) -> Option<String> {
        let mut open = self.sessions();
        open.retain(|_, session| session.ends > Instant::now());
        open.get(name).map(|session| session.csrf.clone())
    }

    /// Whether a POST shows what it must.
    pub fn may_post(&self, name: &str, shown: &str) -> bool {
        self.csrf(name).is_some_and(|csrf| is_same(shown.as_bytes(), csrf.as_bytes()))
    }

    /// Ends a session.
    pub fn close(&self, name: &str) {
        self.sessions().remove(name);
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, SessionEntry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 256 random bits as text.
///
/// # Errors
/// If the machine has none.
pub fn random() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Failure {
        exit: Exit::Findings,
        code: "internal",
        message: format!("the operating system gave no random bytes (/dev/urandom): {error}"),
    })?;
    let mut text = String::with_capacity(64);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
fn is_same(shown: &[u8], known: &[u8]) -> bool {
    if known.is_empty() {
        return false;
    }
    let mut differs = shown.len() ^ known.len();
    for (at, byte) in shown.iter().enumerate() {
        differs |= usize::from(byte ^ known[at % known.len()]);
    }
    black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::{MOST, Sessions, TokenCheck, is_same, random};

    const TOKEN: &str = "a-token-of-the-tests";
    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_token_is_the_same_only_as_itself() {
        assert!(is_same(b"abc", b"abc"));
        for other in [&b""[..], b"ab", b"abd", b"abca", b"abcabc", b"xbc"] {
            assert!(!is_same(other, b"abc"));
        }
        assert!(!is_same(b"", b""));
    }

    #[test]
    fn guesses_are_limited_by_address_and_in_all() {
        let sessions = Sessions::new(TOKEN.into()).unwrap();
        for _ in 0..5 {
            assert_eq!(sessions.show(HERE, "wrong"), TokenCheck::Wrong);
        }
        // Also the right one: else a guess would be tried all the same.
        assert!(matches!(sessions.show(HERE, TOKEN), TokenCheck::TooMany(1..=60)));
        let other = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        assert_eq!(sessions.show(other(1), TOKEN), TokenCheck::Right);
        for last in 2..13 {
            (0..5).for_each(|_| assert_eq!(sessions.show(other(last), "wrong"), TokenCheck::Wrong));
        }
        assert!(matches!(sessions.show(other(99), TOKEN), TokenCheck::TooMany(_)));
    }

    #[test]
    fn a_right_token_costs_nothing() {
        let sessions = Sessions::new(TOKEN.into()).unwrap();
        (0..100).for_each(|_| assert_eq!(sessions.show(HERE, TOKEN), TokenCheck::Right));
    }

    #[test]
    fn sessions_are_few_and_end() {
        let sessions = Sessions::new(TOKEN.into()).unwrap();
        let (first, csrf) = sessions.open().unwrap();
        assert!(sessions.may_post(&first, &csrf) && !sessions.may_post(&first, &first));
        for _ in 0..MOST {
            sessions.open().unwrap();
        }
        assert_eq!(sessions.csrf(&first), None);
        let (last, csrf) = sessions.open().unwrap();
        sessions.close(&last);
        assert!(!sessions.may_post(&last, &csrf) && !sessions.may_post("", ""));
        assert_ne!(random().unwrap(), random().unwrap());
    }

    #[test]
    fn a_short_token_is_refused() {
        assert!(Sessions::new("fifteen-letters".into()).is_err());
    }
}
