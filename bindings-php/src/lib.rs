//! The PHP extension `ratelimit`: the classes and functions of the namespace `Quotalock`, and nothing of their
//! behaviour, which is the crate `quotalock`.

#![allow(non_snake_case, reason = "the name of a parameter in Rust is its name in PHP, where named arguments use it")]

mod address;
mod advice;
mod argument;
mod argument_info;
mod cache;
mod call;
mod callback;
mod charges;
mod class;
mod client;
mod decision;
mod environment;
mod exception;
mod function;
mod hook;
mod http;
mod info;
mod ini;
mod inspection;
mod interface;
mod limiter;
mod load;
mod lock;
#[rustfmt::skip]
mod lock_makers;
mod locks;
mod metrics;
mod module;
mod once;
mod password;
mod policy;
mod property;
mod record;
mod registry;
mod request_locks;
mod reservation;
mod rule;
mod seen;
mod settings;
mod stock;
mod stock_answer;
mod stock_pairs;
mod testing;
mod unkept;
