//! The scripts of limiters: one set for each sequence of algorithms, and one for each set of them that are charged together.

mod compose;
mod looped;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use once_cell::race::OnceBox;

use self::compose::{FIRST_ARGUMENT, Form};
use super::holds::{self, Unsettled};
use super::{codec, request_memory};
use crate::client::MAX_REQUEST_MEMORY;
use crate::limiter::algorithm::{self, Algorithm, log};
use crate::limiter::policy::{MAX_LIMIT, MAX_PERIOD, MAX_RULES, Policy};
use wire::base::format::FORMAT_OF_SCRIPTS;
use wire::call::lua::{Constants, EXACT, TEST_TTL};
use wire::call::script::Script;

const READ: &str = include_str!("read.lua");
const CONSUME_SIMPLE: &str = include_str!("consume_simple.lua");
const LOAD: &str = include_str!("load.lua");
const FINISH: &str = include_str!("finish.lua");
const ANSWER: &str = include_str!("answer.lua");
const REPLY: &str = include_str!("reply.lua");
const RECALL: &str = include_str!("recall.lua");
const DESCRIBE: &str = include_str!("describe.lua");
const REMEMBER: &str = include_str!("remember.lua");
const CHARGE: &str = include_str!("charge.lua");
const ALL: &str = include_str!("all.lua");
const ALL_SIMPLE: &str = include_str!("all_simple.lua");
const CHARGE_SIMPLE: &str = include_str!("charge_simple.lua");
const MANY: &str = include_str!("many.lua");
const PAUSE: &str = include_str!("pause.lua");
const QUEUE: &str = include_str!("queue.lua");
const WRITE: &str = include_str!("write.lua");
const CONSUME: &str = include_str!("consume.lua");
const UP_TO: &str = include_str!("up_to.lua");
const REFUND: &str = include_str!("refund.lua");
const BLOCK: &str = include_str!("block.lua");
const RESERVE: &str = include_str!("reserve.lua");
const SETTLE: &str = include_str!("settle.lua");
const RETURN: &str = "return reply\n";

/// The numbers that these scripts and the twins know by a name.
const CONSTANTS: &Constants = &[
    FORMAT_OF_SCRIPTS,
    ("EXACT", EXACT),
    ("MOST", MAX_LIMIT),
    ("LONGEST", MAX_PERIOD),
    ("MOST_RULES", MAX_RULES as u64),
    ("MOST_RECORDS", codec::MOST as u64),
    ("MOST_OTHERS", codec::MOST_OTHERS as u64),
    ("GIVEN", codec::GIVEN as u64),
    ("PREFIX", codec::PREFIX as u64),
    ("PREFIX_END", codec::PREFIX as u64 - 1),
    ("BLOCK_RECORD", codec::BLOCK as u64),
    ("LOG_RECORD", codec::LOG as u64),
    ("LOG_SIZE", codec::LOG_SIZE),
    ("HOLDS_RECORD", codec::HOLDS as u64),
    ("HOLD_HEAD", holds::SIZE as u64),
    ("FILLED_SIZE", holds::FILLED_SIZE as u64),
    ("EVERY_MARK", holds::ALL_MARKS),
    ("RETURNED", Unsettled::Returned as u64),
    ("SETTLED", holds::SETTLED as u64),
    ("SETTLED_FOR", holds::SETTLED_FOR),
    ("WRAP", log::WRAP),
    ("LOG_MOST", log::LOG_MOST),
    ("ENTRY", log::ENTRY),
    ("MOST_FIELDS", request_memory::MOST_FIELDS as u64),
    ("LONGEST_MEMORY", MAX_REQUEST_MEMORY.as_micros() as u64),
    ("TEST_TTL", TEST_TTL),
];

/// What is done with a limiter's key; a script each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Consume,
    /// `Consume` of several keys, each decided by itself.
    ConsumeMany,
    /// As `Consume`, remembering the request.
    ConsumeOnce,
    UpTo,
    Refund,
    /// As `Refund`, remembering the request.
    RefundOnce,
    Block,
    Reserve,
    Settle,
    Reset,
}

impl Transition {
    /// Each with its name and the parts of its script, in the order of their numbers.
    const ALL: [(Transition, &str, &[&str]); 10] = [
        (Transition::Consume, "consume", &[READ, CONSUME_SIMPLE, LOAD, CONSUME, FINISH, ANSWER]),
        (Transition::ConsumeMany, "consume-many", &[READ, CONSUME_SIMPLE, LOAD, CONSUME, FINISH, ANSWER]),
        (
            Transition::ConsumeOnce,
            "consume-once",
            &[RECALL, QUEUE, READ, LOAD, CONSUME, FINISH, REPLY, DESCRIBE, REMEMBER, WRITE, RETURN],
        ),
        (Transition::UpTo, "up-to", &[READ, LOAD, UP_TO, FINISH, REPLY, "reply[#reply + 1] = taken\n", RETURN]),
        (Transition::Refund, "refund", &[READ, LOAD, REFUND, FINISH, ANSWER]),
        (
            Transition::RefundOnce,
            "refund-once",
            &[RECALL, QUEUE, READ, LOAD, REFUND, FINISH, REPLY, DESCRIBE, REMEMBER, WRITE, RETURN],
        ),
        (Transition::Block, "block", &[READ, LOAD, BLOCK, FINISH, ANSWER]),
        (Transition::Reserve, "reserve", &[READ, LOAD, RESERVE, FINISH, ANSWER]),
        (Transition::Settle, "settle", &[READ, LOAD, SETTLE, FINISH, REPLY, "reply[#reply + 1] = settled\n", RETURN]),
        (Transition::Reset, "reset", &[include_str!("reset.lua")]),
    ];

    fn parts(self) -> &'static [&'static str] {
        Transition::ALL[self as usize].2
    }
}

/// Which algorithms a policy's rules use, in their order; none stands for any.
pub(super) type Shape = Box<[u8]>;

/// The most rules of several algorithms for which scripts are written out.
const MOST_MIXED: usize = 3;
/// The most algorithms of the rules that are charged together for which scripts are written out.
const MOST_TOGETHER: usize = 2;

/// What was made in this process. Its lock is only ever tried: one that a fork left taken costs the making, nothing else.
static MADE: Mutex<Option<ScriptCache>> = Mutex::new(None);

#[derive(Default)]
struct ScriptCache {
    of_one_key: HashMap<Shape, Arc<Scripts>>,
    of_several: HashMap<Vec<Shape>, Arc<Script>>,
}

/// The scripts for policies whose rules use the same algorithms in the same order; those of no algorithms are for every
/// policy: what is rarer than that is not written out, so that neither a server nor this process ever holds many of them.
pub(super) struct Scripts {
    algorithms: Vec<Algorithm>,
    made: [OnceBox<Script>; Transition::ALL.len()],
}

impl Scripts {
    pub fn for_policy(policy: &Policy) -> Arc<Scripts> {
        let mut algorithms: Vec<Algorithm> = policy.rules().iter().map(|rule| rule.algorithm()).collect();
        if algorithms.len() > MOST_MIXED && algorithms.iter().any(|algorithm| *algorithm != algorithms[0]) {
            algorithms.clear();
        }
        Scripts::for_algorithms(algorithms)
    }

    /// For every policy.
    fn for_all() -> Arc<Scripts> {
        Scripts::for_algorithms(Vec::new())
    }

    fn for_algorithms(algorithms: Vec<Algorithm>) -> Arc<Scripts> {
        let make = || Arc::new(Scripts { algorithms: algorithms.clone(), made: Default::default() });
        match MADE.try_lock() {
            Ok(mut made) => {
                made.get_or_insert_default().of_one_key.entry(shape(&algorithms)).or_insert_with(make).clone()
            }
            Err(_) => make(),
        }
    }

    /// Which algorithms, in their order, as their ids.
    pub fn shape(&self) -> Shape {
        shape(&self.algorithms)
    }

    pub fn script(&self, transition: Transition) -> &Script {
        self.made[transition as usize].get_or_init(|| Box::new(Script::new(CONSTANTS, &[&self.compose(transition)])))
    }

    fn compose(&self, transition: Transition) -> String {
        let mut text = String::new();
        let queued = transition.parts().contains(&QUEUE);
        if self.algorithms.is_empty() && transition != Transition::Reset {
            let _ = writeln!(text, "local at = {}", FIRST_ARGUMENT - 2);
        }
        let form = self.form("", FIRST_ARGUMENT, queued);
        if transition == Transition::ConsumeMany {
            let form = form.of_key("key");
            text.push_str("local function decide(key)\n");
            self.parts(transition).for_each(|part| form.append(&mut text, part, "  "));
            text.push_str("end\n");
            form.append(&mut text, MANY, "");
            return text;
        }
        for part in self.parts(transition) {
            if part == RECALL {
                let denies = transition == Transition::RefundOnce;
                let _ = writeln!(text, "local memory\ndo\nlocal whose, denies = nil, {denies}");
                form.append(&mut text, part, "  ");
                text.push_str("end\n");
                continue;
            }
            form.append(&mut text, part, "");
        }
        text
    }

    /// The parts of a transition's script. The usual cases are told apart for one rule only.
    fn parts(&self, transition: Transition) -> impl Iterator<Item = &'static str> {
        let simple = self.algorithms.len() == 1;
        transition.parts().iter().copied().filter(move |part| simple || *part != CONSUME_SIMPLE)
    }

    fn form(&self, base: &'static str, first: usize, queued: bool) -> Form {
        match self.algorithms.is_empty() {
            true => Form::looped(queued),
            false => Form::new(&self.algorithms, base, first, queued),
        }
    }
}

fn shape(algorithms: &[Algorithm]) -> Shape {
    algorithms.iter().map(|a| a.definition().id).collect()
}

/// The script that charges several keys by policies with these scripts, and which of its forms each of them has, from 1.
pub(super) fn of_several(policies: &[&Arc<Scripts>], once: bool) -> (Arc<Script>, Vec<usize>) {
    // In an order of their own, so that the same set of policies needs the same script.
    let mut forms: Vec<Arc<Scripts>> = policies.iter().map(|scripts| (*scripts).clone()).collect();
    forms.sort_by_key(|form| form.shape());
    forms.dedup_by_key(|form| form.shape());
    if forms.len() > MOST_TOGETHER || forms.iter().any(|form| form.algorithms.len() != 1) {
        forms = vec![Scripts::for_all()];
    }
    let place =
        |scripts: &&Arc<Scripts>| 1 + forms.iter().position(|form| form.shape() == scripts.shape()).unwrap_or_default();
    let places = policies.iter().map(place).collect();
    (written_together(&forms, once), places)
}

/// Writes the usual cases of several charges out, where rules without a log are.
fn append_simple(text: &mut String, forms: &[Arc<Scripts>]) {
    let simple = |form: &Scripts| form.algorithms.iter().any(|algorithm| !algorithm.has_log());
    let (Some((before, after)), true) =
        (ALL_SIMPLE.split_once("      --( forms\n"), forms.iter().any(|form| simple(form)))
    else {
        return;
    };
    Form::none().append(text, before, "");
    let mut keyword = "if";
    for (n, form) in forms.iter().enumerate().filter(|(_, form)| simple(form)) {
        let _ = writeln!(text, "   {keyword} form == '{}' then", n + 1);
        form.form("at + ", 2, true).of_key("KEYS[n]").append(text, CHARGE_SIMPLE, "        ");
        keyword = "elseif";
    }
    text.push_str("   end\n");
    Form::none().append(text, after, "");
}

fn written_together(forms: &[Arc<Scripts>], once: bool) -> Arc<Script> {
    let make = || {
        let (mut text, once_for_all) = (String::new(), Form::none());
        if once {
            text.push_str("local memory\ndo\nlocal whose, denies = tonumber(ARGV[#ARGV - 1]), true\n");
            once_for_all.append(&mut text, RECALL, "  ");
            text.push_str("end\n");
        }
        if !once {
            append_simple(&mut text, forms);
        }
        once_for_all.append(&mut text, QUEUE, "");
        once_for_all.append(&mut text, PAUSE, "");
        text.push_str("local forms = {}\n");
        for (n, form) in forms.iter().enumerate() {
            let form = form.form("at + ", 2, true);
            let form = form.of_key("key");
            let _ = writeln!(text, "forms[{}] = function(key, at)", n + 1);
            let described = if once { DESCRIBE } else { "" };
            let parts = [READ, LOAD, CHARGE, FINISH, REPLY, described, RETURN];
            parts.iter().for_each(|part| form.append(&mut text, part, "  "));
            text.push_str("end\n");
        }
        once_for_all.append(&mut text, ALL, "");
        if once {
            once_for_all.append(&mut text, REMEMBER, "");
        }
        once_for_all.append(&mut text, WRITE, "");
        text.push_str(RETURN);
        Arc::new(Script::new(CONSTANTS, &[&text]))
    };
    let mut key: Vec<Shape> = forms.iter().map(|form| shape(&form.algorithms)).collect();
    key.extend(once.then(Shape::default));
    match MADE.try_lock() {
        Ok(mut made) => made.get_or_insert_default().of_several.entry(key).or_insert_with(make).clone(),
        Err(_) => make(),
    }
}

/// The scripts of limiters, with names that tell their transition and algorithms, such as `consume-fixed-window`: those of
/// every policy of one rule, of one with a rule of each algorithm, and of any.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let several = [algorithm::ALL.to_vec(), Vec::new()];
    for algorithms in algorithm::ALL.map(|a| vec![a]).into_iter().chain(several) {
        let form = Scripts { algorithms, made: Default::default() };
        let algorithms: Vec<&str> = form.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        let name = if algorithms.is_empty() { "any".to_owned() } else { algorithms.join("-") };
        for (transition, what, _) in Transition::ALL {
            all.push((format!("{what}-{name}"), form.script(transition).text().to_owned()));
        }
    }
    let written_out = [Algorithm::FIXED_WINDOW, Algorithm::SLIDING_LOG].map(|a| Scripts::for_algorithms(vec![a]));
    for (name, forms) in [("any", vec![Scripts::for_all()]), ("fixed-window-sliding-log", written_out.to_vec())] {
        all.push((format!("consume-all-{name}"), written_together(&forms, false).text().to_owned()));
        all.push((format!("consume-all-once-{name}"), written_together(&forms, true).text().to_owned()));
    }
    all
}
