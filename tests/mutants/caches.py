"""Faults of caches and of once: who loads, what is stored, what is served, who is told."""

from __future__ import annotations

from mutant import LUA, RUST, Edit, Mutant

TESTS = ("cache", "cache_alone", "cache_away", "cache_kept", "stampede", "twin_flight")
MUTANTS = [
    Mutant(
        "two load at once",
        f"{LUA}/flight/look.lua",
        "if e.deadline > now then",
        "if e.deadline > now + 1000000 then",
        Edit(f"{RUST}/flight/look.rs", "if entry.is_leased(now) {", "if entry.is_leased(now + 1_000_000) {"),
    ),
    Mutant(
        "a late loader overwrites what is newer",
        f"{LUA}/flight/fill.lua",
        "elseif token > e.version and",
        "elseif",
        Edit(f"{RUST}/flight/fill.rs", "token > entry.version && ", ""),
    ),
    Mutant(
        "a token is good for ever",
        f"{LUA}/flight/fill.lua",
        " and now <= token + GOOD * ttl",
        "",
        Edit(f"{RUST}/flight/fill.rs", " && now <= token + GOOD * self.ttl", ""),
    ),
    Mutant(
        "an invalidation leaves the token of who loads",
        f"{LUA}/flight/invalidate.lua",
        "NOTHING, token, token, 0",
        "NOTHING, e.version, token, 0",
        Edit(
            f"{RUST}/flight/invalidate.rs",
            "(Kind::Nothing, token, token, 0)",
            "(Kind::Nothing, entry.version, token, 0)",
        ),
    ),
    Mutant(
        "a stale value is called fresh",
        f"{LUA}/flight/look.lua",
        "is_value and now >= over",
        "is_value and now > over",
        Edit(
            f"{RUST}/flight/look.rs", "now >= fresh_until;\n        let ahead", "now > fresh_until;\n        let ahead"
        ),
    ),
    Mutant(
        "a value that is over is served",
        f"{LUA}/flight/form.lua",
        "now >= e.made + fresh + stale",
        "now > e.made + fresh + stale",
        Edit(f"{RUST}/flight/entry.rs", "now >= entry.over()", "now > entry.over()"),
    ),
    Mutant(
        "who waits gives up before the lease of one who died is over",
        f"{RUST}/cache/place.rs",
        "self.lease + DEFAULT_WAIT_AFTER_LEASE",
        "DEFAULT_WAIT_AFTER_LEASE",
    ),
    Mutant(
        "leases of several keys that nobody heard of are left",
        f"{RUST}/cache/getting.rs",
        "Leave::send_all(self.readers.iter_mut().filter_map(Reader::take_leave), here);",
        "self.readers.iter_mut().for_each(|reader| drop(reader.take_leave()));",
    ),
    Mutant(
        "each of several values waits for a connection of its own",
        f"{RUST}/store/redis/pipeline.rs",
        "while self.begin_one().is_some() {}",
        "",
    ),
    Mutant(
        "a failure takes the value that is there",
        f"{LUA}/flight/fail.lua",
        "if pause > 0 and e.kind ~= NOTHING and e.kind ~= ERROR then",
        "if pause > 0 and e.kind == ERROR then",
        Edit(f"{RUST}/flight/fail.rs", "entry.kind.is_value()", "entry.kind == Kind::Error"),
    ),
    Mutant(
        "whoever's lease is over ends that of the next",
        f"{LUA}/flight/lease.lua",
        "return e.deadline > now and e.owner == id",
        "return e.deadline > now",
        Edit(f"{RUST}/flight/entry.rs", "self.is_leased(now) && self.owner == *id", "self.is_leased(now)"),
    ),
    Mutant(
        "who claims while one runs is the first",
        f"{LUA}/flight/claim.lua",
        "if e.deadline > now then",
        "if e.deadline > now + 86400000000 then",
        Edit(
            f"{RUST}/flight/claim.rs",
            "entry.kind.is_value() || entry.is_leased(now) {",
            "entry.kind.is_value() || entry.is_leased(now + 86_400_000_000) {",
        ),
    ),
    Mutant(
        "an entry is written without a TTL",
        f"{LUA}/flight/form.lua",
        "value or head, 'PX', kept)",
        "value or head)",
    ),
    Mutant(
        "nobody who waits for a value is told",
        f"{LUA}/flight/wait.lua",
        "redis.call('PUBLISH', prefix ..",
        "local _ = (prefix ..",
    ),
    Mutant(
        "a full server keeps a lease",
        f"{LUA}/flight/form.lua",
        "if freeing then redis.call('PEXPIRE'",
        "if freeing and virtual then redis.call('PEXPIRE'",
    ),
    Mutant(
        "a loader that drops its ticket keeps the others waiting",
        f"{RUST}/cache/ticket.rs",
        "if *self.used.get_mut() ||",
        "if true || *self.used.get_mut() ||",
    ),
    Mutant("the result of a run is not stored", f"{RUST}/cache/once.rs", "(ttl, ttl, When", "(0, ttl, When"),
    Mutant("that a run gave none is not stored", f"{RUST}/cache/once.rs", "(ttl, ttl, When", "(ttl, 0, When"),
    Mutant(
        "that there is no such thing is not stored",
        f"{RUST}/cache/mod.rs",
        "negative.unwrap_or(fresh)",
        "negative.unwrap_or(0)",
    ),
    Mutant(
        "that there is no such thing is stored as an empty value",
        f"{RUST}/flight/fill.rs",
        "if self.value.is_some() { Kind::Value }",
        "if self.value.is_none() { Kind::Value }",
    ),
    Mutant(
        "of a crowd in one process everybody asks",
        f"{RUST}/cache/readers.rs",
        "match first.get(&waiter.topic) {",
        "match first.get(&waiter.topic).filter(|_| false) {",
    ),
    Mutant(
        "nobody who waits is told of a value",
        f"{LUA}/flight/fill.lua",
        "if ended then wake(e, KEYS[2], prefix) end",
        "",
    ),
    Mutant(
        "nobody who waits is told of a failure",
        f"{LUA}/flight/fail.lua",
        "if ended then wake(e, KEYS[2], prefix) end",
        "",
    ),
    Mutant(
        "nobody who waits is told of an invalidation", f"{LUA}/flight/invalidate.lua", "wake(e, KEYS[2], ARGV[4])", ""
    ),
    Mutant(
        "a loader that died is waited for for ever",
        f"{LUA}/flight/look.lua",
        "if e.deadline > now then",
        "if e.deadline > 0 then",
        Edit(f"{RUST}/flight/look.rs", "if entry.is_leased(now) {", "if entry.deadline > 0 {"),
    ),
    Mutant(
        "who claims later replaces what the first gave",
        f"{LUA}/flight/claim.lua",
        "if e.kind ~= NOTHING and e.kind ~= ERROR then",
        "if false then",
        Edit(f"{RUST}/flight/claim.rs", "if entry.kind.is_value() || entry", "if entry"),
    ),
    Mutant(
        "a claim that is sent again is not the first",
        f"{LUA}/flight/claim.lua",
        "e.deadline == 0 and e.owner == id",
        "false",
        Edit(f"{RUST}/flight/claim.rs", "entry.deadline == 0 && entry.owner == self.id", "false"),
    ),
    Mutant(
        "all refresh early, not one",
        f"{LUA}/flight/look.lua",
        "if e.deadline > now then",
        "if e.deadline > now and not early then",
        Edit(f"{RUST}/flight/look.rs", "if entry.is_leased(now) {", "if entry.is_leased(now) && !early {"),
    ),
    Mutant(
        "nobody refreshes early",
        f"{LUA}/flight/look.lua",
        "local early = is_value",
        "local early = false",
        Edit(f"{RUST}/flight/look.rs", "let early = entry", "let early = now == 0 && entry"),
    ),
    Mutant(
        "of several keys those are loaded that are there",
        f"{LUA}/flight/look.lua",
        "(e.kind == NOTHING or stale",
        "(#KEYS > 2 or e.kind == NOTHING or stale",
        Edit(f"{RUST}/flight/look.rs", "(entry.kind == Kind::Nothing || stale", "(self.entries.len() > 1 || stale"),
    ),
    Mutant(
        "a failure is remembered for ever",
        f"{LUA}/flight/fail.lua",
        "= ERROR, now, pause, 0",
        "= ERROR, now, pause * 10000, 0",
        Edit(f"{RUST}/flight/fail.rs", "(self.pause, 0)", "(self.pause * 10_000, 0)"),
    ),
    Mutant(
        "a failure beside a stale value is remembered for ever",
        f"{LUA}/flight/look.lua",
        "now >= e.failed + e.pause",
        "e.failed == 0",
        Edit(f"{RUST}/flight/look.rs", "now >= entry.failed + entry.pause", "entry.failed == 0"),
    ),
    Mutant(
        "an entry is forgotten before the token of its lease",
        f"{LUA}/flight/form.lua",
        "e.deadline + (GOOD - 1) * e.ttl",
        "e.deadline",
        Edit(f"{RUST}/flight/entry.rs", "self.deadline + (GOOD - 1) * self.ttl", "self.deadline"),
    ),
    Mutant(
        "an entry is forgotten before a token whose lease was taken",
        f"{LUA}/flight/lease.lua",
        "e.guard = math.max(e.guard, good_until(e))",
        "",
        Edit(f"{RUST}/flight/entry.rs", "self.guard = self.guard.max(self.good_until(now));", ""),
    ),
    Mutant(
        "a token that an entry never gave stores",
        f"{LUA}/flight/fill.lua",
        "(token <= e.last or e.last == 0)",
        "true",
        Edit(f"{RUST}/flight/fill.rs", "&& is_ours", "&& (is_ours || now > 0)"),
    ),
]
