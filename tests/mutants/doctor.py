"""Faults of the doctor: what it takes for stuck, what it changes, what it notes and takes back."""

from __future__ import annotations

from mutant import Edit, Mutant

CLI = "cli/src/doctor"
TESTS = ("test_doctor_families", "test_doctor_keys", "test_doctor")
MUTANTS = [
    Mutant(
        "a fix gives a TTL to a key that has one by now",
        f"{CLI}/fix.lua",
        "if redis.call('PTTL', KEYS[1]) ~= -1 then",
        "if redis.call('PTTL', KEYS[1]) == -2 then",
        Edit(f"{CLI}/watch.rs", "[Ok(Value::Int(-1)), answer]", "[Ok(Value::Int(_)), answer]"),
        suites=("cli",),
    ),
    Mutant(
        "a fix changes a key that another client wrote since",
        f"{CLI}/fix.lua",
        "if redis.call('DUMP', KEYS[1]) ~= noted then",
        "if false then",
        Edit(f"{CLI}/fix.rs", " if key.track.is_same_or_moved(&seen) =>", " =>"),
        suites=("cli",),
    ),
    Mutant(
        "a fix changes what is not proven",
        f"{CLI}/fix.rs",
        "filter(|key| key.track.is_proven())",
        "filter(|_| true)",
        suites=("cli",),
    ),
    Mutant(
        "a fix changes a family that was not named",
        f"{CLI}/fix.rs",
        "named.iter().any(|name| name == family.id)",
        "!named.is_empty()",
        suites=("cli",),
    ),
    Mutant(
        "a number below zero is proven to be stuck without a call",
        f"{CLI}/proof.rs",
        "const MOVES: u8 = 2;",
        "const MOVES: u8 = 0;",
        suites=("cli",),
    ),
    Mutant(
        "a timer without its counter is proven to be Laravel's",
        f"{CLI}/collect.rs",
        "Some(counter) if !self.numbers.contains(&counter) => {",
        "Some(_) if false => {",
        suites=("cli",),
    ),
    Mutant(
        "an auction's timer is taken for Laravel's",
        f"{CLI}/families.rs",
        "let proof = if is_laravels_hash(counter) {",
        "let proof = if !counter.is_empty() {",
        suites=("cli",),
    ),
    Mutant(
        "a key gets less than an hour without a word",
        f"{CLI}/mod.rs",
        "    if arguments.ttl < FLOOR_MS && !arguments.allow_short_ttl {",
        "    if false {",
        suites=("cli",),
    ),
    Mutant(
        "an undo puts no value back",
        f"{CLI}/undo.lua",
        "  redis.call('RESTORE', KEYS[1], 0, ARGV[2])\n",
        "",
        suites=("cli",),
    ),
    Mutant(
        "an undo brings back what another client deleted",
        f"{CLI}/undo.lua",
        "if ARGV[2] == '' or now < tonumber(ARGV[1]) then",
        "if ARGV[2] == '' then",
        suites=("cli",),
    ),
    Mutant(
        "an undo takes the TTL of others",
        f"{CLI}/undo.lua",
        "if math.abs(expires - ARGV[1]) > slack then",
        "if false then",
        suites=("cli",),
    ),
    Mutant(
        "keys are changed that are not noted",
        f"{CLI}/fix.rs",
        "    journal.add(&entries)?;\n",
        "    let _ = journal.add(&entries);\n",
        suites=("cli",),
    ),
    Mutant(
        "without a terminal keys are changed without --yes",
        f"{CLI}/mod.rs",
        "    if arguments.fix.is_some() && named.is_empty() && !arguments.yes && !is_asked {",
        "    if false && !is_asked {",
        Edit(f"{CLI}/fix.rs", "    if !std::io::stdin().is_terminal() {", "    if false {"),
        suites=("cli",),
    ),
    Mutant(
        "a number without a TTL is a counter, whatever its name",
        f"{CLI}/families.rs",
        "        false if words.counts_for_one() || words.counts_holders() =>",
        "        false =>",
        suites=("cli",),
    ),
    Mutant(
        "Ctrl-C does not end a fix",
        f"{CLI}/fix.rs",
        "            if stopped() {",
        "            if false {",
        suites=("cli",),
    ),
    Mutant(
        "a replica is not asked, and its keys are missing with the primary's",
        "cli/src/server/mod.rs",
        "self.replicas.first_mut().or(self.primary.as_mut())",
        "self.primary.as_mut()",
        suites=("cli",),
    ),
    Mutant(
        "keys that may not be read go untold",
        "cli/src/page.lua",
        "    refused = refused + 1\n    why = ttl.err\n",
        "",
        Edit("cli/src/pages.rs", "Err(refusal) if refusal.why == Why::Right => page.refuse(1, &refusal.message),", ""),
        suites=("cli",),
    ),
]
