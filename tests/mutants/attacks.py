"""Faults that the attack must find by itself: one at least of each kind of story that it tells."""

from __future__ import annotations

from mutant import LUA, Edit, Mutant

TESTS: tuple[str, ...] = ()
MUTANTS = [
    Mutant(
        "a bucket gives back what it has filled again since it was held",
        f"{LUA}/limit/token_bucket.lua",
        "  if time > open or time == open and rest > part then time, rest = open, part end\n",
        "",
        suites=("attack",),
    ),
    Mutant(
        "a window with a shorter period ends a period from now, whenever that is",
        f"{LUA}/limit/fixed_window.lua",
        "math.min(stop_1, last_1 + period_1), 0",
        "math.min(stop_1, now + period_1), 0",
        suites=("attack",),
    ),
    Mutant(
        "an entry of a log that was damaged is believed",
        f"{LUA}/limit/sliding_log.lua",
        "elseif time_1 > last then",
        "elseif false then",
        also=Edit(
            f"{LUA}/limit/sliding_log.lua",
            "    if time <= now - period_1 or time > last then time = last end\n",
            "",
        ),
        suites=("attack",),
    ),
    Mutant(
        "an extension makes a lease shorter",
        f"{LUA}/lease/renew.lua",
        "math.max(deadline, now + ttl)",
        "now + ttl",
        suites=("attack",),
    ),
    Mutant(
        "a load that failed takes the stale value with it",
        f"{LUA}/single_flight/fail.lua",
        "if pause > 0 and e.kind ~= NOTHING and e.kind ~= ERROR then",
        "if pause > 0 and e.kind == ERROR then",
        suites=("attack",),
    ),
    Mutant(
        "what is held is sold at the very moment of its end",
        f"{LUA}/stock/settle.lua",
        "tonumber(till) > s.now",
        "tonumber(till) >= s.now",
        suites=("attack",),
    ),
]
