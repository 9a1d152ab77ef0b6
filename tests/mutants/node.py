"""Faults of the Node package: who is called, what is shown, what is made."""

from __future__ import annotations

from mutant import Mutant

LIB = "bindings-node/lib"
# Those in tests/node that find them.
TESTS = ("calls", "hooks", "fake-timers", "own-loop", "constructors", "secrets", "signals", "unwinding", "unkept")
NODE = ("node",)
MUTANTS = [
    Mutant(
        "calls that are decided at once leave others no turn",
        f"{LIB}/at_once.js",
        " || count === MOST",
        "",
        suites=NODE,
    ),
    Mutant(
        "a call is decided before those that were made earlier",
        f"{LIB}/channel.js",
        "numbers === 0 ? decideAtOnce",
        "numbers >= 0 ? decideAtOnce",
        suites=NODE,
    ),
    Mutant(
        "a batch is flushed by a timer that tests replace",
        f"{LIB}/channel.js",
        "  reminder()\n}",
        "  setImmediate(flush)\n}",
        suites=NODE,
    ),
    Mutant(
        "calls that follow on several answers all wait for the last of them",
        f"{LIB}/channel.js",
        "if (settle() > 1) half = (underWay + 1) >> 1",
        "settle()",
        suites=NODE,
    ),
    Mutant(
        "what one answer lets go on is written in parts",
        f"{LIB}/channel.js",
        "if (settle() > 1) half",
        "if (settle() > 0) half",
        suites=NODE,
    ),
    Mutant(
        "calls that are written as soon as they are made keep the loop from turning",
        f"{LIB}/channel.js",
        "early < MOST_EARLY && !mustTurn()",
        "!mustTurn()",
        suites=NODE,
    ),
    Mutant(
        "one bell alone reminds, and is heard without end",
        "bindings-node/src/bell.rs",
        "self.bells.swap(0, 1);",
        "",
        suites=NODE,
    ),
    Mutant(
        "calls overtake those of their client that go the other way",
        "core/src/driver/ways.rs",
        "if self.by_thread { self.on_loop == 0 } else { self.on_thread.load(Ordering::Relaxed) == 0 }",
        "true",
        suites=NODE,
    ),
    Mutant(
        "the loop waits though calls were made after its prepare handles were called",
        "bindings-node/src/own_loop.rs",
        "(self.uv.idle_start)(self.idle.get(), on_idle);",
        "",
        suites=NODE,
    ),
    Mutant(
        "the loop hears of no client that ends",
        "core/src/driver/ways.rs",
        "link.follow_clients();",
        "",
        suites=NODE,
    ),
    Mutant(
        "a runtime whose loop is another's is taken for Node",
        f"{LIB}/channel.js",
        "!['bun', 'deno', 'electron'].some((other) => other in process.versions)",
        "true",
        suites=NODE,
    ),
    Mutant(
        "nothing is told of a lock that is collected while it is held",
        f"{LIB}/unkept.js",
        "  process.emitWarning(",
        "  void (",
        suites=NODE,
    ),
    Mutant(
        "whoever keeps the signal of a lock alone loses the lock",
        f"{LIB}/lock.js",
        "mind(this.#loss, lock)",
        "mind(this, lock)",
        suites=NODE,
    ),
    Mutant(
        "anybody makes combined decisions",
        f"{LIB}/decision.js",
        "if (numbers !== inbox) throw notByNew(CombinedDecision)",
        "",
        suites=NODE,
    ),
    Mutant(
        "header fields of many rules are cut off",
        f"{LIB}/decision.js",
        "if (end > outbox.length) grow(end)",
        "",
        suites=NODE,
    ),
    Mutant(
        "a decision that was changed tells header fields",
        "bindings-node/src/answers/http.rs",
        "if numbers.iter().any(|number| number.is_nan()) {",
        "if false {",
        suites=NODE,
    ),
    Mutant(
        "anybody makes what stocks, locks and caches answer",
        f"{LIB}/answered.js",
        "throw notByNew(new.target)",
        "",
        suites=NODE,
    ),
    Mutant(
        "an error shows objects",
        f"{LIB}/argument.js",
        "if ((typeof given === 'object' && given !== null) || typeof given === 'function') return ''",
        "",
        suites=NODE,
    ),
    Mutant(
        "an error shows addresses",
        f"{LIB}/argument.js",
        "if (typeof given === 'string' && ADDRESS.test(given)) return ''",
        "",
        suites=NODE,
    ),
    Mutant(
        "an answer that cannot be read ends its batch",
        f"{LIB}/pending.js",
        "else if (resolve !== nobody) settleSafely(",
        "else if (resolve !== nobody) settleOther(",
        suites=NODE,
    ),
    Mutant(
        "a signal counts as listened to that cannot be",
        f"{LIB}/pending.js",
        "signal.addEventListener('abort', () => aborts.forEach((abort) => void abort()), { once: true })\n"
        "  underSignals.set(signal, aborts)",
        "underSignals.set(signal, aborts)\n"
        "  signal.addEventListener('abort', () => aborts.forEach((abort) => void abort()), { once: true })",
        suites=NODE,
    ),
    Mutant(
        "a signal is listened to after its call is made",
        f"{LIB}/channel.js",
        "  prepare(signal)\n  return enqueue(",
        "  return enqueue(",
        suites=NODE,
    ),
    Mutant(
        "what was decided at once is taken for the decision of a call that could not be decided",
        "bindings-node/src/desk.rs",
        "            numbers[1] = 0.0;\n",
        "",
        suites=NODE,
    ),
    Mutant(
        "a denial that is thrown is not told",
        f"{LIB}/limiter.js",
        "if (error?.code === 'limited') tellDecision(",
        "if (false) tellDecision(",
        suites=NODE,
    ),
    Mutant(
        "a loss that the loop and the release find is told twice",
        f"{LIB}/hooks.js",
        "if (this.#isTold || lock === undefined) return",
        "if (lock === undefined) return",
        suites=NODE,
    ),
    Mutant(
        "a loop of calls that are decided at once leaves nobody else a turn",
        f"{LIB}/at_once.js",
        " || count === MOST) return undefined",
        ") return undefined",
        suites=NODE,
    ),
]
