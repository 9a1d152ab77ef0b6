//! Who holds a lock, for those who look: host, process and label, one a line.

use wire::base::fork::ForkCell;
use wire::base::host;

/// The name of the host and the number of this process, asked of the system once: an acquisition takes no system call for them.
static HERE: ForkCell<(String, u64)> = ForkCell::new();

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
        let (host, pid) = HERE.get_or_init(|| (host::name(), u64::from(std::process::id())));
        Who { host: host.clone(), pid: *pid, label: label.to_owned() }
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
