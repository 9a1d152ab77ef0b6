//! The ini settings `ratelimit.*`: what they are and who set them.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

use ext_php_rs::ffi::{
    E_CORE_WARNING, HashTable, ext_php_rs_executor_globals, php_error_docref, zend_hash_str_find, zend_ini_entry,
};
use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::types::{ZendStr, Zval};
use ext_php_rs::zend::{IniEntryDef, IniEntryDefs};
use quotalock::{DEFAULT_DENY_CACHE_KB, deny_cache_file, metrics, prepare_deny_cache};

/// `ZEND_INI_SYSTEM`, what `php_admin_value` leaves of who may change a setting.
const SYSTEM: u8 = 1 << 2;

/// Their names.
const SETTINGS: [&CStr; 9] = [
    URL,
    c"ratelimit.prefix",
    c"ratelimit.timeout_ms",
    c"ratelimit.on_error",
    c"ratelimit.deny_cache_max_ms",
    DENY_CACHE_KB,
    DENY_CACHE_FILE,
    c"ratelimit.report",
    METRICS_FILE,
];

/// Every setting of a client may be set anywhere; `php_admin_value` in a pool takes that away from scripts. Empty means not set.
static ENTRIES: IniEntryDefs<10> = IniEntryDefs::new([
    IniEntryDef::new(SETTINGS[0], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[1], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[2], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[3], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[4], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[5], c"", IniEntryPermission::System),
    IniEntryDef::new(SETTINGS[6], c"", IniEntryPermission::System),
    IniEntryDef::new(SETTINGS[7], c"", IniEntryPermission::All),
    IniEntryDef::new(SETTINGS[8], c"", IniEntryPermission::System),
    IniEntryDef::end(),
]);

unsafe extern "C" {
    fn zend_ini_string_ex(name: *const c_char, length: usize, original: i32, exists: *mut bool) -> *mut c_char;
    fn cfg_get_entry(name: *const c_char, length: usize) -> *mut Zval;
    fn php_ini_get_configuration_hash() -> *mut HashTable;
}

const URL: &CStr = c"ratelimit.url";
/// How large the memory for denials is, in kibibytes.
pub const DENY_CACHE_KB: &CStr = c"ratelimit.deny_cache_kb";
/// The file in which processes share it.
const DENY_CACHE_FILE: &CStr = c"ratelimit.deny_cache_file";
/// The file in which processes count together.
const METRICS_FILE: &CStr = c"ratelimit.metrics_file";

/// The URL that the configuration of this process gives, if it may hold a password: as PHP shows it, and as it is.
static HIDDEN: OnceLock<(String, String)> = OnceLock::new();

/// Registers the settings.
pub fn register(module: i32) {
    IniEntryDef::register(ENTRIES.as_slice(), module);
    hide_password();
    warn_of_misspelled();
    share_denials();
    share_counters();
}

/// Makes the memory for denials, which the processes that are forked from this one share. With a size that cannot be the
/// first client makes one of the usual size.
fn share_denials() {
    let text = get(DENY_CACHE_KB).unwrap_or_else(|| DEFAULT_DENY_CACHE_KB.to_string());
    let file = get(DENY_CACHE_FILE).map(PathBuf::from).or_else(deny_cache_file);
    let Ok(kilobytes) = text.trim().parse() else {
        warn(&format!("ratelimit.deny_cache_kb of \"{text}\" is not a whole number of kibibytes: write it as 2048"));
        return;
    };
    if let Err(error) = prepare_deny_cache(kilobytes, file.as_deref()) {
        warn(&format!("ratelimit: {}", error.message()));
    }
}

/// Makes the memory for counters, as [`share_denials`].
fn share_counters() {
    let file = get(METRICS_FILE).map(PathBuf::from).or_else(metrics::file);
    if let Err(error) = metrics::prepare(file.as_deref()) {
        warn(&format!("ratelimit: {}", error.message()));
    }
}

/// Warns whoever starts PHP.
fn warn(message: &str) {
    let Ok(message) = CString::new(message) else { return };
    // SAFETY: as `php_error`: the format takes this one string.
    unsafe { php_error_docref(std::ptr::null(), E_CORE_WARNING as c_int, c"%s".as_ptr(), message.as_ptr()) };
}

/// Warns of configured settings that are meant for us and that we do not have: PHP says nothing of them. Only their names: a
/// value may hold a password.
fn warn_of_misspelled() {
    // SAFETY: at start-up, in the only thread; the table is the engine's, and nobody changes it meanwhile.
    let configured = unsafe { php_ini_get_configuration_hash().as_ref() };
    for (name, _) in configured.into_iter().flat_map(HashTable::iter) {
        let name = name.to_string();
        misspelled(&name).iter().for_each(|message| warn(message));
    }
}

/// What to say of a setting that looks like ours; none of one that is ours, or somebody else's.
fn misspelled(name: &str) -> Option<String> {
    let (prefix, setting) = name.split_once('.')?;
    let prefix = prefix.to_ascii_lowercase().replace(['_', '-'], "");
    if SETTINGS.iter().any(|ours| ours.to_bytes() == name.as_bytes()) || !["ratelimit", "quotalock"].contains(&&*prefix)
    {
        return None;
    }
    let ours = SETTINGS.map(|ours| ours.to_str().unwrap_or_default());
    let distance = |ours: &&str| distance(setting.as_bytes(), ours.as_bytes().split_at("ratelimit.".len()).1);
    let nearest = ours.iter().min_by_key(|ours| distance(ours)).filter(|ours| distance(ours) <= 1 + setting.len() / 3);
    let cure = nearest.map_or_else(|| format!("use {}", ours.join(", ")), |nearest| format!("did you mean {nearest}?"));
    Some(format!("the ini setting {name} does not exist, and nobody reads it: {cure}"))
}

/// How many letters must be put in, left out or changed to make one text the other.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in to.iter().enumerate() {
            let changed = before + usize::from(!letter.eq_ignore_ascii_case(other));
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
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
            Some(entry) if entry.modifiable == SYSTEM && name != DENY_CACHE_KB => "php_admin_value",
            _ if configured.is_some_and(|text| get(name).is_some_and(|value| value.as_bytes() == text.as_bytes())) => {
                "ini file or -d"
            }
            _ => "php_value or ini_set",
        }
    }
}
