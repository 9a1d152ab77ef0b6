"""Faults of `quotalock serve`: who gets in, who may change what, and what it forgets."""

from __future__ import annotations

from mutant import Mutant

SERVE = "cli/src/serve"
TESTS = ("test_serve", "test_serve_login", "test_serve_load", "test_serve_metrics")
MUTANTS = [
    Mutant(
        "wrong tokens of others lock a scrape out that has the right one",
        f"{SERVE}/web.rs",
        "is_locked_out && site.sessions.show_slowly(token).await",
        "false",
        suites=("cli",),
    ),
    Mutant(
        "half-open requests keep their places",
        f"{SERVE}/listen.rs",
        "seat.end.notify_one();",
        "drop(seat);",
        suites=("cli",),
    ),
    Mutant(
        "the keys of a server that is down are counted as none",
        f"{SERVE}/seen.rs",
        "(self.counted, self.scan.unknown_since_ms) = (None, since);",
        "self.scan.unknown_since_ms = since;",
        suites=("cli",),
    ),
    Mutant(
        "any token of the right length opens a session",
        f"{SERVE}/sessions.rs",
        "        differs |= usize::from(byte ^ known[at % known.len()]);\n",
        "",
        suites=("cli",),
    ),
    Mutant(
        "wrong tokens are not counted",
        f"{SERVE}/sessions.rs",
        "let _ = limiter.consume(key, 1)",
        "let _ = limiter.peek(key, 1)",
        suites=("cli",),
    ),
    Mutant(
        "any host leads here",
        f"{SERVE}/guard.rs",
        "site.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))",
        "site.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || !name.is_empty())",
        suites=("cli",),
    ),
    Mutant(
        "a page of any origin may post",
        f"{SERVE}/guard.rs",
        "place.is_some_and(|place| place.eq_ignore_ascii_case(host))",
        "place.is_some_and(|place| !place.is_empty() && !host.is_empty())",
        suites=("cli",),
    ),
    Mutant(
        "a POST shows nothing of its session",
        f"{SERVE}/sessions.rs",
        "self.csrf(name).is_some_and(|csrf| is_same(shown.as_bytes(), csrf.as_bytes()))",
        "self.csrf(name).is_some_and(|csrf| !csrf.is_empty() || is_same(shown.as_bytes(), csrf.as_bytes()))",
        suites=("cli",),
    ),
    Mutant(
        "a session outlives its logout",
        f"{SERVE}/sessions.rs",
        "self.sessions().remove(name);",
        "self.sessions().get(name);",
        suites=("cli",),
    ),
    Mutant(
        "the page changes what it may only show",
        f"{SERVE}/web.rs",
        "    if !site.writes.are_allowed() {",
        "    if !site.writes.are_allowed() && site.hosts.is_empty() {",
        suites=("cli",),
    ),
    Mutant(
        "a browser that goes keeps its place",
        f"{SERVE}/events.rs",
        "self.0.browsers.fetch_sub(1, Ordering::Relaxed);",
        "self.0.browsers.fetch_sub(0, Ordering::Relaxed);",
        suites=("cli",),
    ),
    Mutant(
        "what a round does not see stays",
        f"{SERVE}/seen.rs",
        "self.0.retain(|_, kept| kept.round == round);",
        "self.0.retain(|_, kept| kept.round <= round);",
        suites=("cli",),
    ),
    Mutant(
        "a server that does not answer is asked again and again",
        f"{SERVE}/nodes.rs",
        "servers.nodes().for_each(|node| node.wait_for(WITHIN));",
        "",
        suites=("cli",),
    ),
    Mutant(
        "the page never looks at a key again",
        "cli/src/serve/sheet.rs",
        "                track.look(value.clone(), self.now / 1_000);\n",
        "                let _ = &mut track;\n",
        suites=("cli",),
    ),
]
