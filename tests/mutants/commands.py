"""Faults of the program `quotalock`: what it says of keys, what it changes, and how it runs a command under a lock."""

from __future__ import annotations

from mutant import Mutant

CLI = "cli/src"
LOCK = f"{CLI}/commands/lock.rs"
SIGNALS = f"{CLI}/commands/lock_signals.rs"
GROUP = f"{CLI}/commands/lock_group.rs"
LIMIT = f"{CLI}/commands/limit.rs"
SIMULATE = f"{CLI}/simulate"
ONLY = ("cli",)
TESTS = (
    "test_lock",
    "test_lock_group",
    "test_limits",
    "test_inspect",
    "test_locks",
    "test_stock",
    "test_once_cache",
    "test_simulate",
    "test_explain",
    "test_top",
    "test_servers",
)
MUTANTS = [
    Mutant(
        "a command about one key asks all nodes of a cluster",
        "cli/src/server/mod.rs",
        "groups.into_iter().partition(|group| is_alone ||",
        "groups.into_iter().partition(|group| !is_alone ||",
        suites=ONLY,
    ),
    Mutant(
        "the first address of a cluster is waited for before the next is asked",
        "cli/src/server/topology.rs",
        "thread::spawn(move || drop(tell.send(ask(place))));",
        "drop(tell.send(ask(place)));",
        suites=ONLY,
    ),
    Mutant(
        "a server is waited for as long as it likes",
        "cli/src/server/node.rs",
        "connection.set_read_timeout(Some(left)).map_err(fail)?;",
        "connection.set_read_timeout(None).map_err(fail)?;",
        suites=ONLY,
    ),
    Mutant(
        "a node of a cluster is taken for a server of its own",
        "cli/src/server/mod.rs",
        'if self.field("cluster_enabled") != Some("1") {',
        "if true {",
        suites=ONLY,
    ),
    Mutant(
        "a node of a cluster is a server of its own if another has all the slots that it lacks",
        "cli/src/server/topology.rs",
        "with_slots.peek().is_some() && with_slots.all(is_own)",
        "with_slots.peek().is_some() && with_slots.any(is_own)",
        suites=ONLY,
    ),
    Mutant(
        "serve begins at a node of a cluster",
        "cli/src/serve/mod.rs",
        "    server::check(&shared.url, CHECKED_WITHIN)?;\n",
        "    let _ = server::check(&shared.url, CHECKED_WITHIN);\n",
        suites=ONLY,
    ),
    Mutant(
        "where reports cannot be read, top says that no process reports",
        "cli/src/commands/top.rs",
        "Some(Err(refusal)) => Silence::Unknown(refusal.message),",
        "Some(Err(_)) => Silence::NoReports,",
        suites=ONLY,
    ),
    Mutant(
        "that a replica has lost its primary is not told by top, locks and inspect",
        "cli/src/server/mod.rs",
        "if *has_link { &mut unknown.notes } else { &mut unknown.old }.push(sentence.clone());",
        "if *has_link { unknown.notes.push(sentence.clone()) }",
        suites=ONLY,
    ),
    Mutant(
        "a line that came late is decided when it comes, not in its turn",
        f"{SIMULATE}/run.rs",
        "if !is_over && time.saturating_add(self.window) >= self.latest {",
        "if false {",
        suites=ONLY,
    ),
    Mutant(
        "a log that is too far out of order is replayed all the same",
        f"{SIMULATE}/run.rs",
        "if late_by > self.waiting.window {",
        "if late_by > u64::MAX - 1 {",
        suites=ONLY,
    ),
    Mutant(
        "the virtual host is counted as the client",
        f"{SIMULATE}/line.rs",
        "(!is_address(virtual_host) || has_port(virtual_host)).then(|| (second, third.end + 1))",
        "Some((first, second.end + 1))",
        suites=ONLY,
    ),
    Mutant(
        "the most in a moment is that of each rule alone",
        f"{CLI}/worst.rs",
        "rules.iter().map(in_a_moment).min().unwrap_or(0)",
        "in_a_moment(rule)",
        suites=ONLY,
    ),
    Mutant(
        "who gives up waiting leaves a waiter behind",
        LOCK,
        ".run_interruptibly(&mut || {",
        ".run_among_threads(&mut || {",
        suites=ONLY,
    ),
    Mutant(
        "signals and losses reach the command alone, not what it started",
        GROUP,
        "libc::kill(-self.leader, number)",
        "libc::kill(self.leader, number)",
        suites=ONLY,
    ),
    Mutant(
        "the lock is given back although processes of the group go on",
        LOCK,
        "while self.group.lives() {",
        "while false {",
        suites=ONLY,
    ),
    Mutant(
        "a command that reads the terminal never gets it",
        LOCK,
        "if wants_terminal && self.terminal.give() {",
        "if wants_terminal && self.terminal.is_theirs() {",
        suites=ONLY,
    ),
    Mutant(
        "a command goes on when nobody renews its lock any more",
        LOCK,
        "libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);",
        "",
        suites=ONLY,
    ),
    Mutant(
        "the program stops although its command did not",
        LOCK,
        "libc::SIGTSTP => self.is_to_stop = true,",
        "libc::SIGTSTP => return self.stop(libc::SIGTSTP, false),",
        suites=ONLY,
    ),
    Mutant(
        "who does not end after a loss is left alone",
        LOCK,
        "self.group.send(libc::SIGKILL);",
        "",
        suites=ONLY,
    ),
    Mutant(
        "how a command ends is lost where children are ignored",
        SIGNALS,
        "libc::signal(libc::SIGCHLD, libc::SIG_DFL)",
        "libc::SIGCHLD",
        suites=ONLY,
    ),
    Mutant(
        "what is ignored by order is caught",
        SIGNALS,
        "if before.assume_init().sa_sigaction == libc::SIG_IGN {",
        "if before.assume_init().sa_sigaction == usize::MAX {",
        suites=ONLY,
    ),
    Mutant(
        "who is unblocked begins anew",
        LIMIT,
        "limiter.block(of.bytes(), MIN_BLOCK)?.run()?;",
        "limiter.reset(of.bytes())?.run()?;",
        suites=ONLY,
    ),
    Mutant(
        "a block brings a rule of its own along",
        LIMIT,
        "Some(policy) => Ok((self.limiter(shared, policy)?, stored)),",
        "Some(_) => Ok((any, stored)),",
        suites=ONLY,
    ),
    Mutant(
        "a prefix is a pattern",
        f"{CLI}/raw.rs",
        "if matches!(byte, b'*' |",
        "if matches!(byte, b'\\0' |",
        suites=ONLY,
    ),
    Mutant(
        "JSON speaks to the terminal",
        f"{CLI}/output.rs",
        'print(&format!("{}\\n", plain(&json.to_string())))',
        'print(&format!("{}\\n", json))',
        suites=ONLY,
    ),
    Mutant(
        "a reader that goes away is an error",
        f"{CLI}/output.rs",
        "if error.kind() == ErrorKind::BrokenPipe",
        "if error.kind() == ErrorKind::Other",
        suites=ONLY,
    ),
    Mutant(
        "a key without TTL is fine",
        f"{CLI}/commands/inspect.rs",
        "if raw.ttl.is_none() && name.is_some() {",
        "if false {",
        suites=ONLY,
    ),
]
