#!/usr/bin/env python3
"""Runs a command next to one real server of each kind and two clusters: `with_servers.py [--only NAME] -- COMMAND ...`.
With `--only redis-7.0` that is the only server and there is no cluster. QUOTALOCK_TEST_ONLY names it then: without that
variable, tests fail if a server or a cluster is missing.

The command finds them in QUOTALOCK_TEST_SERVERS and QUOTALOCK_TEST_CLUSTERS, JSON objects from name to URL, their
programs in QUOTALOCK_TEST_BINARIES (a test that changes a server's settings starts its own), and the Unix socket of
Redis 7.0 in QUOTALOCK_TEST_UNIX. The exit code is the command's own; 1, with a message, when a server
can't be had.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from types import FrameType

from cluster import Cluster
from servers import NAMES, Server, ServerError, binary

# What each cluster is called, and what its three primaries are. None is given up, however busy the machine is.
CLUSTERS = {"cluster-7.0": "redis-7.0", "cluster-9.1": "valkey-9.1"}
PATIENT_MS = 60_000

# How long the command may take to end after it was asked to.
ENDED_WITHIN = 10.0


def main(arguments: list[str]) -> int:
    """Starts the servers, runs the command and stops the servers, whatever happens in between."""
    names: tuple[str, ...] = NAMES
    clusters_of = CLUSTERS
    if arguments[:1] == ["--only"]:
        names, clusters_of, arguments = tuple(arguments[1:2]), {}, arguments[2:]
    if len(arguments) < 2 or arguments[0] != "--":
        print("usage: with_servers.py [--only NAME] -- COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    try:
        with contextlib.ExitStack() as stack:
            # They start slowly, so they begin first.
            clusters = {name: Cluster(nodes, timeout_ms=PATIENT_MS) for name, nodes in clusters_of.items()}
            for cluster in clusters.values():
                stack.callback(cluster.close)
                cluster.start(wait=False)
            servers = {name: stack.enter_context(Server(name)) for name in names}
            for cluster in clusters.values():
                cluster.wait_until_it_serves()
            only = {"QUOTALOCK_TEST_ONLY": names[0]} if names != NAMES else {}
            return run(arguments[1:], environment(servers, clusters) | only)
    except ServerError as error:
        print(f"with_servers: {error}", file=sys.stderr)
        return 1


def environment(servers: dict[str, Server], clusters: dict[str, Cluster]) -> dict[str, str]:
    """Names the servers in a copy of this environment, without the address a developer may have set for their own."""
    inherited = {name: value for name, value in os.environ.items() if name != "QUOTALOCK_URL"}
    return inherited | {
        "QUOTALOCK_TEST_SERVERS": json.dumps({name: server.url for name, server in servers.items()}),
        "QUOTALOCK_TEST_BINARIES": json.dumps({name: binary(server.name) for name, server in servers.items()}),
        "QUOTALOCK_TEST_CLUSTERS": json.dumps({name: cluster.url for name, cluster in clusters.items()}),
        "QUOTALOCK_TEST_UNIX": servers["redis-7.0"].unix_url,
    }


def run(command: list[str], env: dict[str, str]) -> int:
    """Runs the command to its end and returns its exit code; ends it, with its children, when this process is ended.

    Away from a terminal the command gets a process group of its own, so that one signal reaches all of it. At a
    terminal it stays in ours: a debugger in it can read, and Ctrl-C reaches it anyway.
    """
    alone = not sys.stdin.isatty()
    try:
        process = subprocess.Popen(command, env=env, start_new_session=alone)
    except OSError as error:
        print(f"with_servers: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    try:
        code = process.wait()
    finally:
        if process.returncode is None:
            _end(process, group=alone)
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes], *, group: bool) -> None:
    send = os.killpg if group else os.kill
    send(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(ENDED_WITHIN)
    # Not only for a command that didn't listen: what it had started may have stayed behind in the group.
    with contextlib.suppress(ProcessLookupError):
        send(process.pid, signal.SIGKILL)
    process.wait()


def _leave(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second signal must not interrupt the cleaning up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
