//! Who holds a lock, for those who look: host, process and label, one a line.

use crate::base::host;

/// What tells a holder from others, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub host: String,
    /// 0 if it did not say.
    pub pid: u64,
    pub label: String,
}

impl Who {
    /// This process, under a label.
    pub fn here(label: &str) -> Who {
        Who { host: host::name(), pid: u64::from(std::process::id()), label: label.to_owned() }
    }

    pub fn encode(&self) -> Vec<u8> {
        format!("{}\n{}\n{}", self.host, self.pid, self.label).into_bytes()
    }

    /// Reads what another wrote; what it left out is empty.
    pub fn decode(bytes: &[u8]) -> Who {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.splitn(3, '\n');
        let mut next = || lines.next().unwrap_or("").to_owned();
        Who { host: next(), pid: next().parse().unwrap_or(0), label: next() }
    }
}
