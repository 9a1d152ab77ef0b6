//! The scripts of stocks, and what each is put together from.

use super::{MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE, sale};
use wire::base::format::{CHECK_FORMAT, FORMAT_OF_SCRIPTS};
use wire::call::lua::{Constants, TEST_TTL};
use wire::call::script::NamedScript;

/// The numbers that the scripts know by a name, and the twins as well but for the size of a state.
const CONSTANTS: &Constants = &[
    FORMAT_OF_SCRIPTS,
    ("NEVER", sale::NEVER),
    ("SIZE", 116),
    // What a call does at most, for all its sales together: about so many holds end, so many of each of many sales, and with
    // them, or by being settled or listed, so many prizes move, but for those of the last hold.
    ("HOLDS", sale::HOLDS as u64),
    ("STEP", sale::STEP as u64),
    ("PRIZES", MAX_PRIZES_MOVED),
    ("PRIZES_OF_A_TAKE", MAX_PRIZES_OF_A_TAKE),
    ("ROUNDS", sale::ROUNDS),
    ("TEST_TTL", TEST_TTL),
];
const FORM: &str = include_str!("form.lua");
const LOAD: &str = include_str!("load.lua");
const SAVE: &str = include_str!("save.lua");
const PRIZES: &str = include_str!("prizes.lua");
const RELEASE: &str = concat!(include_str!("lost.lua"), include_str!("release.lua"));
const RECALL: &str = include_str!("recall.lua");
const REMEMBER: &str = include_str!("remember.lua");
const TAKING: &str = include_str!("take.lua");
const MEMBERS: &str = include_str!("members.lua");
const RIGHTS: &str = include_str!("rights.lua");
const RETURN: &str = include_str!("return.lua");

const fn script(name: &'static str, fragments: &'static [&'static str]) -> NamedScript {
    NamedScript::new(name, CONSTANTS, fragments)
}

pub(super) static OPEN: NamedScript =
    script("stock-open", &[CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, RIGHTS, include_str!("open.lua")]);
pub(super) static CLOSE: NamedScript =
    script("stock-close", &[CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, include_str!("close.lua")]);
pub(super) static RESTOCK: NamedScript = script(
    "stock-restock",
    &[CHECK_FORMAT, FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, include_str!("restock.lua"), RETURN],
);
pub(super) static TAKE: NamedScript = script(
    "stock-take",
    &[include_str!("take_simple.lua"), CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, TAKING, RETURN],
);
pub(super) static TAKE_ALL: NamedScript =
    script("stock-take-all", &[CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, TAKING, RETURN]);
pub(super) static TAKE_ONCE: NamedScript = script(
    "stock-take-once",
    &[CHECK_FORMAT, FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, TAKING, MEMBERS, RETURN],
);
pub(super) static SETTLE: NamedScript = script(
    "stock-settle",
    &[include_str!("settle_simple.lua"), CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, include_str!("settle.lua")],
);
pub(super) static EXTEND: NamedScript =
    script("stock-extend", &[CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, include_str!("extend.lua")]);
pub(super) static STATUS: NamedScript =
    script("stock-status", &[CHECK_FORMAT, FORM, LOAD, SAVE, PRIZES, RELEASE, include_str!("status.lua")]);
pub(super) static RESERVATIONS: NamedScript =
    script("stock-reservations", &[CHECK_FORMAT, FORM, LOAD, PRIZES, include_str!("reservations.lua")]);
pub(super) static LEDGER: NamedScript = script("stock-ledger", &[include_str!("ledger.lua")]);

/// The scripts of stocks.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let all =
        [&OPEN, &CLOSE, &RESTOCK, &TAKE, &TAKE_ALL, &TAKE_ONCE, &SETTLE, &EXTEND, &STATUS, &RESERVATIONS, &LEDGER];
    all.map(|script| script.listed()).into()
}
