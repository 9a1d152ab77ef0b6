//! Where the table lies: in memory that forked processes share, or, where there is none, in memory of this process.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

/// Memory of zeros that lives as long as the process, and its children see its changes if `shared`; else they begin with zeros.
/// None if the system has none to give.
pub fn map(words: usize, shared: bool) -> Option<&'static [AtomicU64]> {
    let flags = libc::MAP_ANONYMOUS | if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let size = words * size_of::<AtomicU64>();
    // SAFETY: a new mapping that overlaps nothing.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    #[cfg(target_os = "linux")]
    if !shared {
        // What a parent forgets its child would remember.
        // SAFETY: the range is the mapping just made.
        let wiped = unsafe { libc::madvise(start, size, libc::MADV_WIPEONFORK) };
        if wiped != 0 {
            // SAFETY: as above; nobody has seen it.
            unsafe { libc::munmap(start, size) };
            return None;
        }
    }
    // SAFETY: the mapping is aligned to a page, as large as said, zeroed, never unmapped, and only touched as atomics; a zero is an
    // atomic.
    Some(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), words) })
}

/// So many words of a file, which all who map it share; none if the system does not.
pub(super) fn map_file(file: &File, words: usize) -> Option<&'static [AtomicU64]> {
    let (access, size) = (libc::PROT_READ | libc::PROT_WRITE, words * size_of::<AtomicU64>());
    // SAFETY: a new mapping that overlaps nothing, of an open descriptor.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is aligned to a page, never unmapped, and only touched as atomics; any bytes are an atomic. The file is this
    // user's alone and has that size; who cuts it off ends the processes that use it.
    Some(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), words) })
}
