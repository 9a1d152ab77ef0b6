"""Faults of reports: what is told of what was decided, what is counted too high, and what stays in Redis."""

from __future__ import annotations

from mutant import LUA, RUST, Mutant

TESTS = ("reports",)
REPORTS = f"{RUST}/reports"
MUTANTS = [
    Mutant(
        "who takes the place of another begins with that one's count, and calls it its own",
        f"{REPORTS}/sketch.rs",
        "Frequent { value, count: count - over, over }",
        "Frequent { value, count, over }",
    ),
    Mutant(
        "keys of one hash are one key",
        f"{REPORTS}/sketch.rs",
        "find(|at| is_it(&self.kept[*at].value))",
        "find(|_| true)",
    ),
    Mutant(
        "the place of the one that came most often is taken",
        f"{REPORTS}/sketch.rs",
        "min_by_key(|(_, count)| **count)",
        "max_by_key(|(_, count)| **count)",
    ),
    Mutant(
        "what was admitted is told as denied",
        f"{REPORTS}/buffer.rs",
        "decided.ok().filter(|_| outcome == Outcome::Denied)",
        "decided.ok().filter(|_| outcome != Outcome::Error)",
    ),
    Mutant(
        "limiters beyond those that are named are left out",
        f"{REPORTS}/buffer.rs",
        'if sum(&others) > 0 {\n            report.limiters.push(limiter(b"", &others));\n        }',
        "let _ = others;",
    ),
    Mutant(
        "the shortest of the rules is told as the reason",
        f"{REPORTS}/buffer.rs",
        "filter(|rule| !rule.allowed).max_by_key(wait)",
        "filter(|rule| !rule.allowed).min_by_key(wait)",
    ),
    Mutant(
        "reports that were lost are not told",
        f"{REPORTS}/reporter.rs",
        "here.lost += 1;",
        "",
    ),
    Mutant(
        "who lacks the right asks on every second",
        f"{REPORTS}/reporter.rs",
        "here.rests_until = Some(Instant::now() + REST);",
        "",
    ),
    Mutant(
        "a stream that one report made lives for ever",
        f"{LUA}/reports/append.lua",
        "redis.call('PEXPIRE', KEYS[1], KEPT)\nreturn",
        "return",
    ),
    Mutant(
        "reports of yesterday stay",
        f"{LUA}/reports/append.lua",
        "redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', math.max(now / 1000 - KEPT, 0)))",
        "",
    ),
]
