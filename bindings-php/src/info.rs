//! The section of `phpinfo()`: the settings in force and where each comes from. No password shows.

use std::ffi::CString;

use ext_php_rs::ffi::{
    php_info_print_table_end, php_info_print_table_header, php_info_print_table_row, php_info_print_table_start,
};
use ext_php_rs::zend::ModuleEntry;
use quotalock::{DenyCache, SharedBy};

use crate::ini;
use crate::settings::{Arguments, Origin, Settings};

/// Prints the section.
pub unsafe extern "C" fn print(_module: *mut ModuleEntry) {
    let settings = Settings::of(Arguments::default());
    let url = quotalock::redacted(&settings.url.0);
    let DenyCache { place, kilobytes, slots, in_use, .. } = quotalock::deny_cache();
    let (kilobytes, is_set) = (kilobytes.to_string(), ini::get(ini::DENY_CACHE_KB).is_some());
    let remembered = match place {
        SharedBy::Forks => format!("{in_use} of {slots}, shared by the workers"),
        SharedBy::File => format!("{in_use} of {slots}, shared by a file"),
        SharedBy::Own => format!("{in_use} of {slots}, of this process alone: the system gave no shared memory"),
        _ => "off".into(),
    };
    let counters = match quotalock::metrics::shared_by() {
        SharedBy::Forks => "counted by the workers together",
        SharedBy::File => "counted together by all who name the file",
        _ => "off",
    };
    let rows = [
        ("url", url.as_str(), settings.url.1),
        ("prefix", &*settings.prefix.0, settings.prefix.1),
        ("timeout_ms", &*settings.timeout_ms.0, settings.timeout_ms.1),
        ("on_error", &*settings.on_error.0, settings.on_error.1),
        ("deny_cache_max_ms", &*settings.deny_cache_max_ms.0, settings.deny_cache_max_ms.1),
        ("report", &*settings.report.0, settings.report.1),
        ("deny_cache_kb", &kilobytes, if is_set { Origin::Ini(ini::DENY_CACHE_KB) } else { Origin::Default }),
    ];
    // SAFETY: PHP calls this where it prints information; each row has as many C strings as it says.
    unsafe {
        php_info_print_table_start();
        php_info_print_table_row(2, c"Quotalock".as_ptr(), c_string(env!("CARGO_PKG_VERSION")).as_ptr());
        php_info_print_table_end();
        php_info_print_table_start();
        php_info_print_table_header(3, c"Setting".as_ptr(), c"Value".as_ptr(), c"From".as_ptr());
        for (name, value, origin) in rows {
            let (name, value, origin) =
                (c_string(&format!("ratelimit.{name}")), c_string(value), c_string(from(origin)));
            php_info_print_table_row(3, name.as_ptr(), value.as_ptr(), origin.as_ptr());
        }
        php_info_print_table_end();
        php_info_print_table_start();
        php_info_print_table_row(2, c"Remembered denials".as_ptr(), c_string(&remembered).as_ptr());
        php_info_print_table_row(2, c"Metrics".as_ptr(), c_string(counters).as_ptr());
        php_info_print_table_end();
    }
}

fn from(origin: Origin) -> &'static str {
    match origin {
        Origin::Argument => "argument",
        Origin::Ini(name) => ini::set_by(name),
        Origin::Environment => "environment variable QUOTALOCK_URL",
        Origin::Default => "default",
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
