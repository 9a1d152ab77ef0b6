"""`lock NAME -- command`: what signals and a terminal send, before the command runs and meanwhile."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import PATIENCE, Console, until
from listener import LISTEN, ends, is_held, reads

# What a shell does with its job: puts it in front, says when it stops and how it ends, and continues it when told.
SHELL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGCONT, lambda *_: os.killpg(job, signal.SIGCONT))
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    # Before the program says anything.
    print("job", os.getpid(), flush=True)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    print("stopped", flush=True)
print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_passed_on_and_the_command_says_how_it_ends(console: Console, number: signal.Signals) -> None:
    with console.start("lock", "job", *LISTEN, env={**os.environ, "ENDS_WITH": "11"}) as process:
        reads(process, "runs")
        process.send_signal(signal.SIGUSR1)
        reads(process, "SIGUSR1")
        process.send_signal(signal.SIGUSR2)
        reads(process, "SIGUSR2")
        assert is_held(console)
        process.send_signal(number)
        assert ends(process) == (11, f"{number.name}\n", "")
    assert not is_held(console)


def test_what_the_program_is_to_ignore_the_command_ignores(console: Console) -> None:
    script = "trap '' HUP; exec \"$@\""
    command = [
        str(word) for word in console.command("lock", "job", "sh", "-c", "kill -HUP $$; kill -HUP $PPID; echo on")
    ]
    ended = subprocess.run(
        ["sh", "-c", script, "sh", *command], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert (ended.returncode, ended.stdout) == (0, "on\n")


def test_it_tells_how_the_command_ends_where_nobody_wants_to_know(console: Console) -> None:
    ended = console.run(
        "lock", "job", "sh", "-c", "exit 7", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    assert (ended.returncode, ended.stderr) == (7, "")


def test_ctrl_c_reaches_the_command_once(console: Console) -> None:
    counting = (
        "import signal, time\nn=[]\nsignal.signal(signal.SIGINT, lambda *_: n.append(1))\nprint('runs', flush=True)\n"
    )
    counting += "while not n: time.sleep(0.01)\ntime.sleep(0.7)\nprint('got', len(n), flush=True)\n"
    command = console.command("lock", "job", sys.executable, "-c", counting)
    with with_a_terminal(command) as (process, master):
        reads(process, "runs")
        os.write(master, b"\x03")
        assert ends(process) == (0, "got 1\n", "")


@contextlib.contextmanager
def with_a_terminal(command: list[Any]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A command in the foreground of a terminal of its own, and the terminal's other end."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        command,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: own_terminal(slave),
    ) as process:
        yield process, master
    os.close(slave)
    os.close(master)


def own_terminal(slave: int) -> None:
    """Begins a session whose terminal this is."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def test_who_waits_is_ended_by_a_signal_and_leaves_nothing(console: Console) -> None:
    with console.start("lock", "job", *LISTEN) as holder:
        reads(holder, "runs")
        with console.start("lock", "job", "true") as waiter:
            until(lambda: console.client.lock("job").inspect().waiters == 1)
            waiter.send_signal(signal.SIGINT)
            assert ends(waiter) == (130, "", "")
        until(lambda: console.client.lock("job").inspect().waiters == 0)
        holder.terminate()
        ends(holder)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@contextlib.contextmanager
def on_a_terminal(console: Console, *words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A job of a shell with a terminal: groups of processes that nobody looks after cannot be stopped from there."""
    master, slave = pty.openpty()
    shell = [sys.executable, "-c", SHELL, *map(str, console.command(*words))]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(shell, stdin=slave, start_new_session=True, **pipes) as process:
        try:
            yield process, master
        finally:
            process.kill()
            os.close(slave)
            os.close(master)


def test_ctrl_z_stops_the_job_as_a_whole_and_it_goes_on(console: Console) -> None:
    with on_a_terminal(console, "lock", "--ttl", "10s", "job", *LISTEN) as (shell, master):
        job = int(reads(shell, "job").split()[1])
        reads(shell, "runs")
        os.write(master, b"\x1a")
        reads(shell, "stopped")
        (child,) = Path(f"/proc/{job}/task/{job}/children").read_text().split()
        until(lambda: state_of(int(child)) == "T")
        os.kill(shell.pid, signal.SIGCONT)
        reads(shell, "SIGCONT")
        assert is_held(console)
        os.kill(job, signal.SIGTERM)
        out, _ = shell.communicate(timeout=PATIENCE)
        assert out.endswith("SIGTERM\nended 9\n")


def test_who_was_stopped_for_longer_than_the_lock_lasts_is_told(console: Console) -> None:
    with on_a_terminal(console, "lock", "--ttl", "5s", "job", *LISTEN) as (shell, master):
        reads(shell, "job")
        reads(shell, "runs")
        os.write(master, b"\x1a")
        reads(shell, "stopped")
        until(lambda: not is_held(console))
        os.kill(shell.pid, signal.SIGCONT)
        out, error = shell.communicate(timeout=PATIENCE)
        assert "SIGTERM\n" in out
        assert out.endswith("ended 9\n")
        assert "job is lost" in error


def test_what_cannot_be_stopped_is_renewed(console: Console) -> None:
    """A group of processes without a terminal ignores what a terminal sends, and so does the program."""
    with console.start("lock", "--ttl", "6s", "job", *LISTEN, start_new_session=True) as process:
        token = int(reads(process, "runs").split()[1])
        process.send_signal(signal.SIGTSTP)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            assert [holder.token for holder in console.client.lock("job").inspect().holders] == [token]
            time.sleep(0.05)
        process.terminate()
        assert ends(process)[0] == 9
