//! The call that adds a report to the stream: `append.lua`.

use std::slice;

use super::entry::Report;
use super::{MAX_REPORTS, REPORTS_KEPT};
use wire::call::lua::Constants;
use wire::call::prelude::*;
use wire::call::script::NamedScript;

const CONSTANTS: &Constants = &[("MOST", MAX_REPORTS), ("KEPT", REPORTS_KEPT / 1_000)];

static APPEND: NamedScript = NamedScript::new("reports-append", CONSTANTS, &[include_str!("append.lua")]);

/// The script of reports.
pub(crate) fn scripts() -> Vec<(String, String)> {
    vec![APPEND.listed()]
}

pub(crate) struct Append {
    /// The Redis key of the stream.
    pub key: Vec<u8>,
    /// Fields and values.
    fields: Vec<Vec<u8>>,
}

impl Append {
    pub fn new(key: Vec<u8>, report: &Report) -> Append {
        Append { key, fields: report.fields() }
    }
}

impl Command for Append {
    fn feature(&self) -> Feature {
        Feature::Report
    }

    fn frame(&self) -> Frame<'_> {
        // Sent again it would count twice.
        Frame {
            script: &APPEND,
            keys: slice::from_ref(&self.key),
            effect: Effect::Once,
            name: ("report of", "decisions"),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        self.fields.iter().for_each(|field| args.bytes(field));
    }

    /// Memory keeps no reports, since nobody else could read them: clients of it make none.
    fn twin(&self, _space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        Ok(vec![int(1), int(now), int(0)])
    }
}
