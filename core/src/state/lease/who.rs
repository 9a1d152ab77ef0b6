//! Who holds a lock, for those who look: host, process and label, one a line.

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
        Who { host: host(), pid: u64::from(std::process::id()), label: label.to_owned() }
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

/// This host's name, cut at 64 bytes; empty if the system has none.
fn host() -> String {
    let mut name = [0_u8; 65];
    // SAFETY: the buffer is valid for the length given, and its last byte stays zero.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    if failed { String::new() } else { String::from_utf8_lossy(&name[..end]).replace('\n', " ") }
}
