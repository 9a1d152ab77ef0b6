//! The scripts of limiters: one set for each sequence of algorithms, and one for each set of them that are charged together.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use once_cell::race::OnceBox;

use super::compose::{FIRST_ARGUMENT, Form};
use crate::algorithm::{self, Algorithm};
use crate::policy::Policy;
use crate::script::Script;

const LOAD: &str = include_str!("../../scripts/limit/load.lua");
const FINISH: &str = include_str!("../../scripts/limit/finish.lua");
const RECALL: &str = include_str!("../../scripts/limit/recall.lua");
const DESCRIBE: &str = include_str!("../../scripts/limit/describe.lua");
const REMEMBER: &str = include_str!("../../scripts/limit/remember.lua");
const CHARGE: &str = include_str!("../../scripts/limit/charge.lua");
const ALL: &str = include_str!("../../scripts/limit/all.lua");
const QUEUE: &str = include_str!("../../scripts/limit/queue.lua");
const WRITE: &str = include_str!("../../scripts/limit/write.lua");
const RETURN: &str = "return reply\n";

/// What is done with a limiter's key; a script each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Consume,
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
    const ALL: [Transition; 9] = [
        Transition::Consume,
        Transition::ConsumeOnce,
        Transition::UpTo,
        Transition::Refund,
        Transition::RefundOnce,
        Transition::Block,
        Transition::Reserve,
        Transition::Settle,
        Transition::Reset,
    ];

    fn name(self) -> &'static str {
        match self {
            Transition::Consume => "consume",
            Transition::ConsumeOnce => "consume-once",
            Transition::UpTo => "up-to",
            Transition::Refund => "refund",
            Transition::RefundOnce => "refund-once",
            Transition::Block => "block",
            Transition::Reserve => "reserve",
            Transition::Settle => "settle",
            Transition::Reset => "reset",
        }
    }

    fn parts(self) -> &'static [&'static str] {
        const CONSUME: &str = include_str!("../../scripts/limit/consume.lua");
        const UP_TO: &str = include_str!("../../scripts/limit/up_to.lua");
        const REFUND: &str = include_str!("../../scripts/limit/refund.lua");
        const BLOCK: &str = include_str!("../../scripts/limit/block.lua");
        const RESERVE: &str = include_str!("../../scripts/limit/reserve.lua");
        const SETTLE: &str = include_str!("../../scripts/limit/settle.lua");
        const RESET: &str = include_str!("../../scripts/limit/reset.lua");
        match self {
            Transition::Consume => &[LOAD, CONSUME, FINISH, RETURN],
            Transition::ConsumeOnce => &[RECALL, QUEUE, LOAD, CONSUME, FINISH, DESCRIBE, REMEMBER, WRITE, RETURN],
            Transition::UpTo => &[LOAD, UP_TO, FINISH, "reply[#reply + 1] = taken\n", RETURN],
            Transition::Refund => &[LOAD, REFUND, FINISH, RETURN],
            Transition::RefundOnce => &[RECALL, QUEUE, LOAD, REFUND, FINISH, DESCRIBE, REMEMBER, WRITE, RETURN],
            Transition::Block => &[LOAD, BLOCK, FINISH, RETURN],
            Transition::Reserve => &[LOAD, RESERVE, FINISH, RETURN],
            Transition::Settle => &[LOAD, SETTLE, FINISH, "reply[#reply + 1] = settled\n", RETURN],
            Transition::Reset => &[RESET],
        }
    }
}

/// Which algorithms a policy's rules use, in their order.
pub(super) type Shape = Box<[u8]>;

/// What was made in this process. Its lock is only ever tried: one that a fork left taken costs the making, nothing else.
static MADE: Mutex<Option<Made>> = Mutex::new(None);

#[derive(Default)]
struct Made {
    of_one_key: HashMap<Shape, Arc<Scripts>>,
    of_several: HashMap<Vec<Shape>, Arc<Script>>,
}

/// The scripts for policies whose rules use the same algorithms in the same order.
pub(super) struct Scripts {
    algorithms: Vec<Algorithm>,
    made: [OnceBox<Script>; Transition::ALL.len()],
}

impl Scripts {
    pub fn for_policy(policy: &Policy) -> Arc<Scripts> {
        let algorithms: Vec<Algorithm> = policy.rules().iter().map(|rule| rule.algorithm()).collect();
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

    pub fn of(&self, transition: Transition) -> &Script {
        self.made[transition as usize].get_or_init(|| Box::new(Script::new(&[&self.compose(transition)])))
    }

    fn compose(&self, transition: Transition) -> String {
        let mut text = String::new();
        let queued = transition.parts().contains(&QUEUE);
        let form = Form::new(&self.algorithms, "", FIRST_ARGUMENT, queued);
        transition.parts().iter().for_each(|part| form.append(&mut text, part, ""));
        text
    }
}

fn shape(algorithms: &[Algorithm]) -> Shape {
    algorithms.iter().map(|a| a.definition().id).collect()
}

/// The script that charges several keys, whose policies have these forms.
pub(super) fn of_several(forms: &[&Scripts], once: bool) -> Arc<Script> {
    let make = || {
        let (mut text, once_for_all) = (String::new(), Form::none());
        if once {
            once_for_all.append(&mut text, RECALL, "");
        }
        once_for_all.append(&mut text, QUEUE, "");
        text.push_str("local forms = {}\n");
        for (n, form) in forms.iter().enumerate() {
            let form = Form::new(&form.algorithms, "at + ", 2, true);
            let size = 4 + form.argument_count();
            let _ = writeln!(text, "forms[{}] = {{size = {size}, decide = function(key, at)", n + 1);
            let mut inner = String::new();
            let described = if once { DESCRIBE } else { "" };
            let parts = [LOAD, CHARGE, FINISH, described, RETURN];
            parts.iter().for_each(|part| form.append(&mut inner, part, "  "));
            text.push_str(&inner.replace("KEYS[1]", "key"));
            text.push_str("end}\n");
        }
        once_for_all.append(&mut text, ALL, "");
        if once {
            once_for_all.append(&mut text, REMEMBER, "");
        }
        once_for_all.append(&mut text, WRITE, "");
        text.push_str(RETURN);
        Arc::new(Script::new(&[&text]))
    };
    let mut key: Vec<Shape> = forms.iter().map(|form| shape(&form.algorithms)).collect();
    key.extend(once.then(Shape::default));
    match MADE.try_lock() {
        Ok(mut made) => made.get_or_insert_default().of_several.entry(key).or_insert_with(make).clone(),
        Err(_) => make(),
    }
}

/// The scripts of limiters, with names that tell their transition and algorithms, such as `consume-fixed-window`: those of every policy of
/// one rule, and of one with a rule of each algorithm.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let forms: Vec<Scripts> = (algorithm::ALL.map(|a| vec![a]).into_iter().chain([algorithm::ALL.to_vec()]))
        .map(|algorithms| Scripts { algorithms, made: Default::default() })
        .collect();
    for form in &forms {
        let algorithms: Vec<&str> = form.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        for transition in Transition::ALL {
            let name = format!("{}-{}", transition.name(), algorithms.join("-"));
            all.push((name, form.of(transition).text().to_owned()));
        }
    }
    let forms: Vec<&Scripts> = forms.iter().collect();
    all.push(("consume-all".into(), of_several(&forms, false).text().to_owned()));
    all.push(("consume-all-once".into(), of_several(&forms, true).text().to_owned()));
    all
}
