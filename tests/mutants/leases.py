"""Faults of leases of permits: what is spent without a call, for how long, and by whom."""

from __future__ import annotations

from mutant import RUST, Edit, Mutant

TESTS = ("leases",)
MUTANTS = [
    Mutant(
        "permits are spent after the end of their window",
        f"{RUST}/state/purse.rs",
        "if now >= self.end || cost > self.left {",
        "if cost > self.left {",
    ),
    Mutant(
        "the life of permits is counted from the answer, and not from before the call",
        f"{RUST}/state/purse.rs",
        "let end = taking.since + life;",
        "let end = now + life;",
    ),
    Mutant(
        "permits that were on their way when a key was reset are kept",
        f"{RUST}/state/purse.rs",
        "taking.ticket != 0 && purse.ticket == taking.ticket",
        "taking.ticket != 0",
    ),
    Mutant(
        "all who find nothing take permits",
        f"{RUST}/state/purse.rs",
        "if now < purse.taking_until {",
        "if now > u64::MAX - 1 {",
    ),
    Mutant(
        "a refund of more than was consumed leaves what is held",
        f"{RUST}/state/purse.rs",
        "purse.left = purse.left.saturating_sub(amount.saturating_sub(spent));",
        "",
    ),
    Mutant(
        "a reset leaves what is held",
        f"{RUST}/limiter/lease.rs",
        "Verb::Reset | Verb::Block => purses.drop_key(&self.key),\n            Verb::Refund =>",
        "Verb::Refund =>",
        also=(
            Edit(
                f"{RUST}/limiter/lease.rs",
                "Verb::Reset | Verb::Block => purses.drop_key(&self.key),\n            Verb::Refund if",
                "Verb::Refund if",
            ),
        ),
    ),
    Mutant(
        "limiters of another policy spend what was taken by the first",
        f"{RUST}/limiter/lease.rs",
        "std::ptr::eq(self, other) || self.policy_args == other.policy_args",
        "self.stem == other.stem",
    ),
    Mutant(
        "a caller is denied because of what was to be taken beside its cost",
        f"{RUST}/limiter/lease.rs",
        "progress.alone = true;\n        true",
        "progress.alone = true;\n        false",
    ),
    Mutant(
        "a purse counts as left what it had taken twice",
        f"{RUST}/state/purse.rs",
        "told.without_held(taking.more);",
        "",
    ),
    Mutant(
        "what a client did not spend is given back to the next window",
        f"{RUST}/limiter/lease.rs",
        ".filter(|time| *time > 0)",
        "",
        also=(
            Edit(
                f"{RUST}/limiter/lease.rs", "left.end.checked_sub(session.steady_time())", "Some(u64::from(u32::MAX))"
            ),
            Edit(f"{RUST}/state/purse.rs", "purse.left > 0 && now < purse.end", "purse.left > 0 && now > 0"),
        ),
    ),
    Mutant(
        "a call that was given up keeps others from taking",
        f"{RUST}/limiter/lease.rs",
        "engine.purses.failed(&self.key, leasing.progress().taking);",
        "let _ = engine;",
    ),
    Mutant(
        "closing gives nothing back",
        f"{RUST}/closing.rs",
        "chain(given_back)",
        "chain(given_back.take(0))",
    ),
    Mutant(
        "a denial of what is taken for others counts as one of the cost alone",
        f"{RUST}/limiter/call.rs",
        "self.is_plain() && self.more() == 0;",
        "self.is_plain();",
    ),
]
