//! The ini settings `ratelimit.*`: what they are and who set them.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use ext_php_rs::ffi::{ext_php_rs_executor_globals, zend_hash_str_find, zend_ini_entry};
use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::types::{ZendStr, Zval};
use ext_php_rs::zend::{IniEntryDef, IniEntryDefs};

/// `ZEND_INI_SYSTEM`, what `php_admin_value` leaves of who may change a setting.
const SYSTEM: u8 = 1 << 2;

/// Every setting may be set anywhere; `php_admin_value` in a pool takes that away from scripts. Empty means not set.
static ENTRIES: IniEntryDefs<5> = IniEntryDefs::new([
    IniEntryDef::new(c"ratelimit.url", c"", IniEntryPermission::All),
    IniEntryDef::new(c"ratelimit.prefix", c"", IniEntryPermission::All),
    IniEntryDef::new(c"ratelimit.timeout_ms", c"", IniEntryPermission::All),
    IniEntryDef::new(c"ratelimit.on_error", c"", IniEntryPermission::All),
    IniEntryDef::end(),
]);

unsafe extern "C" {
    fn zend_ini_string_ex(name: *const c_char, length: usize, original: i32, exists: *mut bool) -> *mut c_char;
    fn cfg_get_entry(name: *const c_char, length: usize) -> *mut Zval;
}

const URL: &CStr = c"ratelimit.url";

/// The URL that the configuration of this process gives, if it may hold a password: as PHP shows it, and as it is.
static HIDDEN: OnceLock<(String, String)> = OnceLock::new();

/// Registers the settings.
pub fn register(module: i32) {
    IniEntryDef::register(ENTRIES.as_slice(), module);
    hide_password();
}

/// Has PHP itself know the configured URL without its password: `php --re`, `ini_get` and reflection print what it knows.
fn hide_password() {
    let Some(url) = get(URL) else { return };
    let shown = quotalock::redacted(&url);
    if shown == url {
        return;
    }
    // SAFETY: at start-up, in the only thread, the entry was just registered, and nobody else has its value yet; the new one is
    // interned for good. The old one is not freed: it may be the configuration's.
    unsafe {
        if let Some(entry) = entry(URL).as_mut() {
            entry.value = ZendStr::new_interned(&shown, true).into_raw();
        }
    }
    let _ = HIDDEN.set((shown, url));
}

/// The engine's entry of a setting; null if there is none.
fn entry(name: &CStr) -> *mut zend_ini_entry {
    // SAFETY: the table is the engine's, and holds pointers to its entries.
    unsafe {
        let directives = (*ext_php_rs_executor_globals()).ini_directives;
        let found = zend_hash_str_find(directives, name.as_ptr(), name.count_bytes());
        found.as_ref().and_then(|value| value.ptr::<zend_ini_entry>()).unwrap_or(std::ptr::null_mut())
    }
}

/// The value in force; none if it is empty.
pub fn get(name: &CStr) -> Option<String> {
    // SAFETY: the engine answers with a C string of its own, or null; it is copied before PHP runs again.
    let value = unsafe {
        let value = zend_ini_string_ex(name.as_ptr(), name.count_bytes(), 0, std::ptr::null_mut());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_string_lossy().into_owned()
    };
    match HIDDEN.get() {
        Some((shown, url)) if name == URL && value == *shown => Some(url.clone()),
        _ => Some(value).filter(|value| !value.is_empty()),
    }
}

/// Who gave the value in force, for a person.
pub fn set_by(name: &CStr) -> &'static str {
    // SAFETY: the entry is the engine's; the configured value is null or a live value of the engine's.
    unsafe {
        let entry = entry(name).as_ref();
        let configured = cfg_get_entry(name.as_ptr(), name.count_bytes()).as_ref().and_then(Zval::zend_str);
        match entry {
            Some(entry) if entry.modifiable == SYSTEM => "php_admin_value",
            _ if configured.is_some_and(|text| get(name).is_some_and(|value| value.as_bytes() == text.as_bytes())) => {
                "ini file or -d"
            }
            _ => "php_value or ini_set",
        }
    }
}
