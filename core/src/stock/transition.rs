//! The scripts of stocks, and what each is put together from.

use once_cell::race::OnceBox;

use super::{MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE, sale, take};
use crate::call::lua::{Constants, TEST_TTL};
use crate::call::script::Script;

/// The numbers that the scripts know by a name, and the twins as well but for the size of a state.
const CONSTANTS: &Constants = &[
    ("NEVER", sale::NEVER),
    ("SIZE", 116),
    // What a call does at most, for all its sales together: about so many holds end, so many of each of many sales, and with
    // them, or by being settled or listed, so many prizes move, but for those of the last hold.
    ("HOLDS", sale::HOLDS as u64),
    ("STEP", sale::STEP as u64),
    ("PRIZES", MAX_PRIZES_MOVED),
    ("PRIZES_OF_A_TAKE", MAX_PRIZES_OF_A_TAKE),
    ("ROUNDS", take::ROUNDS),
    ("TEST_TTL", TEST_TTL),
];
const FORM: &str = include_str!("../../scripts/stock/form.lua");
const LOAD: &str = include_str!("../../scripts/stock/load.lua");
const SAVE: &str = include_str!("../../scripts/stock/save.lua");
const PRIZES: &str = include_str!("../../scripts/stock/prizes.lua");
const RELEASE: &str =
    concat!(include_str!("../../scripts/stock/lost.lua"), include_str!("../../scripts/stock/release.lua"));
const RECALL: &str = include_str!("../../scripts/stock/recall.lua");
const REMEMBER: &str = include_str!("../../scripts/stock/remember.lua");
const RETURN: &str = include_str!("../../scripts/stock/return.lua");

/// What is done with sales; a script each.
#[derive(Clone, Copy)]
pub(super) enum Transition {
    Open,
    Close,
    Restock,
    Take,
    TakeAll,
    TakeOnce,
    Settle,
    Extend,
    Status,
    Reservations,
    Ledger,
}

impl Transition {
    const ALL: [Transition; 11] = [
        Transition::Open,
        Transition::Close,
        Transition::Restock,
        Transition::Take,
        Transition::TakeAll,
        Transition::TakeOnce,
        Transition::Settle,
        Transition::Extend,
        Transition::Status,
        Transition::Reservations,
        Transition::Ledger,
    ];

    fn name(self) -> &'static str {
        match self {
            Transition::Open => "open",
            Transition::Close => "close",
            Transition::Restock => "restock",
            Transition::Take => "take",
            Transition::TakeAll => "take-all",
            Transition::TakeOnce => "take-once",
            Transition::Settle => "settle",
            Transition::Extend => "extend",
            Transition::Status => "status",
            Transition::Reservations => "reservations",
            Transition::Ledger => "ledger",
        }
    }

    pub fn script(self) -> &'static Script {
        static SCRIPTS: [OnceBox<Script>; Transition::ALL.len()] = [const { OnceBox::new() }; Transition::ALL.len()];
        SCRIPTS[self as usize].get_or_init(|| Box::new(Script::new(CONSTANTS, self.parts())))
    }

    fn parts(self) -> &'static [&'static str] {
        const QUICK: &str = include_str!("../../scripts/stock/quick.lua");
        const TAKE: &str = include_str!("../../scripts/stock/take.lua");
        const MEMBERS: &str = include_str!("../../scripts/stock/members.lua");
        const RIGHTS: &str = include_str!("../../scripts/stock/rights.lua");
        const OPEN: &str = include_str!("../../scripts/stock/open.lua");
        const CLOSE: &str = include_str!("../../scripts/stock/close.lua");
        const RESTOCK: &str = include_str!("../../scripts/stock/restock.lua");
        const SETTLE: &str = include_str!("../../scripts/stock/settle.lua");
        const EXTEND: &str = include_str!("../../scripts/stock/extend.lua");
        const STATUS: &str = include_str!("../../scripts/stock/status.lua");
        const RESERVATIONS: &str = include_str!("../../scripts/stock/reservations.lua");
        const LEDGER: &str = include_str!("../../scripts/stock/ledger.lua");
        match self {
            Transition::Open => &[FORM, LOAD, SAVE, PRIZES, RELEASE, RIGHTS, OPEN],
            Transition::Close => &[FORM, LOAD, SAVE, PRIZES, RELEASE, CLOSE],
            Transition::Restock => &[FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, RESTOCK, RETURN],
            Transition::Take => &[QUICK, FORM, LOAD, SAVE, PRIZES, RELEASE, TAKE, RETURN],
            Transition::TakeAll => &[FORM, LOAD, SAVE, PRIZES, RELEASE, TAKE, RETURN],
            Transition::TakeOnce => &[FORM, RECALL, REMEMBER, LOAD, SAVE, PRIZES, RELEASE, TAKE, MEMBERS, RETURN],
            Transition::Settle => &[FORM, LOAD, SAVE, PRIZES, RELEASE, SETTLE],
            Transition::Extend => &[FORM, LOAD, SAVE, PRIZES, RELEASE, EXTEND],
            Transition::Status => &[FORM, LOAD, SAVE, PRIZES, RELEASE, STATUS],
            Transition::Reservations => &[FORM, LOAD, PRIZES, RESERVATIONS],
            Transition::Ledger => &[LEDGER],
        }
    }
}

/// The scripts of stocks, with names such as `stock-take`.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let named =
        |transition: Transition| (format!("stock-{}", transition.name()), transition.script().text().to_owned());
    Transition::ALL.map(named).into()
}
