"""Faults of the Python package: what is called at the wrong moment, and what is taken for a text."""

from __future__ import annotations

from mutant import RUST, Mutant

PYTHON = "bindings-python/src"
TESTS = (
    "test_texts",
    "test_unwinding",
    "test_exit",
    "test_locks_arguments",
    "test_passwords",
    "test_waits",
    "test_leaks",
    "test_unkept",
    "test_hooks",
)
MUTANTS = [
    Mutant(
        "of a denied consume_all those are told that were not denied",
        f"{RUST}/base/decision.rs",
        "filter(move |(_, decision)| self.allowed || denies(decision))",
        "filter(move |(_, decision)| self.allowed || !denies(decision))",
        suites=("python",),
    ),
    Mutant(
        "a look is told of as a decision",
        f"{RUST}/base/decision.rs",
        "self.cost > 0 || !self.allowed",
        "true",
        suites=("python",),
    ),
    Mutant(
        "what a hook raises ends the call",
        f"{PYTHON}/hook.rs",
        "Err(error) if error.is_instance_of::<PyException>(py) => error.write_unraisable(py, Some(function)),",
        "Err(error) if error.is_instance_of::<PyException>(py) => return Err(error),",
        suites=("python",),
    ),
    Mutant(
        "a loss is told as often as somebody looks",
        f"{RUST}/lock/held.rs",
        "!self.is_foreign() && !self.taken.swap(true, Ordering::Relaxed)",
        "!self.is_foreign()",
        suites=("python",),
    ),
    Mutant(
        "what a hook refers to is never collected",
        f"{PYTHON}/hook.rs",
        "visit.call(self.0.as_ref())",
        "visit.call(None::<&Py<PyAny>>)",
        suites=("python",),
    ),
    Mutant(
        "who waits for a value where others waited for a lock before hears of nothing",
        f"{RUST}/reactor/subscriptions.rs",
        "let want = Want { session, prefix, from: now, is_lost: false, hops: 0 };",
        "if self.all.keys().any(|(of, _)| *of == client) { continue; }\n            "
        "let want = Want { session, prefix, from: now, is_lost: false, hops: 0 };",
        suites=("python",),
    ),
    Mutant(
        "nothing is told of a handle that goes while it is held",
        f"{PYTHON}/lock.rs",
        "if let Some(message) = self.core.let_go() {",
        "if let Some(message) = None::<String> {",
        suites=("python",),
    ),
    Mutant(
        "a handle that is not renewed is told of, and released",
        f"{RUST}/lock/mod.rs",
        "held.spec.options.renew && held.is_held())?",
        "held.is_held())?",
        suites=("python",),
    ),
    Mutant(
        "a handle that was lost is told of",
        f"{RUST}/lock/mod.rs",
        "held.spec.options.renew && held.is_held())?",
        "held.spec.options.renew)?",
        suites=("python",),
    ),
    Mutant(
        "what is raised while a handle goes is forgotten",
        f"{PYTHON}/unkept.rs",
        "unsafe { ffi::PyErr_Restore(kind, value, trace) };",
        "let _ = (kind, value, trace);",
        suites=("python",),
    ),
    Mutant(
        "handles that go at the interpreter's end are told of",
        f"{PYTHON}/unkept.rs",
        "if is_ending() {",
        "if false {",
        suites=("python",),
    ),
    Mutant(
        "a reservation whose id is known is told of",
        f"{RUST}/limiter/reservation.rs",
        "self.alone.store(false, Ordering::Relaxed);\n        self.id.iter()",
        "self.id.iter()",
        suites=("python",),
    ),
    Mutant(
        "a destructor calls the loop",
        f"{PYTHON}/loops.rs",
        "self.take_ours().iter().for_each(|driver| driver.get().dismiss());",
        "Python::try_attach(|py| self.close(py));",
        suites=("python",),
    ),
    Mutant(
        "a driver that was dismissed stays",
        f"{PYTHON}/link.rs",
        "if slf.get().is_dismissed.load(Ordering::Relaxed) {",
        "if false {",
        suites=("python",),
    ),
    Mutant(
        "the interpreter's end does not wait for those inside",
        f"{PYTHON}/ending.rs",
        "while INSIDE.load(Ordering::Relaxed) > 0",
        "while false",
        suites=("python",),
    ),
    Mutant(
        "a text without a UTF-8 form raises Python's own error",
        f"{PYTHON}/argument.rs",
        "given.extract::<&str>().map_err(refused)\n",
        "given.extract::<&str>().map_err(|error| if true { error } else { refused(error) })\n",
        suites=("python",),
    ),
    Mutant(
        "an option that a lock does not have is passed over",
        f"{PYTHON}/lock_options.rs",
        'None => return Err(wrong("an unexpected keyword")),',
        "None => {}",
        suites=("python",),
    ),
    Mutant(
        "a function that tells the password is asked when the call is over",
        f"{PYTHON}/interruption.rs",
        "py.check_signals().err().or_else(|| answer_here(py))",
        "py.check_signals().err()",
        suites=("python",),
    ),
    Mutant(
        "a call that is interrupted by who tells the password says that it was refused",
        f"{PYTHON}/password.rs",
        "if error.is_instance_of::<PyException>(py) {",
        "if true {",
        suites=("python",),
    ),
    Mutant(
        "a URL of the environment that is no text is taken for none",
        f"{RUST}/client.rs",
        "filter(|url| !url.is_empty());",
        "filter(|url| url.to_str().is_some_and(|url| !url.is_empty()));",
        suites=("python",),
    ),
    Mutant(
        "each connection leaves a hundred bytes behind",
        f"{RUST}/session/node.rs",
        "    pub fn reached(&self, epoch: u64) {",
        "    pub fn reached(&self, epoch: u64) {\n        std::mem::forget(std::hint::black_box(vec![1_u8; 100]));",
        suites=("python",),
    ),
    Mutant(
        "each call leaves sixteen bytes behind",
        f"{RUST}/session/exchange.rs",
        "        let wait_until = wait.map(|w| now + w.min(latest));",
        "        let wait_until = wait.map(|w| now + w.min(latest));\n"
        "        std::mem::forget(std::hint::black_box(Box::new([1_u64, 2])));",
        suites=("python",),
    ),
]
