//! Counters of what this process decided: by names that developers choose, never by key.

mod decisions;

pub(crate) use crate::base::outcome::Outcome;
pub(crate) use decisions::DecisionCounters;
