"""Faults of the PHP extension: who is warned, and what can be doubled."""

from __future__ import annotations

from mutant import Mutant

SRC = "bindings-php/src"
# Those in tests/php that find them.
TESTS = ("UnkeptTest", "IniTest", "DoublesTest", "SurfaceTest", "ErrorsTest")
PHP = ("php",)
MUTANTS = [
    Mutant(
        "nobody is told of a lock whose handle goes with the call",
        f"{SRC}/lock.rs",
        "if granted && unkept::is_this() {",
        "if false && unkept::is_this() {",
        suites=PHP,
    ),
    Mutant(
        "whoever keeps a handle is told that nobody does",
        f"{SRC}/unkept.rs",
        "this.gc.refcount == 1",
        "this.gc.refcount >= 1",
        suites=PHP,
    ),
    Mutant(
        "a reservation that was kept is said to be dropped",
        f"{SRC}/unkept.rs",
        " && by.result_type == UNUSED",
        "",
        suites=PHP,
    ),
    Mutant(
        "what a handler of errors throws is lost",
        f"{SRC}/unkept.rs",
        "if ExecutorGlobals::has_exception() { Err(Problem::Thrown) } else { Ok(kept) }",
        "drop(ExecutorGlobals::take_exception().map(|_| Problem::Thrown));\n    Ok(kept)",
        suites=PHP,
    ),
    Mutant(
        "a misspelled setting is passed over",
        f"{SRC}/ini.rs",
        "    warn_of_misspelled();\n",
        "    let _ = warn_of_misspelled;\n",
        suites=PHP,
    ),
    Mutant(
        "a setting of others is said to be misspelled",
        f"{SRC}/ini.rs",
        ' || !["ratelimit", "quotalock"].contains(&&*prefix)',
        ' || !prefix.contains("limit") && prefix != "quotalock"',
        suites=PHP,
    ),
    Mutant(
        "a handle is none of its interface",
        f"{SRC}/class.rs",
        "zend_do_implement_interface(class, interface);",
        "let _ = zend_do_implement_interface;",
        suites=PHP,
    ),
    Mutant(
        "a double of a client must return the final class of a lock",
        f"{SRC}/class.rs",
        "functions(interface).for_each(|function| interface::widen(function));",
        "let _ = interface::widen;",
        suites=PHP,
    ),
    Mutant(
        "a time in milliseconds is taken for one of 1970",
        "core/src/testing.rs",
        "const EARLIEST: u64 = 100_000_000_000_000;",
        "const EARLIEST: u64 = 1;",
        suites=PHP,
    ),
    Mutant(
        "a denial says when to try again to the microsecond",
        "core/src/limiter/call.rs",
        "span(micros.next_multiple_of(1_000))",
        "span(micros)",
        suites=PHP,
    ),
]
