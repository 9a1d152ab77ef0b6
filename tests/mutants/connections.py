"""Faults of connections: what they carry, who gives them up, whose they are."""

from __future__ import annotations

from mutant import RUST, Edit, Mutant

TESTS = ("stray", "fork", "refusals", "refusing", "rights", "pressure", "hostile", "secrets")
MUTANTS = [
    Mutant(
        "a server that reads its dump is taken for broken",
        f"{RUST}/call/refusal.rs",
        'const PASSING: [&str; 6] = ["LOADING", ',
        "const PASSING: [&str; 5] = [",
    ),
    Mutant(
        "each client has a memory of its own",
        f"{RUST}/session/mod.rs",
        "Endpoint::Memory(name) => Part::of(name),",
        "Endpoint::Memory(_) => Part::default(),",
    ),
    Mutant(
        "a memory is kept when nobody has it any more",
        f"{RUST}/memory/store.rs",
        "if *clients == 0 {",
        "if *clients == usize::MAX {",
    ),
    Mutant(
        "one client's end takes the memory of others along",
        f"{RUST}/memory/store.rs",
        "*clients -= 1;",
        "*clients = 0;",
    ),
    Mutant(
        "the time of one test has what another client keeps forgotten",
        f"{RUST}/memory/store.rs",
        "View { table: &mut table, wall, grace }",
        "View { table: &mut table, wall: time.unwrap_or(wall), grace }",
    ),
    Mutant(
        "a fault within memory makes all its clients useless",
        f"{RUST}/memory/store.rs",
        "table.entries.clear();\n            self.table.clear_poison();",
        "self.table.clear_poison();",
    ),
    Mutant(
        "a child uses its parent's sockets",
        f"{RUST}/base/fork.rs",
        "GENERATION.fetch_add(1, Ordering::Relaxed);",
        "GENERATION.fetch_add(0, Ordering::Relaxed);",
    ),
    Mutant(
        "bytes behind a reply stay for the next call",
        f"{RUST}/connection/pool.rs",
        "if wire.is_drained()",
        "if true",
    ),
    Mutant(
        "bytes that nobody asked for are no reason to give a connection up",
        f"{RUST}/connection/stream.rs",
        "_ => true,",
        "_ => false,",
    ),
    Mutant(
        "a full server's connections are given up for those it refused",
        f"{RUST}/connection/pool.rs",
        "!idle.connections.is_empty()",
        "false",
    ),
    Mutant(
        "a link takes more than the server",
        f"{RUST}/redis/pipelined.rs",
        "self.out.len() - self.written >= MOST_UNSENT",
        "false",
    ),
    Mutant(
        "a greeting that drips is waited for",
        f"{RUST}/connection/dial.rs",
        "Ok(None) => patience.look_up().map_err(|e| failed(server, &e))?,",
        "Ok(None) => {}",
    ),
    Mutant(
        "a handshake of TLS that drips is waited for",
        f"{RUST}/connection/stream.rs",
        "Ok(()) => patience.look_up()?,",
        "Ok(()) => {}",
        also=Edit(
            f"{RUST}/connection/deadline.rs",
            "self.look_up()?;\n        loop {\n            match poll(fd, writing, Instant::now() + self.slice()) {",
            "loop {\n            match poll(fd, writing, Instant::now() + SLICE) {",
        ),
    ),
    Mutant(
        "a reply that drips is waited for",
        f"{RUST}/connection/wire.rs",
        "if now >= deadline || now.duration_since(*asked.get_or_insert(now)) >= SLICE {",
        "if false {",
    ),
    Mutant(
        "who takes a request in crumbs is waited for",
        f"{RUST}/connection/wire.rs",
        "if written < self.out.len() {\n                if Instant::now() >= deadline {",
        "if written < self.out.len() {\n                if false {",
    ),
    Mutant(
        "a part of an answer keeps a link",
        f"{RUST}/redis/pipelined.rs",
        "Ok(None) => return None,",
        "Ok(None) => { self.heard = Instant::now(); return None }",
    ),
    Mutant(
        "who waits is kept by hints for others",
        f"{RUST}/connection/subscription.rs",
        "Ok(()) => patience.look_up(),",
        "Ok(()) => Ok(()),",
    ),
    Mutant(
        "hints that never end are read to their end",
        f"{RUST}/connection/subscription.rs",
        "if *reads >= READS_AT_ONCE",
        "if false",
    ),
    Mutant(
        "an array may have as many elements as the peer says",
        f"{RUST}/call/resp.rs",
        "_ => match length(line, items)? {",
        "_ => match length(line, usize::MAX)? {",
    ),
    Mutant(
        "a value may be as long as the peer says",
        f"{RUST}/call/resp.rs",
        "b'$' => match length(line, bytes.saturating_sub(self.at - begin + 2))? {",
        "b'$' => match length(line, 512 << 20)? {",
    ),
    Mutant(
        "what was understood of a reply does not count",
        f"{RUST}/call/resp.rs",
        "self.taken.bytes += end - self.start;",
        "",
    ),
    Mutant(
        "a greeting may have more than was asked for",
        f"{RUST}/connection/dial.rs",
        "if !parser.is_empty() {",
        "if false {",
    ),
    Mutant(
        "each dial has a thread that looks its name up",
        f"{RUST}/connection/resolve.rs",
        "if waiting.len() > 1 {",
        "if false {",
    ),
    Mutant(
        "a refusal that lasts is not remembered",
        f"{RUST}/session/exchange.rs",
        "self.session.engine().refusal_breaker.refused(scope, &error);",
        "",
    ),
    Mutant(
        "that something was read shows that writes work",
        f"{RUST}/call/refusal_breaker.rs",
        "if wrote || !self.only_writes.load(Ordering::Relaxed) {",
        "if true {",
    ),
    Mutant(
        "what stands in for Redis is forgotten when it has read something",
        f"{RUST}/session/exchange.rs",
        "        if wrote {\n            stand_in",
        "        if true {\n            stand_in",
    ),
    Mutant(
        "what stands in for Redis is forgotten when it has written another key",
        f"{RUST}/memory/stand_in.rs",
        "if quiet >= QUIET {",
        "if true {",
    ),
    Mutant(
        "whom Redis denies, what stands in for it admits",
        f"{RUST}/session/exchange.rs",
        "Err(_) if glances && refusal_breaker.reads()",
        "Err(_) if false && glances && refusal_breaker.reads()",
    ),
    Mutant(
        "who was denied because nobody could be asked is said to be over the limit",
        f"{RUST}/limiter/call.rs",
        "if decision.source == Source::Closed {",
        "if false {",
    ),
    Mutant(
        "a peer is quoted that quotes the login",
        f"{RUST}/base/endpoint.rs",
        "let Some(password) = &self.password else { return Some(shown(said.as_bytes())) };",
        "let Some(password) = self.password.as_ref().filter(|_| false) else { return Some(shown(said.as_bytes())) };",
    ),
    Mutant(
        "a url is shown whose '@' was forgotten",
        f"{RUST}/base/endpoint.rs",
        "let place = if is_sound &&",
        "let place = if true ||",
    ),
    Mutant(
        "a url may be a prefix",
        f"{RUST}/base/key.rs",
        'if prefix.contains("://") {',
        "if false {",
    ),
    Mutant(
        "any certificate that is its own CA is trusted",
        f"{RUST}/connection/trust.rs",
        "Err(error) if is_ca(&error) && self.certificates.iter().any(|pinned| pinned == end_entity) => {",
        "Err(error) if is_ca(&error) => {",
    ),
    Mutant(
        "what newer servers say of a lacking right is no right",
        f"{RUST}/call/refusal.rs",
        '"ACL failure in script"]',
        '"ACL failure in a script"]',
    ),
    Mutant(
        "what older servers say of a lacking channel is no right",
        f"{RUST}/call/refusal.rs",
        '"The user executing the script can\'t"',
        '"The user executing the script can\'t run this command"',
    ),
]
