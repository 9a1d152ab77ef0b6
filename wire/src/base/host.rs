//! This host's name, for people who look.

/// The name, cut at 64 bytes and on one line; empty if the system has none.
pub fn name() -> String {
    let mut name = [0_u8; 65];
    // SAFETY: the buffer is valid for the length given, and its last byte stays zero.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    if failed { String::new() } else { String::from_utf8_lossy(&name[..end]).replace('\n', " ") }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_name_is_that_of_the_system() {
        let known = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(super::name(), known.trim_end());
    }
}
