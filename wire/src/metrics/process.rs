//! The table of this process, which is shared with what it forks, and with others by a file.

use std::path::{Path, PathBuf};

use once_cell::race::OnceBox;

use super::layout::{MAGIC, WORDS};
use super::table::CounterTable;
use crate::base::error::{Error, Result};
use crate::base::fork;
use crate::base::shared::{self, Format, SharedBy};

/// The environment variable that names the file in which processes of this user count together.
pub const METRICS_FILE_VARIABLE: &str = "QUOTALOCK_METRICS_FILE";
/// The environment variable that switches counting off, if it is `off`. Read once.
pub const METRICS_VARIABLE: &str = "QUOTALOCK_METRICS";

/// What a file with a table is; of another size it is of another version.
pub(super) const FORMAT: Format =
    Format { magic: MAGIC, name: "metrics file", of: "metrics", sizes: 4_096..=1 << 26, is_fixed: true };
/// Words of a file, with its header.
pub(super) const FILE_WORDS: usize = WORDS + shared::HEADER;

static TABLE: OnceBox<SharedCounters> = OnceBox::new();

struct SharedCounters {
    table: Option<CounterTable>,
    place: SharedBy,
    /// Why it is not in the file that was named.
    problem: Option<Error>,
}

/// The file that the environment names, in [`METRICS_FILE_VARIABLE`].
pub fn file() -> Option<PathBuf> {
    std::env::var_os(METRICS_FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Makes the table in which this process and those that it forks from now on count: call it before workers are forked. With a file
/// all processes of this user that name it count together; put it where it is gone when the host starts anew, as in `/dev/shm`.
/// Without this call the first client makes the table, in the [`file()`] if there is one. Makes nothing where [`METRICS_VARIABLE`]
/// switches counting off.
///
/// # Errors
/// `invalid_argument` for a file that cannot be used: then the table is in memory.
pub fn prepare(file: Option<&Path>) -> Result<()> {
    TABLE.get_or_init(|| Box::new(SharedCounters::new(file))).problem.clone().map_or(Ok(()), Err)
}

/// Who counts in the same table as this process.
pub fn shared_by() -> SharedBy {
    TABLE.get().map_or(SharedBy::Nobody, |kept| kept.place)
}

/// The table of this process; none if it is off, or the system gives no memory to share.
pub fn table() -> Option<CounterTable> {
    TABLE.get_or_init(|| Box::new(SharedCounters::new(file().as_deref()))).table
}

impl SharedCounters {
    fn new(path: Option<&Path>) -> SharedCounters {
        fork::watch();
        if std::env::var_os(METRICS_VARIABLE).is_some_and(|value| value == "off") {
            return SharedCounters { table: None, place: SharedBy::Nobody, problem: None };
        }
        let (joined, problem) = shared::join(path, &FORMAT, FILE_WORDS);
        if let Some(table) = joined.and_then(|(words, _)| CounterTable::new(words)) {
            return SharedCounters { table: Some(table), place: SharedBy::File, problem };
        }
        let table = shared::map(WORDS, true).and_then(CounterTable::new);
        SharedCounters { place: if table.is_some() { SharedBy::Forks } else { SharedBy::Nobody }, table, problem }
    }
}
