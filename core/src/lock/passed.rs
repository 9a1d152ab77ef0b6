//! The text of a lock that is handed over: `ql1-`, and base64url of what is needed to take it over, with a checksum.

use super::held::HeldLock;
use super::spec::LockKind;
use crate::lock::lease_table::{ALL_PERMITS, AttemptId};
use wire::base::error::{Error, Result};

/// What the text begins with. Another version begins otherwise.
const VERSION: &str = "ql1-";
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// How many bytes of the checksum there are.
const CHECK: usize = 4;
/// What is added to the kind of a lock whose waiters are served in order.
const FAIR: u8 = 16;

/// What is passed on.
pub(super) struct Passed {
    pub kind: LockKind,
    pub fair: bool,
    /// The giver's.
    pub id: AttemptId,
    pub ttl: u64,
    /// For how long it may be renewed still.
    pub max_hold: u64,
    /// How many permits there are, and how many of them are passed on.
    pub of_permits: (u64, u64),
    pub prefix: String,
    pub label: String,
    pub names: Vec<Vec<u8>>,
}

impl Passed {
    /// What a grant is.
    pub fn of(held: &HeldLock) -> Passed {
        let spec = &held.spec;
        Passed {
            kind: spec.kind,
            fair: spec.options.fair,
            id: held.id,
            ttl: spec.options.ttl,
            // At its end the lease is not renewed, but it is not over.
            max_hold: held.renew_until.saturating_sub(spec.now()).max(1),
            of_permits: (spec.permits, spec.weight),
            prefix: spec.prefix.to_string(),
            label: spec.options.label.clone(),
            names: spec.names.clone(),
        }
    }

    pub fn text(&self) -> String {
        let mut bytes = vec![KINDS.iter().position(|kind| *kind == self.kind).unwrap_or_default() as u8];
        if self.fair {
            bytes[0] |= FAIR;
        }
        bytes.extend_from_slice(&self.id);
        push_number(&mut bytes, self.ttl);
        push_number(&mut bytes, self.max_hold);
        if self.kind == LockKind::Semaphore {
            push_number(&mut bytes, self.of_permits.0);
            push_number(&mut bytes, self.of_permits.1);
        }
        for text in [self.prefix.as_bytes(), self.label.as_bytes()] {
            put_bytes(&mut bytes, text);
        }
        self.names.iter().for_each(|name| put_bytes(&mut bytes, name));
        let check = checksum(&bytes);
        bytes.extend_from_slice(&check);
        format!("{VERSION}{}", encoded(&bytes))
    }

    /// Reads a text. No message shows it: it is as good as the lock.
    ///
    /// # Errors
    /// `invalid_argument` for one that is none, is damaged, or of another version.
    pub fn read(text: &str) -> Result<Passed> {
        let Some(rest) = text.strip_prefix(VERSION) else {
            let why = match text.strip_prefix("ql").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                true => "was handed over by another version of Quotalock: use the same one on both sides",
                false => "was not written by handover: give its text as it is",
            };
            return Err(Error::invalid(format!("the text of the lock {why}")));
        };
        // What reads the same but is written otherwise was changed on its way.
        parse(rest)
            .filter(|passed| passed.text() == text)
            .ok_or_else(|| Error::invalid("the text of the lock is damaged or cut off: give it as handover wrote it"))
    }
}

const KINDS: [LockKind; 4] = [LockKind::Mutex, LockKind::Semaphore, LockKind::Read, LockKind::Write];

fn parse(text: &str) -> Option<Passed> {
    let bytes = decoded(text)?;
    let (content, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK)?)?;
    if checksum(content) != check {
        return None;
    }
    let mut rest = content;
    let (first, behind) = rest.split_first()?;
    rest = behind;
    let kind = *KINDS.get(usize::from(first & !FAIR))?;
    let (id, behind) = rest.split_first_chunk::<16>()?;
    rest = behind;
    let (ttl, max_hold) = (number(&mut rest)?, number(&mut rest)?);
    let of_permits = match kind {
        LockKind::Mutex => (1, 1),
        LockKind::Semaphore => (number(&mut rest)?, number(&mut rest)?),
        LockKind::Read => (ALL_PERMITS, 1),
        LockKind::Write => (ALL_PERMITS, ALL_PERMITS),
    };
    let (prefix, label) = (taken(&mut rest)?, taken(&mut rest)?);
    let mut names = Vec::new();
    while !rest.is_empty() {
        names.push(taken(&mut rest)?);
    }
    Some(Passed {
        kind,
        fair: first & FAIR != 0,
        id: *id,
        ttl,
        max_hold,
        of_permits,
        prefix: String::from_utf8(prefix).ok()?,
        label: String::from_utf8(label).ok()?,
        names,
    })
}

/// What tells a text that was cut off or mistyped.
fn checksum(bytes: &[u8]) -> [u8; CHECK] {
    let digest = sha1_smol::Sha1::from(bytes).digest().bytes();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// Writes a number, seven bits a byte, the low ones first.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 127 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(number);
        }
    }
    None
}

fn taken(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = number(rest)?;
    let (taken, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    Some(taken.to_vec())
}

/// Base64 for URLs, without padding (RFC 4648).
fn encoded(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            out.push(char::from(LETTERS[(word >> (18 - 6 * at)) as usize & 63]));
        }
    }
    out
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for letter in chunk {
            word = word << 6 | LETTERS.iter().position(|other| other == letter)? as u32;
        }
        let bytes = chunk.len() * 3 / 4;
        word <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[1..1 + bytes]);
    }
    Some(out)
}
