//! The scripts of limiters: one set per shape of policy, joined from constant fragments.

use once_cell::race::OnceBox;

use crate::algorithm;
use crate::policy::Policy;
use crate::script::Script;

const HEAD: &str = "local algorithms = {}\n";
const STATE: &str = include_str!("../../scripts/limit/state.lua");
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
        let mut fragments = vec![HEAD];
        let chosen = algorithm::ALL.iter().enumerate().filter(|(i, _)| shape & 1 << i != 0);
        fragments.extend(chosen.map(|(_, algorithm)| algorithm.definition().lua));
        fragments.push(STATE);
        let with = |transition| Script::new(&[&fragments[..], &[transition]].concat());
        Scripts { consume: with(CONSUME), refund: with(REFUND), block: with(BLOCK), reset: Script::new(&[RESET]) }
    }
}
