"""Faults that only other servers show: scripts as Lua 5.4 runs them."""

from __future__ import annotations

from mutant import LUA, RUST, Edit, Mutant

TESTS = ("vectors", "widest", "twin")
SUITES = ("lua54",)
MUTANTS = [
    Mutant(
        "Dragonfly is not asked for whole numbers",
        f"{RUST}/call/script.rs",
        '"--!df flags=legacy-float\\n"',
        '"-- df flags=legacy-float\\n"',
        suites=SUITES,
    ),
    Mutant(
        "numbers wrap around in Lua 5.4",
        f"{RUST}/limiter/compose.rs",
        'format!("{} + 0.0", ',
        'format!("tonumber({})", ',
        also=(
            Edit(f"{LUA}/limit/consume.lua", "ARGV[3] + 0.0", "tonumber(ARGV[3])"),
            Edit(f"{LUA}/clock.lua", "ARGV[1] + 0.0", "tonumber(ARGV[1])"),
        ),
        suites=SUITES,
    ),
    Mutant(
        "the field of a prize is called 1.0 in Lua 5.4",
        f"{LUA}/stock/prizes.lua",
        "return string.format('p%.0f', number)",
        "return 'p' .. number",
        suites=SUITES,
    ),
    Mutant(
        "several keys are decided by coroutines, which Dragonfly has not",
        f"{LUA}/limit/pause.lua",
        "if not has_coroutines then",
        "if has_coroutines == nil then",
        suites=SUITES,
    ),
    Mutant(
        "a script touches a key that is not declared",
        f"{LUA}/limit/reset.lua",
        "redis.call('DEL', KEY)",
        "redis.call('DEL', KEY, KEY .. '-')",
        suites=SUITES,
    ),
]
