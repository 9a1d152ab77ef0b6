"""Faults of connections: what they carry, who gives them up, whose they are."""

from __future__ import annotations

from mutant import RUST, Mutant

TESTS = ("stray", "fork", "refusals", "rights", "pressure")
MUTANTS = [
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
    Mutant(
        "what newer servers say of a lacking right is no right",
        f"{RUST}/store/redis/refusal.rs",
        '"ACL failure in script"]',
        '"ACL failure in a script"]',
    ),
    Mutant(
        "what older servers say of a lacking channel is no right",
        f"{RUST}/store/redis/refusal.rs",
        '"The user executing the script can\'t"',
        '"The user executing the script can\'t run this command"',
    ),
]
