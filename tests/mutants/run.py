"""Breaks the core on purpose, one fault at a time, and fails unless the tests turn red for each: those of the core, the
history of locks, or both.

Works on a copy of the tracked files, so that a stopped run leaves nothing broken. Run by `make test-mutants`;
`run.py WORD ...` only does those whose description or file has one of the words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "target" / "mutants"


@dataclass(frozen=True)
class Edit:
    """In `file`, `old` (which must be there) becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` becomes `new`; a fault of script and twin alike, which only the definitions can tell,
    has a second edit. Each of the `suites` must find it by itself."""

    about: str
    file: str
    old: str
    new: str
    also: Edit | None = None
    suites: tuple[str, ...] = ("core",)

    @property
    def edits(self) -> list[Edit]:
        """All that is changed."""
        return [Edit(self.file, self.old, self.new), *([self.also] if self.also else [])]


LUA = "core/scripts"
RUST = "core/src"
BOTH = ("core", "history")
MUTANTS = [
    Mutant(
        "the clamp of an impossible future is skipped",
        f"{LUA}/limit/fixed_window.lua",
        "stop_1, dirty = now + period_1, true",
        "dirty = true",
    ),
    Mutant(
        "the clamp is not written back",
        f"{LUA}/limit/fixed_window.lua",
        "now + period_1, true",
        "now + period_1, false",
    ),
    Mutant(
        "a window is closed at its end",
        f"{LUA}/limit/fixed_window.lua",
        "or stop_1 <= now then",
        "or stop_1 < now then",
    ),
    Mutant("one too many", f"{LUA}/limit/fixed_window.lua", "count_1 + cost > limit_1", "count_1 + cost > limit_1 + 1"),
    Mutant(
        "a calendar window from the future blocks",
        f"{LUA}/limit/calendar_window.lua",
        "  start_1 = current\n",
        "",
    ),
    Mutant(
        "one rule is charged although another denies",
        f"{LUA}/limit/consume.lua",
        "if wait_1 ~= 0 then admitted = false end",
        "if wait_1 ~= 0 and N_1 == 1 then admitted = false end",
    ),
    Mutant(
        "a window's weight is rounded down",
        f"{LUA}/limit/sliding_window.lua",
        "elseif previous_1 - share(gone, previous_1, period_1) > space then",
        "elseif share(period_1 - gone, previous_1, period_1) > space then",
    ),
    Mutant(
        "a bucket forgets fractions",
        f"{LUA}/limit/token_bucket.lua",
        "part_1, whole_1 = part_1 % limit_1",
        "part_1, whole_1 = 0",
    ),
    Mutant(
        "a bucket is full for ever after the clock went back",
        f"{LUA}/limit/token_bucket.lua",
        "tat_1, part_1, dirty = now + full_1, full_part_1, true",
        "dirty = true",
    ),
    Mutant("the TTL is not rewritten", f"{LUA}/limit/finish.lua", ", 'PX', ttl)", ")"),
    Mutant("a peek writes", f"{LUA}/limit/consume.lua", "charged or dirty and not look", "true"),
    Mutant(
        "a foreign value is taken for ours",
        f"{LUA}/limit/place.lua",
        "foreign = string.sub(value, 1, 3) ~= 'QL\\1'",
        "foreign = false",
    ),
    Mutant(
        "the deadline is ignored",
        f"{LUA}/clock.lua",
        "if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then",
        "if false then",
    ),
    Mutant(
        "a block from the future is kept",
        f"{LUA}/limit/load.lua",
        "block_until, dirty = now + block_length, true",
        "dirty = true",
    ),
    Mutant(
        "the twin refunds below zero",
        f"{RUST}/algorithm/fixed_window.rs",
        "saturating_sub(amount)",
        "wrapping_sub(amount)",
    ),
    Mutant(
        "braces in a key are not encoded",
        f"{RUST}/key.rs",
        'b"%7B"',
        'b"{"',
    ),
    Mutant(
        "the binding rule is the one with the shortest wait",
        f"{RUST}/decision.rs",
        "if wait(b) > wait(a)",
        "if wait(b) < wait(a)",
    ),
    Mutant(
        "a child uses its parent's sockets",
        f"{RUST}/fork.rs",
        "GENERATION.fetch_add(1, Ordering::Relaxed);",
        "GENERATION.fetch_add(0, Ordering::Relaxed);",
    ),
    Mutant(
        "bytes behind a reply stay for the next call",
        f"{RUST}/store/redis/pool.rs",
        "if wire.reader.is_empty()",
        "if true",
    ),
    Mutant(
        "bytes that nobody asked for are no reason to give a connection up",
        f"{RUST}/store/redis/stream.rs",
        "_ => true,",
        "_ => false,",
    ),
    Mutant(
        "a full server's connections are given up for those it refused",
        f"{RUST}/store/redis/pool.rs",
        "!idle.connections.is_empty()",
        "false",
    ),
    Mutant(
        "a link takes more than the server",
        f"{RUST}/store/redis/up.rs",
        "self.out.len() - self.written >= MOST_UNSENT",
        "false",
    ),
    # From here on in script and twin alike: they agree, so only the definitions can tell.
    Mutant(
        "entries of a log never end",
        f"{LUA}/limit/sliding_log.lua",
        "elseif time_1 <= now - period_1 then",
        "elseif false then",
        Edit(
            f"{RUST}/algorithm/sliding_log.rs",
            "} else if time + rule.period() <= at.now {",
            "} else if time > 1 << 60 {",
        ),
    ),
    Mutant(
        "an entry of a log ends a microsecond late",
        f"{LUA}/limit/sliding_log.lua",
        "elseif time_1 <= now - period_1 then",
        "elseif time_1 < now - period_1 then",
        Edit(
            f"{RUST}/algorithm/sliding_log.rs",
            "} else if time + rule.period() <= at.now {",
            "} else if time + rule.period() < at.now {",
        ),
    ),
    Mutant(
        "a log admits one too many",
        f"{LUA}/limit/sliding_log.lua",
        "if used_1 + cost > limit_1 then",
        "if used_1 + cost > limit_1 + 1 then",
        Edit(
            f"{RUST}/algorithm/sliding_log.rs",
            "if used + cost <= rule.limit() {",
            "if used + cost <= rule.limit() + 1 {",
        ),
    ),
    Mutant(
        "a log's retry_after is the end of its first entry, whatever the cost",
        f"{LUA}/limit/sliding_log.lua",
        "if (sum - total_1) % WRAP > limit_1 - cost then",
        "if false then",
        Edit(f"{RUST}/algorithm/sliding_log.rs", "if at.entries.log.since(total) > left {", "if left > 1 << 60 {"),
    ),
    Mutant(
        "a log's entries from the future stay there",
        f"{LUA}/limit/collapse.lua",
        "if last > now and next > 0 then",
        "if false then",
        Edit(
            f"{RUST}/limiter/state.rs",
            "if self.log.last <= self.now || self.log.next == 0 {",
            "if self.log.next < 1 << 60 {",
        ),
    ),
    Mutant(
        "a ring that moves keeps its old numbers",
        f"{LUA}/limit/sliding_log.lua",
        "first_1 = first_1 - oldest",
        "first_1 = first_1",
        Edit(f"{RUST}/limiter/state.rs", "self.logged().for_each(|words| words[0] -= oldest);", ""),
    ),
    Mutant(
        "a ring that is full overwrites what counts",
        f"{LUA}/limit/save_log.lua",
        "or live > room or",
        "or",
        Edit(f"{RUST}/limiter/state.rs", "live <= self.log.room && 2 *", "2 *"),
    ),
    Mutant(
        "a log gives back the newest first",
        f"{LUA}/limit/sliding_log.lua",
        "used_1 = math.max(0, used_1 - amount) end",
        "used_1, sum = math.max(0, used_1 - amount), (sum - amount) % WRAP end",
        Edit(
            f"{RUST}/limiter/state.rs",
            "                (of(rule).refund)(rule, words, &moment, amount, charged);\n            }\n        }\n",
            "                (of(rule).refund)(rule, words, &moment, amount, charged);\n            }\n        }\n"
            "        self.log.sum = (self.log.sum + (1 << 60) - amount) % (1 << 40);\n",
        ),
    ),
    Mutant(
        "a hold is given back to a rule that counts it no more",
        f"{RUST}/limiter/compose.rs",
        "if bit.band(counted, MARK_1) > 0 then -- rule N_1",
        "do -- rule N_1",
        Edit(f"{RUST}/limiter/state.rs", "if counted & 1 << i != 0 {", "if counted < 1 << 15 && i < 16 {"),
    ),
    Mutant(
        "a sliding-window's hold is given back from the wrong window",
        f"{LUA}/limit/sliding_window.lua",
        "if since >= window then",
        "if true then",
        Edit(f"{RUST}/algorithm/sliding_window.rs", "if since >= window {", "if since < 1 << 60 {"),
    ),
    Mutant(
        "a hold that counts as spent is returned",
        f"{LUA}/limit/expire.lua",
        "elseif state == RETURNED then",
        "else",
        Edit(f"{RUST}/limiter/holds.rs", "} else if hold.state == Unsettled::Returned as u8 {", "} else {"),
    ),
    Mutant(
        "a hold never ends",
        f"{LUA}/limit/load.lua",
        "if earliest <= now or newest > now or over > 0 then",
        "if false then",
        Edit(
            f"{RUST}/limiter/holds.rs",
            "if self.is_empty() || self.earliest > now && self.newest <= now && over == 0 {",
            "if now < 1 << 60 {",
        ),
    ),
    Mutant(
        "a hold is stretched by a clock that went back",
        f"{LUA}/limit/expire.lua",
        "if since > now then",
        "if false then",
        Edit(f"{RUST}/limiter/holds.rs", "if hold.since > now {", "if hold.since > 1 << 60 {"),
    ),
    Mutant(
        "a hold is settled again and again",
        f"{LUA}/limit/settle.lua",
        "if state == SETTLED then",
        "if false then",
        Edit(f"{RUST}/limiter/holds.rs", "if hold.state == SETTLED {", "if hold.state > 200 {"),
    ),
    Mutant(
        "a request's first answer is forgotten",
        f"{LUA}/limit/recall.lua",
        "if remembered and",
        "if false and",
        Edit(f"{RUST}/limiter/memory.rs", "if now >= u64", "if now > 0 || now >= u64"),
    ),
    Mutant(
        "a request is remembered for longer than asked for",
        f"{LUA}/limit/recall.lua",
        "if now < answer[2] then",
        "if now < answer[2] + 1000000 then",
        Edit(f"{RUST}/limiter/memory.rs", "if now >= u64", "if now >= 1_000_000 + u64"),
    ),
    Mutant(
        "a denied request is remembered",
        f"{LUA}/limit/remember.lua",
        "if charged then",
        "if true then",
        Edit(f"{RUST}/limiter/call.rs", "if done.charged {", "if now > 0 {"),
    ),
    Mutant(
        "of several keys those are charged that admit although another denies",
        f"{LUA}/limit/all.lua",
        "== '1' then charged = false end",
        "== '1' then charged = charged end",
        Edit(
            f"{RUST}/limiter/all.rs",
            "let charged = !self.parts.iter().zip(&states).any(denied);",
            "let charged = now > 0 || !self.parts.iter().zip(&states).any(denied);",
        ),
    ),
    Mutant(
        "a limiter that is not enforced denies the others of a consume_all",
        f"{LUA}/limit/all.lua",
        " and ARGV[at + 1] == '1' then",
        " then",
        Edit(f"{RUST}/limiter/all.rs", "part.definition.enforce && !state", "!state"),
    ),
    Mutant(
        "consume_up_to takes more than the second rule leaves",
        f"{LUA}/limit/up_to.lua",
        "if left_1 < taken then",
        "if N_1 == 1 and left_1 < taken then",
        Edit(
            f"{RUST}/limiter/twin.rs",
            "(0..self.rule_count()).map(|i| self.remaining(space, i)).fold(most",
            "(0..1).map(|i| self.remaining(space, i)).fold(most",
        ),
    ),
    Mutant("a scope is left out of the key", f"{RUST}/key.rs", "= scope {", "= scope.filter(|_| false) {"),
    Mutant(
        "a lease lasts for a microsecond too long",
        f"{LUA}/lease/form.lua",
        "local over = deadline <= now",
        "local over = deadline < now",
        Edit(f"{RUST}/lease/table.rs", "held.deadline > now", "held.deadline >= now"),
    ),
    Mutant(
        "a lease from before the clock went back is not shortened",
        f"{LUA}/lease/form.lua",
        "math.min(deadline, now + ttl), math.min(since, now), true",
        "deadline, math.min(since, now), true",
        Edit(f"{RUST}/lease/table.rs", "clamp(&mut held.deadline, now + held.ttl) | ", ""),
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
        Edit(f"{RUST}/lease/acquire.rs", ".any(|table| table.is_cancelled(&self.id))", ".any(|_| false)"),
    ),
    Mutant(
        "those in order do not go first",
        f"{LUA}/lease/acquire.lua",
        "t.full or t.held + ahead + weight > permits",
        "t.full",
        Edit(
            f"{RUST}/lease/acquire.rs",
            "table.held() + ahead + self.weight",
            "table.held() + ahead.min(0) + self.weight",
        ),
    ),
    Mutant(
        "a lock is handed over although others wait",
        f"{LUA}/lease/acquire.lua",
        " or leaving ~= '' and others > 0",
        "",
        Edit(f"{RUST}/lease/acquire.rs", "self.instead_of.is_none() || others == 0", "others == others"),
    ),
    Mutant(
        "a token is given twice",
        f"{LUA}/lease/acquire.lua",
        "math.max(token, t.last + 1)",
        "math.max(token, t.last)",
        Edit(f"{RUST}/lease/acquire.rs", "table.last + 1", "table.last"),
    ),
    Mutant(
        "an extension shortens a lease",
        f"{LUA}/lease/renew.lua",
        "math.max(deadline, now + ttl), math.max(length, ttl)",
        "now + ttl, math.max(length, ttl)",
        Edit(f"{RUST}/lease/table.rs", "held.deadline.max(now + ttl)", "now + ttl"),
    ),
    Mutant(
        "who gives up keeps its hint",
        f"{LUA}/lease/wake.lua",
        "return how ~= 1",
        "return how == 2",
        Edit(f"{RUST}/lease/table.rs", "waiter.in_order || waiter.told", "waiter.in_order && !waiter.told"),
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
        "if freeing then",
        "if freeing and virtual then",
    ),
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
    # Also for the history of locks.
    Mutant(
        "a release of a lock frees whoever holds it",
        f"{LUA}/lease/release.lua",
        "for _, t in ipairs(load_all(id)) do",
        "for _, t in ipairs(load_all(id)) do\n  t.holders, t.count, t.held, t.dirty = '', 0, 0, true",
        Edit(
            f"{RUST}/lease/release.rs",
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
        "an extension of a lock counts from its reply",
        f"{RUST}/lock/calls.rs",
        "held.extended(self.sent, self.ttl, *done);",
        "held.extended(held.spec.now(), self.ttl, *done);",
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
        "local tables, token, recorded = load_all(leaving), math.max(now, floor + 1), 0",
        "local tables, token, recorded = load_all(leaving), floor + 1, 0",
        Edit(f"{RUST}/lease/acquire.rs", "fold(now.max(self.floor + 1), u64::max)", "fold(self.floor + 1, u64::max)"),
        suites=BOTH,
    ),
    Mutant(
        "a semaphore is granted if any permit is free",
        f"{LUA}/lease/acquire.lua",
        "t.full = t.count >= MOST or t.held + weight > permits\n",
        "t.full = t.count >= MOST or t.held >= permits\n    weight = math.min(weight, permits - t.held)\n",
        suites=BOTH,
    ),
]


def copy_tree() -> None:
    """Copies what git tracks, and keeps the copy's own target folder for the next run."""
    for old in COPY.iterdir() if COPY.exists() else ():
        if old.is_dir() and old.name != "target":
            shutil.rmtree(old)
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in files:
        source, target = ROOT / name, COPY / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            # With new times: cargo must not take what an earlier, stopped run built for this.
            shutil.copyfile(source, target)


class DoesNotBuildError(Exception):
    """A mutant that is no program says nothing about the tests."""


# Those tests that tell most in least time come first.
CARGO = ["cargo", "test", "--quiet", "-p", "quotalock", "-p", "quotalock-tests", "--lib"]
BUILDS = {
    "core": [*CARGO, "--tests", "--no-run"],
    "history": ["cargo", "build", "--quiet", "-p", "quotalock-tests", "--example", "lock_worker"],
}
SERVERS = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
TESTS = {
    "core": [
        [*SERVERS, *CARGO, "--test", "vectors", "--test", "oracle"],
        [*SERVERS, *CARGO, "--tests"],
    ],
    "history": [[str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "tests/faults/test_lock_history.py"]],
}


def passes(suite: str) -> bool:
    """Runs one of the suites in the copy; true if it is green."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(COPY / "target"),
        # A failing case is not made smaller: nobody reads it.
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "QUOTALOCK_TEST_CREW": "rust rust rust rust",
    }

    def runs(command: list[str]) -> bool:
        done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, timeout=900, check=False)
        return done.returncode == 0

    if not runs(BUILDS[suite]):
        raise DoesNotBuildError
    return all(runs(command) for command in TESTS[suite])


def survives(mutant: Mutant) -> bool:
    """Whether a suite that must find it passes in spite of it; the copy is as before afterwards."""
    plain = {edit.file: (COPY / edit.file).read_text() for edit in mutant.edits}
    try:
        for edit in mutant.edits:
            path = COPY / edit.file
            text = path.read_text()
            if edit.old not in text:
                print(f"STALE     {mutant.about}: {edit.file} has no {edit.old!r}", flush=True)
                return True
            path.write_text(text.replace(edit.old, edit.new, 1))
        blind = [suite for suite in mutant.suites if passes(suite)]
    except DoesNotBuildError:
        print(f"NO BUILD  {mutant.about}", flush=True)
        return True
    finally:
        for name, text in plain.items():
            (COPY / name).write_text(text)
    if blind:
        print(f"SURVIVED  {mutant.about}: {' and '.join(blind)} stayed green", flush=True)
    else:
        print(f"caught    {mutant.about}", flush=True)
    return bool(blind)


def main(words: list[str]) -> int:
    """Runs every mutant, or those with one of the words; the plain copy must pass first."""
    chosen = [m for m in MUTANTS if not words or any(word in f"{m.about} {m.file}" for word in words)]
    if not chosen:
        print(f"no mutant is about {', '.join(words)}")
        return 1
    copy_tree()
    for suite in sorted({suite for mutant in chosen for suite in mutant.suites}):
        if not passes(suite):
            print(f"the tests of {suite} fail without any mutant: mend that first")
            return 1
    survived = sum(survives(mutant) for mutant in chosen)
    print(f"{len(chosen) - survived} passed, {survived} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
