"""`lock NAME -- command`: beside `flock`, and where a lock ends while the command runs."""

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
from servers import Server

# Says that it runs, then waits for a signal, says which, and ends.
LISTENER = """
import os, signal, sys, time
def say(number, frame):
    print(signal.Signals(number).name, flush=True)
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        sys.exit(int(os.environ.get("ENDS_WITH", "9")))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
    signal.signal(number, say)
if os.environ.get("IS_APART"):
    os.setpgrp()
print("runs", os.environ["QUOTALOCK_TOKEN"], flush=True)
while True:
    time.sleep(0.05)
"""
LISTEN = (sys.executable, "-c", LISTENER)

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
    os.execv(sys.argv[1], sys.argv[1:])
print("job", job, flush=True)
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    print("stopped", flush=True)
print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""

# Fails if another is inside; the file is there while one is.
INSIDE = """
import os, sys, time
inside = sys.argv[1]
os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
with open(sys.argv[2], "a") as log:
    log.write(os.environ["QUOTALOCK_TOKEN"] + "\\n")
time.sleep(0.01)
os.unlink(inside)
"""


def reads(process: subprocess.Popen[str], wanted: str) -> str:
    """The next line, which begins so."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith(wanted), (line, process.stderr and process.poll() is not None and process.stderr.read())
    return line.rstrip("\n")


def ends(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """How it ends, and what else it said."""
    out, error = process.communicate(timeout=PATIENCE)
    return process.returncode, out, error


def is_held(console: Console, name: str = "job") -> bool:
    return bool(console.client.lock(name).inspect().holders)


@pytest.mark.parametrize(
    "command",
    [
        ("true",),
        ("false",),
        ("sh", "-c", "exit 7"),
        ("sh", "-c", "exit 255"),
        ("sh", "-c", "kill -9 $$"),
        ("sh", "-c", "kill -TERM $$"),
        ("sh", "-c", "kill -INT $$"),
    ],
)
def test_it_ends_as_the_command_does_like_flock(console: Console, tmp_path: Path, command: tuple[str, ...]) -> None:
    flock = subprocess.run(["flock", str(tmp_path / "lock"), *command], check=False, timeout=PATIENCE)
    assert console.run("lock", "job", "--", *command).returncode == flock.returncode
    assert console.run("lock", "job", *command).returncode == flock.returncode
    assert not is_held(console)


def test_a_command_that_cannot_be_run_is_told_as_a_shell_tells(console: Console, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for command, code in {"no-such-command": 127, "/no/such/path": 127, str(plain): 126, str(tmp_path): 126}.items():
        ended = console.run("lock", "job", command)
        assert ended.returncode == code
        assert subprocess.run(["sh", "-c", command], check=False, capture_output=True).returncode == code
        assert f"cannot run {command}" in ended.stderr
        assert not is_held(console)


def test_who_does_not_get_it_ends_like_flock(console: Console, tmp_path: Path) -> None:
    file = str(tmp_path / "lock")
    with subprocess.Popen(["flock", file, "sleep", "60"]) as flock:
        until(lambda: subprocess.run(["flock", "-n", file, "true"], check=False).returncode)
        with console.start("lock", "job", *LISTEN) as holder:
            reads(holder, "runs")
            for words in (["-n"], ["-n", "-E", "42"], ["-w", "0.2"], ["-w", "0.2", "-E", "7"]):
                other = subprocess.run(["flock", *words, file, "true"], check=False, timeout=PATIENCE)
                ours = [word.replace("0.2", "200ms") for word in words]
                ended = console.run("lock", *ours, "job", "true")
                assert ended.returncode == other.returncode
                assert f"process {holder.pid}" in ended.stderr
            holder.terminate()
            assert ends(holder)[0] == 9
        flock.kill()
    assert console.run("lock", "-n", "job", "true").returncode == 0


def test_the_command_gets_what_it_was_given(console: Console) -> None:
    script = 'cat; echo $0 "$@"; echo $QUOTALOCK_TOKEN; echo oops >&2'
    before = console.client.lock("job")
    before.acquire()
    before.release()
    ended = console.run("lock", "job", "--", "sh", "-c", script, "--json", "-n", "a b", input="from stdin\n")
    first, second, token = ended.stdout.splitlines()
    assert (first, second, ended.stderr) == ("from stdin", "--json -n a b", "oops\n")
    assert int(token) == console.client.lock("job").inspect().token
    assert ended.returncode == 0


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
    master, slave = pty.openpty()
    counting = (
        "import signal, time\nn=[]\nsignal.signal(signal.SIGINT, lambda *_: n.append(1))\nprint('runs', flush=True)\n"
    )
    counting += "while not n: time.sleep(0.01)\ntime.sleep(0.7)\nprint('got', len(n), flush=True)\n"
    command = console.command("lock", "job", sys.executable, "-c", counting)
    with subprocess.Popen(
        command,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: own_terminal(slave),
    ) as process:
        reads(process, "runs")
        os.write(master, b"\x03")
        assert ends(process) == (0, "got 1\n", "")
    os.close(slave)
    os.close(master)


def test_what_the_terminal_sends_is_not_passed_on(console: Console) -> None:
    """A command that has left the job hears nothing of it; one that is in the job has heard it already."""
    master, slave = pty.openpty()
    with console.start(
        "lock", "job", *LISTEN, stdin=slave, env={**os.environ, "IS_APART": "1"}, preexec_fn=lambda: own_terminal(slave)
    ) as process:
        reads(process, "runs")
        os.write(master, b"\x03")
        # The terminal has sent it when it shows it, and the signals that the program gets reach its command in order.
        shown = b""
        while b"^C" not in shown:
            shown += os.read(master, 64)
        process.send_signal(signal.SIGUSR1)
        reads(process, "SIGUSR1")
        process.send_signal(signal.SIGTERM)
        assert ends(process)[0] == 9
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
        assert state_of(int(child)) == "T"
        os.kill(shell.pid, signal.SIGCONT)
        reads(shell, "SIGCONT")
        assert is_held(console)
        os.kill(job, signal.SIGTERM)
        out, _ = shell.communicate(timeout=PATIENCE)
        assert out.endswith("SIGTERM\nended 9\n")


def test_who_was_stopped_for_longer_than_the_lock_lasts_is_told(console: Console) -> None:
    with on_a_terminal(console, "lock", "--ttl", "600ms", "job", *LISTEN) as (shell, master):
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
    with console.start("lock", "--ttl", "2s", "job", *LISTEN, start_new_session=True) as process:
        token = int(reads(process, "runs").split()[1])
        process.send_signal(signal.SIGTSTP)
        end = time.monotonic() + 4.5
        while time.monotonic() < end:
            assert [holder.token for holder in console.client.lock("job").inspect().holders] == [token]
            time.sleep(0.05)
        process.terminate()
        assert ends(process)[0] == 9


def test_it_is_renewed_while_the_command_runs(console: Console) -> None:
    with console.start("lock", "--ttl", "2s", "job", *LISTEN) as process:
        token = int(reads(process, "runs").split()[1])
        end = time.monotonic() + 4.5
        while time.monotonic() < end:
            (holder,) = console.client.lock("job").inspect().holders
            assert holder.token == token
            time.sleep(0.05)
        process.terminate()
        assert ends(process)[0] == 9


@pytest.mark.parametrize("how", ["deleted", "released", "taken"])
def test_a_loss_ends_the_command(console: Console, how: str) -> None:
    with console.start("lock", "--ttl", "1s", "job", *LISTEN) as process:
        token = int(reads(process, "runs").split()[1])
        if how == "deleted":
            console.redis.delete(f"{console.prefix}:lock:{{job}}")
        else:
            said = console.run("locks", "release", "job", "--yes")
            assert said.returncode == 0
            assert f"process {process.pid} on " in said.stderr
        if how == "taken":
            other = console.client.lock("job")
            assert other.acquire()
            assert other.token > token
        code, out, error = ends(process)
        assert (code, out) == (9, "SIGTERM\n")
        assert "job is lost: another may hold it, and the command gets SIGTERM" in error
        if how == "taken":
            assert other.extend()
            other.release()


def test_who_does_not_end_after_a_loss_is_killed(console: Console) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('runs', flush=True); time.sleep(600)"
    )
    with console.start("lock", "--ttl", "600ms", "--grace", "300ms", "job", sys.executable, "-c", deaf) as process:
        reads(process, "runs")
        console.redis.delete(f"{console.prefix}:lock:{{job}}")
        code, _, error = ends(process)
        assert code == 137
        assert "did not end within 300ms" in error


def test_a_command_may_go_on_after_a_loss(console: Console) -> None:
    with console.start("lock", "--ttl", "600ms", "--on-loss", "continue", "job", *LISTEN) as process:
        reads(process, "runs")
        console.redis.delete(f"{console.prefix}:lock:{{job}}")
        assert process.stderr
        assert "job is lost: another may hold it, and the command goes on" in process.stderr.readline()
        process.send_signal(signal.SIGUSR1)
        reads(process, "SIGUSR1")
        process.terminate()
        assert ends(process)[0] == 9


def test_it_is_held_for_no_longer_than_was_said(console: Console) -> None:
    with console.start("lock", "--ttl", "500ms", "--max-hold", "1s", "job", *LISTEN) as process:
        reads(process, "runs")
        assert ends(process)[0] == 9


def test_a_server_that_goes_away_ends_the_command_when_the_lock_may_be_over() -> None:
    with Server("redis-7.0") as server:
        console = Console(server.url, "ql")
        with console.start("lock", "--ttl", "1s", "job", *LISTEN) as process:
            reads(process, "runs")
            began = time.monotonic()
            server.kill9()
            code, out, error = ends(process)
            assert (code, out) == (9, "SIGTERM\n")
            assert "job is lost" in error
            assert time.monotonic() - began < PATIENCE / 2
        console.close()


def test_a_killed_program_ends_the_command_and_leaves_the_lock_to_its_ttl(console: Console) -> None:
    with console.start("lock", "--ttl", "2s", "job", *LISTEN) as process:
        reads(process, "runs")
        process.kill()
        # The pipe ends with the command.
        assert ends(process)[:2] == (-9, "SIGTERM\n")
    began = time.monotonic()
    assert is_held(console)
    assert console.run("lock", "job", "true").returncode == 0
    assert time.monotonic() - began < 10


def test_readers_are_together_and_a_writer_alone(console: Console) -> None:
    with (
        console.start("lock", "-s", "job", *LISTEN) as first,
        console.start("lock", "--shared", "job", *LISTEN) as second,
    ):
        reads(first, "runs")
        reads(second, "runs")
        assert console.run("lock", "-n", "-x", "job", "true").returncode == 1
        assert len(console.json("locks")["locks"][0]["holders"]) == 2
        for process in (first, second):
            process.terminate()
            ends(process)
    assert console.run("lock", "-n", "-x", "job", "true").returncode == 0


def test_a_semaphore_has_its_permits(console: Console) -> None:
    with console.start("lock", "--permits", "3", "--weight", "2", "job", *LISTEN) as process:
        reads(process, "runs")
        assert console.run("lock", "-n", "--permits", "3", "job", "true").returncode == 0
        assert console.run("lock", "-n", "--permits", "3", "--weight", "2", "job", "true").returncode == 1
        process.terminate()
        ends(process)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lock",), "NAME"),
        (("lock", "job"), "COMMAND"),
        (("lock", "", "true"), "name is empty"),
        (("lock", "--ttl", "1ms", "job", "true"), "ttl of 1ms"),
        (("lock", "--ttl", "30", "job", "true"), "no unit"),
        (("lock", "-s", "-x", "job", "true"), "cannot be used"),
        (("lock", "-n", "-w", "1s", "job", "true"), "cannot be used"),
        (("lock", "--weight", "2", "job", "true"), "--permits"),
        (("lock", "--permits", "2", "--weight", "3", "job", "true"), "weight 3"),
        (("lock", "--label", "x" * 129, "job", "true"), "129 bytes"),
        (("lock", "-E", "256", "job", "true"), "256"),
    ],
)
def test_wrong_usage_runs_nothing(console: Console, words: tuple[str, ...], said: str) -> None:
    ended = console.run(*words)
    assert ended.returncode == 2
    assert said in ended.stderr


def test_a_hundred_at_once_take_turns(console: Console, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = (sys.executable, "-S", "-E", "-c", INSIDE, str(tmp_path / "inside"), str(log))
    crowd = [console.start("lock", "job", "--", *command) for _ in range(100)]
    assert [ends(process) for process in crowd] == [(0, "", "")] * 100
    tokens = [int(token) for token in log.read_text().split()]
    assert len(tokens) == 100
    assert tokens == sorted(set(tokens))


def test_it_is_the_lock_of_applications_everywhere(everywhere: Console) -> None:
    lock = everywhere.client.lock("job")
    with everywhere.start("lock", "job", *LISTEN) as process:
        token = int(reads(process, "runs").split()[1])
        assert not lock.acquire(wait=0.0)
        (holder,) = lock.inspect().holders
        assert (holder.pid, holder.token, holder.label) == (process.pid, token, sys.executable)
        process.terminate()
        ends(process)
    assert lock.acquire(wait=0.0)
    assert everywhere.run("lock", "-n", "job", "true").returncode == 1
    lock.release()
