//! Policies: what a user asks for, and the arithmetic of each algorithm.

pub(crate) mod algorithm;
pub(crate) mod policy;
