//! What processes report of their decisions, as it comes: the stream of the client's option `report`.

use quotalock::reports::{Report, redis_key};
use redis::cmd;

use crate::raw;
use crate::server::{Node, Refusal, RefusalKind, Servers};

/// How many reports are asked for at once, and how often in one look: all that a stream keeps.
const LOT: u64 = 500;
const LOTS: usize = 20;

type StreamEntry = (Vec<u8>, Vec<Vec<u8>>);

/// A reader of the stream, which remembers how far it has read.
pub struct Reader {
    key: Vec<u8>,
    /// The last entry that was read.
    cursor: Vec<u8>,
}

impl Reader {
    /// Of a prefix, from a time on: milliseconds since the epoch.
    pub fn new(prefix: &str, from_ms: u64) -> Reader {
        Reader { key: redis_key(prefix), cursor: from_ms.to_string().into_bytes() }
    }

    /// Gives what was reported since the last look, and the server's clock in microseconds; none if no server has the stream's
    /// slot now, as while a cluster moves it.
    ///
    /// # Errors
    /// If the server that has the reports cannot be reached, does not answer, or does not let us read them.
    pub fn look(&mut self, servers: &mut Servers) -> Result<Option<(Vec<Report>, u64)>, Refusal> {
        for node in servers.primaries() {
            match self.read(node) {
                Err(refusal) if refusal.why == RefusalKind::Moved => {}
                read => return read.map(Some),
            }
        }
        // The stream may be on one that is missing.
        servers
            .missing
            .iter()
            .find(|missing| missing.is_primary)
            .map_or(Ok(None), |missing| Err(missing.refusal.clone()))
    }

    fn read(&mut self, node: &mut Node) -> Result<(Vec<Report>, u64), Refusal> {
        let mut reports = Vec::new();
        for _ in 0..LOTS {
            let from = [b"(".as_slice(), &self.cursor].concat();
            let entries: Vec<StreamEntry> =
                node.ask(cmd("XRANGE").arg(&self.key).arg(from).arg("+").arg("COUNT").arg(LOT))?;
            let is_last = (entries.len() as u64) < LOT;
            for (id, fields) in entries {
                let (pairs, _) = fields.as_chunks::<2>();
                let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|[field, value]| (&**field, &**value)).collect();
                reports.extend(Report::read(&id, &pairs));
                self.cursor = id;
            }
            if is_last {
                break;
            }
        }
        Ok((reports, raw::now(node)?))
    }
}
