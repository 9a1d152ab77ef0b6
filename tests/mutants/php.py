"""Faults of the PHP extension: who is warned, and what can be doubled."""

from __future__ import annotations

from mutant import Mutant

SRC = "bindings-php/src"
# Those in tests/php that find them.
TESTS = (
    "UnkeptTest",
    "HooksTest",
    "FpmTest",
    "IniTest",
    "DoublesTest",
    "SurfaceTest",
    "ErrorsTest",
    "DroppedDecisionsTest",
    "OneNameTest",
)
PHP = ("php",)
MUTANTS = [
    Mutant(
        "the place of a limiter is in a package",
        f"{SRC}/advice.rs",
        "if !is_ours {",
        "if true {",
        suites=PHP,
    ),
    Mutant(
        "one name with two policies is not warned of by consumeAll",
        f"{SRC}/charges.rs",
        "advice::after(call::run(op))?",
        "call::run(op)?",
        suites=PHP,
    ),
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
        "core/src/limiter/spec.rs",
        "span(micros.next_multiple_of(1_000))",
        "span(micros)",
        suites=PHP,
    ),
    Mutant(
        "rules that somebody keeps become those of the next decision",
        f"{SRC}/spare.rs",
        " || !is_alone(&(*value.value.arr).gc)",
        "",
        suites=PHP,
    ),
    Mutant(
        "exit in a hook is taken for an exception",
        f"{SRC}/hook.rs",
        "if unsafe { zend_is_unwind_exit(exception) || zend_is_graceful_exit(exception) } {",
        "if unsafe { zend_is_graceful_exit(exception) } {",
        suites=PHP,
    ),
    Mutant(
        "a rule that somebody keeps becomes that of the next decision",
        f"{SRC}/spare.rs",
        "is_alone(&(*object).gc) && ",
        "",
        suites=PHP,
    ),
    Mutant(
        "who refers weakly to a dropped rule finds that of the next decision",
        f"{SRC}/spare.rs",
        "1 << 7 | u32::MAX << 10",
        "u32::MAX << 10",
        suites=PHP,
    ),
    Mutant(
        "rules that the collector of cycles frees become those of the next decision",
        f"{SRC}/spare.rs",
        "1 << 7 | u32::MAX << 10",
        "1 << 7",
        suites=PHP,
    ),
    Mutant(
        "a decision of one rule has a rule of one before it besides",
        f"{SRC}/spare.rs",
        "(*list).len() == 1 && ",
        "",
        suites=PHP,
    ),
]
