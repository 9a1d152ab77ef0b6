"""Faults of the doctor: what it takes for stuck, what it changes, what it notes and takes back."""

from __future__ import annotations

from mutant import Edit, Mutant

CLI = "cli/src/doctor"
TESTS = ("test_doctor",)
MUTANTS = [
    Mutant(
        "a fix gives a TTL to a key that has one by now",
        f"{CLI}/fix.lua",
        "if redis.call('PTTL', KEYS[1]) ~= -1 then",
        "if redis.call('PTTL', KEYS[1]) == -2 then",
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
        "    if arguments.fix && !arguments.yes && !is_asked {",
        "    if false && !is_asked {",
        Edit(f"{CLI}/fix.rs", "    if !std::io::stdin().is_terminal() {", "    if false {"),
        suites=("cli",),
    ),
    Mutant(
        "a fix changes what it does not recognise",
        f"{CLI}/collect.rs",
        "if self.settings.fix && known.is_sure {",
        "if self.settings.fix {",
        suites=("cli",),
    ),
    Mutant(
        "a number without a TTL is a counter, whatever its name",
        f"{CLI}/families.rs",
        "        false if words.counts_for_one() =>",
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
