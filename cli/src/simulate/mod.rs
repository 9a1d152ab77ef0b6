//! Replays of access logs through policies, in the time of the log.
//!
//! [`input`] finds lines, [`line`] what they say, [`client`] of whom (with [`json`], [`pattern`] and [`time`]), [`source`] the order of several
//! logs. [`run`] decides by the core's own rules ([`quotalock::Replay`]) and counts, over time in a [`series`]; [`need`] finds the
//! smallest limit. A [`report`] sums up; [`text`] and [`html`] tell it to people.

pub mod client;
pub mod html;
pub mod input;
pub mod json;
pub mod line;
pub mod need;
pub mod pattern;
pub mod plots;
pub mod report;
pub mod run;
pub mod series;
pub mod source;
pub mod text;
pub mod time;
