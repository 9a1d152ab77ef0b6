"""Faults of locks and semaphores: who holds, until when, under which token, who is told."""

from __future__ import annotations

from mutant import LUA, RUST, Edit, Mutant

BOTH = ("core", "history")
TESTS = ("locks", "lease_wake", "lock_hints", "lock_away", "lock_close", "lock_waits", "quorum", "twin_lease") + (
    "lacking_states",
)
MUTANTS = [
    Mutant(
        "who may not store a table deletes it",
        f"{LUA}/lease/save.lua",
        "      local done = t.freeing",
        "      if t.freeing then redis.call('DEL', t.key) end\n      local done = t.freeing",
    ),
    Mutant(
        "a lease lasts for a microsecond too long",
        f"{LUA}/lease/form.lua",
        "local over = deadline <= now",
        "local over = deadline < now",
        Edit(f"{RUST}/state/lease/table.rs", "held.deadline > now", "held.deadline >= now"),
    ),
    Mutant(
        "a lease from before the clock went back is not shortened",
        f"{LUA}/lease/form.lua",
        "math.min(deadline, now + ttl), math.min(since, now), true",
        "deadline, math.min(since, now), true",
        Edit(f"{RUST}/state/lease/table.rs", "clamp(&mut held.deadline, now + held.ttl) | ", ""),
    ),
    Mutant(
        "an id in other bytes counts as a waiter",
        f"{LUA}/lease/find.lua",
        "while at and at % size ~= 1 do",
        "while at and at % size < 0 do",
    ),
    Mutant(
        "a tombstone does not stop an acquire",
        f"{LUA}/lease/acquire.lua",
        "then outcome = 2 end",
        "then outcome = 1 end",
        Edit(f"{RUST}/state/lease/acquire.rs", ".any(|table| table.is_cancelled(&self.id))", ".any(|_| false)"),
    ),
    Mutant(
        "those in order do not go first",
        f"{LUA}/lease/acquire.lua",
        "t.full or t.held + ahead + weight > permits",
        "t.full",
        Edit(
            f"{RUST}/state/lease/acquire.rs",
            "table.held() + ahead + self.weight",
            "table.held() + ahead.min(0) + self.weight",
        ),
    ),
    Mutant(
        "a lock is handed over although others wait",
        f"{LUA}/lease/acquire.lua",
        " or leaving ~= '' and earlier > 0",
        "",
        Edit(f"{RUST}/state/lease/acquire.rs", "self.instead_of.is_none() || earlier == 0", "earlier == earlier"),
    ),
    Mutant(
        "a token is given twice",
        f"{LUA}/lease/acquire.lua",
        "math.max(fresh, t.last + 1)",
        "math.max(fresh, t.last)",
        Edit(f"{RUST}/state/lease/acquire.rs", "table.last + 1", "table.last"),
    ),
    Mutant(
        "an extension shortens a lease",
        f"{LUA}/lease/renew.lua",
        "math.max(deadline, now + ttl), math.max(length, ttl)",
        "now + ttl, math.max(length, ttl)",
        Edit(f"{RUST}/state/lease/table.rs", "held.deadline.max(now + ttl)", "now + ttl"),
    ),
    Mutant(
        "who gives up keeps its hint",
        f"{LUA}/lease/wake.lua",
        "return how ~= 1 or in_order(how, since)",
        "return in_order(how, since)",
        Edit(
            f"{RUST}/state/lease/table.rs",
            "self.waiters.remove(at);\n        waiter.goes_first(now)",
            "self.waiters.remove(at);\n        waiter.in_order(now)",
        ),
    ),
    Mutant(
        "nobody is told",
        f"{LUA}/lease/wake.lua",
        "redis.call('PUBLISH', prefix .. channel,",
        "local _ = (prefix .. channel ..",
    ),
    Mutant(
        "a full server keeps what was locked",
        f"{LUA}/lease/save.lua",
        "local done = t.freeing and",
        "local done = t.freeing and virtual and",
    ),
    Mutant(
        "a release of a lock frees whoever holds it",
        f"{LUA}/lease/release.lua",
        "for _, t in ipairs(tables) do",
        "for _, t in ipairs(tables) do\n  t.holders, t.count, t.held, t.dirty = '', 0, 0, true",
        Edit(
            f"{RUST}/state/lease/release.rs",
            "let mut changed = table.changed || self.cancel > 0;",
            "table.holders.clear();\n            let mut changed = true;",
        ),
        suites=BOTH,
    ),
    Mutant(
        "the deadline of a lock counts from the reply",
        f"{RUST}/lock/attempt.rs",
        "Held::new(spec.clone(), self.id, token, self.sent)",
        "Held::new(spec.clone(), self.id, token, spec.now())",
        suites=("history",),
    ),
    Mutant(
        "a thread on its way to the end of the line stands in the table of memory",
        f"{RUST}/lock/blocking.rs",
        "let question = attempt.ask_once();",
        "let question = attempt.ask(None);",
    ),
    Mutant(
        "an extension of a lock counts from its reply",
        f"{RUST}/lock/calls.rs",
        "held.extended(self.sent, self.ttl, *done);",
        "held.extended(held.spec.now(), self.ttl, *done);",
    ),
    Mutant(
        "a renewal of a lock counts from its reply",
        f"{RUST}/lock/renewals.rs",
        "held.extended(due.sent, due.ttl, done);",
        "held.extended(held.spec.now(), due.ttl, done);",
    ),
    Mutant(
        "a release that did not reach the server is not sent again",
        f"{RUST}/reactor/cleanup.rs",
        "if error.may_pass() && leave.until",
        "if error.may_pass() && leave.pause.is_zero() && leave.until",
    ),
    Mutant(
        "a release does not try again to reach the server",
        f"{RUST}/session/exchange.rs",
        "None if self.operation.gives_back() && error.may_pass()",
        "None if self.operation.gives_back() && error.may_pass() && self.repeats > 64",
    ),
    Mutant(
        "a release of a lock that arrives late is refused",
        f"{RUST}/session/exchange.rs",
        "if self.operation.mutates() && !self.operation.gives_back() {",
        "if self.operation.mutates() {",
    ),
    Mutant(
        "a wait for a lock ends with the connection",
        f"{RUST}/reactor/outage.rs",
        "(now - since < LONGEST).then(",
        "(now < since).then(",
    ),
    Mutant(
        "who waited for a lock while the server was away is told that others hold it",
        f"{RUST}/lock/attempt.rs",
        "self.outage.error().map_or(Ok(false), |error| Err(error.clone()))",
        "Ok(false)",
    ),
    Mutant(
        "the holder of a lock ignores its deadline",
        f"{RUST}/lock/held.rs",
        "self.spec.now() >= tenure.deadline {",
        "self.spec.now() >= tenure.deadline + (1 << 60) {",
        suites=BOTH,
    ),
    Mutant(
        "fencing tokens are counted, and not by the clock",
        f"{LUA}/lease/acquire.lua",
        "local tables, fresh, recorded = load_all(leaving), math.max(now, floor + 1), 0",
        "local tables, fresh, recorded = load_all(leaving), floor + 1, 0",
        Edit(f"{RUST}/state/lease/acquire.rs", "fold(now.max(self.floor + 1), u64::max)", "fold(self.floor + 1, u64::max)"),
        suites=BOTH,
    ),
    Mutant(
        "a semaphore is granted if any permit is free",
        f"{LUA}/lease/acquire.lua",
        "t.full = t.count >= MOST or t.held + weight > permits\n",
        "t.full = t.count >= MOST or t.held >= permits\n    weight = math.min(weight, permits - t.held)\n",
        suites=BOTH,
    ),
    Mutant(
        "who has waited for long is overtaken on and on",
        f"{LUA}/lease/wake.lua",
        "return how % 128 == 2 or now - since >= PATIENCE end",
        "return how % 128 == 2 end",
        Edit(
            f"{RUST}/state/lease/table.rs", "fair || now.saturating_sub(since) >= PATIENCE", "fair || since > now + PATIENCE"
        ),
    ),
    Mutant(
        "readers that wait do not do so in order",
        f"{RUST}/lock/spec.rs",
        "matches!(self.kind, Kind::Read | Kind::Write)",
        "matches!(self.kind, Kind::Write)",
    ),
    Mutant(
        "who waits for several names keeps its place only where it is refused",
        f"{LUA}/lease/acquire.lua",
        "local stands = ordered and queue > 0",
        "local stands = false",
        Edit(
            f"{RUST}/state/lease/acquire.rs",
            "stands: in_order && self.queue",
            "stands: in_order && since > now && self.queue",
        ),
    ),
    Mutant(
        "who waits in order stands at the end whenever it came",
        f"{LUA}/lease/place.lua",
        "while at > 1 and not precedes(",
        "while at > 1 and now < 0 and not precedes(",
        Edit(
            f"{RUST}/state/lease/table.rs",
            "rposition(came_before).map_or(0, |last| last + 1)",
            "rposition(came_before).map_or(self.waiters.len(), |_| self.waiters.len())",
        ),
    ),
    Mutant(
        "who begins to wait in order does not ask then",
        f"{RUST}/lock/attempt.rs",
        "if self.lock.spec.in_order() || turn <= Instant::now() { next } else { next.min(turn) }",
        "if turn < self.began { turn } else { next }",
    ),
    Mutant(
        "a wait leaves it to what this process believes to hold",
        f"{RUST}/lock/room.rs",
        "SHORT_HOLD.min(Duration::from_micros(held.remaining())).min((first.attempt.until - now) / 2)",
        "SHORT_HOLD.max(Duration::from_micros(held.remaining())).min(first.attempt.until - now)",
        Edit(
            f"{RUST}/lock/room.rs",
            "            self.ask(&place);\n        }\n    }\n\n    /// Whether anybody waits for a hint",
            "            self.begin(&place);\n        }\n    }\n\n    /// Whether anybody waits for a hint",
        ),
    ),
    Mutant(
        "who waits in this process does not hear of a forced release",
        f"{RUST}/lock/calls.rs",
        "        tell::freed(&self.spec);\n        self.release.decode(",
        "        self.release.decode(",
    ),
    Mutant(
        "a server that was away is not asked for its vote again",
        f"{RUST}/lock/quorum.rs",
        "if done && !lacking.is_empty() {",
        "if !done && !lacking.is_empty() {",
    ),
    Mutant(
        "a late renewal gives what was released to a server anew",
        f"{RUST}/lock/quorum.rs",
        "let release = |node: &Spec| Box::new(node.release(held.id, node.tombstone()));",
        "let release = |node: &Spec| Box::new(node.release(held.id, 0));",
        Edit(
            f"{RUST}/lock/quorum.rs",
            "if !held.is_held() {\n            return call(",
            "if held.token == 0 {\n            return call(",
        ),
    ),
    Mutant(
        "a wait ends when too few replicas have the grant",
        f"{RUST}/lock/attempt.rs",
        "                if !self.waits() {\n                    return Next::Refused;\n                }\n                self.outage.end();",
        "                if self.sent > 0 {\n                    return Next::Refused;\n                }\n                self.outage.end();",
    ),
    Mutant(
        "the close of a client leaves its locks to their ttl",
        "core/src/closing.rs",
        "        pipeline::run_all(single",
        "        drop::<Vec<Exchange>>(single",
        Edit(
            "core/src/closing.rs",
            "collect(), &mut || Instant::now() >= end);\n        for held",
            "collect());\n        for held",
        ),
    ),
    Mutant(
        "a lock that is granted while its client closes is held",
        f"{RUST}/lock/mod.rs",
        "seat.attempt == number && is_open;",
        "seat.attempt == number || !is_open;",
    ),
    Mutant(
        "who waits for a lock of a client that closes stays in the line",
        f"{RUST}/reactor/mod.rs",
        "Action::Leave(leave) | Action::LeaveLater(leave, _) => leaves.push(leave),",
        "Action::Leave(_) | Action::LeaveLater(..) => {}",
    ),
]
