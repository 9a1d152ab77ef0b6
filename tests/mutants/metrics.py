"""Faults of metrics: what is counted twice, not at all or under another name, and what a killed process leaves."""

from __future__ import annotations

from mutant import RUST, Mutant

TESTS = ()
METRICS = f"{RUST}/metrics"
MUTANTS = [
    Mutant(
        "a name gets another place each time",
        f"{METRICS}/table.rs",
        "taken == 0 || taken == own",
        "taken == 0",
    ),
    Mutant(
        "names beyond the last place are counted under the first",
        f"{METRICS}/table.rs",
        "at.unwrap_or(region.most)",
        "at.unwrap_or(0)",
    ),
    Mutant(
        "a process that was killed while it refused calls leaves a breaker open",
        f"{METRICS}/breakers.rs",
        "until > now && until - now <= LONGEST",
        "until > 0 && now > 0 && LONGEST > 0",
    ),
    Mutant(
        "a table of another size is joined as if it were of this version",
        f"{RUST}/base/shared/file.rs",
        "(format.is_fixed && size != words)",
        "false",
    ),
    Mutant(
        "a name may end its label",
        f"{METRICS}/exposition.rs",
        """.replace('"', "\\\\\\"")""",
        "",
    ),
    Mutant(
        "a bucket does not count those before it",
        f"{METRICS}/snapshot.rs",
        "so_far += count;",
        "so_far = count;",
    ),
    Mutant(
        "what was asked wrongly is counted",
        f"{RUST}/limiter/decided.rs",
        "Err(error) if error.code() == Code::InvalidArgument => return,",
        "Err(error) if error.code() == Code::Internal => return,",
    ),
    Mutant(
        "a look is counted as a decision",
        f"{RUST}/limiter/decided.rs",
        "cost > 0 && matches!(self, ",
        "cost > 0 && matches!(self, Verb::Look | ",
    ),
    Mutant(
        "what is left to the call is counted before it too",
        f"{RUST}/limiter/at_once.rs",
        "(decision.allowed || !requires).then(|| {\n                self.hear(verb, key, cost, Ok(&decision));",
        "self.hear(verb, key, cost, Ok(&decision));\n            (decision.allowed || !requires).then(|| {",
    ),
    Mutant(
        "a wait is counted each time it asks",
        f"{RUST}/session/exchange.rs",
        "                self.fresh = true;\n                return Step::Sleep(pause);",
        "                self.fresh = true;\n                self.operation.ended(&result);\n"
        "                return Step::Sleep(pause);",
    ),
]
