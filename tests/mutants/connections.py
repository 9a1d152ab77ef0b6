"""Faults of connections: what they carry, who gives them up, whose they are."""

from __future__ import annotations

from mutant import RUST, Mutant

TESTS = ("stray", "fork", "refusals", "pressure")
MUTANTS = [
    Mutant(
        "each client has a memory of its own",
        f"{RUST}/client.rs",
        "Endpoint::Memory(name) => Lease::of(name),",
        "Endpoint::Memory(_) => Lease::default(),",
    ),
    Mutant(
        "a memory is kept when nobody has it any more",
        f"{RUST}/store/memory.rs",
        "if *clients == 0 {",
        "if *clients == usize::MAX {",
    ),
    Mutant(
        "one client's end takes the memory of others along",
        f"{RUST}/store/memory.rs",
        "*clients -= 1;",
        "*clients = 0;",
    ),
    Mutant(
        "the time of one test has what another client keeps forgotten",
        f"{RUST}/store/memory.rs",
        "View { table: &mut table, wall, grace }",
        "View { table: &mut table, wall: time.unwrap_or(wall), grace }",
    ),
    Mutant(
        "a fault within memory makes all its clients useless",
        f"{RUST}/store/memory.rs",
        "table.entries.clear();\n            self.table.clear_poison();",
        "self.table.clear_poison();",
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
]
