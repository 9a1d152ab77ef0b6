//! The scripts of limiters: one set per shape of policy, joined from constant fragments.

use once_cell::race::OnceBox;

use crate::algorithm;
use crate::policy::Policy;
use crate::script::Script;

const LOAD: &str = include_str!("../../scripts/limit/load.lua");
const FINISH: &str = include_str!("../../scripts/limit/finish.lua");
const CONSUME: &str = include_str!("../../scripts/limit/consume.lua");
const REFUND: &str = include_str!("../../scripts/limit/refund.lua");
const BLOCK: &str = include_str!("../../scripts/limit/block.lua");
const RESET: &str = include_str!("../../scripts/limit/reset.lua");

const SHAPES: usize = 1 << algorithm::ALL.len();

/// The scripts for policies that use the same algorithms. The set is bounded: a server never holds more than one script
/// per transition for each combination of algorithms.
pub(super) struct Scripts {
    pub consume: Script,
    pub refund: Script,
    pub block: Script,
    pub reset: Script,
}

// Never blocks, so a fork in the middle of making one leaves nothing locked.
static ALL: [OnceBox<Scripts>; SHAPES] = [const { OnceBox::new() }; SHAPES];

impl Scripts {
    /// The scripts that know the algorithms of this policy and no others.
    pub fn for_policy(policy: &Policy) -> &'static Scripts {
        let used = |i: &usize| policy.rules().iter().any(|r| r.algorithm() == algorithm::ALL[*i]);
        let shape = (0..algorithm::ALL.len()).filter(used).fold(0, |shape, i| shape | 1 << i);
        ALL[shape].get_or_init(|| Box::new(Scripts::make(shape)))
    }

    fn make(shape: usize) -> Scripts {
        // Ids run from 1 without a gap: a state of an algorithm that this shape does not know is still ours.
        let head = format!("local algorithms, KINDS = {{}}, {}\n", algorithm::ALL.len());
        let mut fragments = vec![head.as_str()];
        let chosen = algorithm::ALL.iter().enumerate().filter(|(i, _)| shape & 1 << i != 0);
        fragments.extend(chosen.map(|(_, algorithm)| algorithm.definition().lua));
        fragments.push(LOAD);
        let with = |transition| Script::new(&[&fragments[..], &[transition, FINISH]].concat());
        Scripts { consume: with(CONSUME), refund: with(REFUND), block: with(BLOCK), reset: Script::new(&[RESET]) }
    }
}

/// Every script with a name that tells its transition and algorithms, such as `consume-fixed-window`.
pub fn scripts() -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    for (shape, cell) in ALL.iter().enumerate().skip(1) {
        let of_shape = cell.get_or_init(|| Box::new(Scripts::make(shape)));
        let chosen = algorithm::ALL.iter().enumerate().filter(|(i, _)| shape & 1 << i != 0);
        let algorithms: Vec<&str> = chosen.map(|(_, algorithm)| algorithm.name()).collect();
        let transitions = [("consume", &of_shape.consume), ("refund", &of_shape.refund), ("block", &of_shape.block)];
        for (transition, script) in transitions {
            all.push((format!("{transition}-{}", algorithms.join("-")), script.text()));
        }
        if shape == 1 {
            all.push(("reset".into(), of_shape.reset.text()));
        }
    }
    all
}
