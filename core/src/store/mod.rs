//! Where state lives: a Redis server, which runs the Lua, or this process, which runs the twins.

pub(crate) mod memory;
pub(crate) mod redis;
