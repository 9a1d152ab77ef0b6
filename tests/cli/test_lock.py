"""`lock NAME -- command`: beside `flock`, and where a lock ends while the command runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from console import PATIENCE, Console, until
from listener import LISTEN, ends, is_held, reads
from servers import Server

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


def test_it_is_renewed_while_the_command_runs(console: Console) -> None:
    with console.start("lock", "--ttl", "6s", "job", *LISTEN) as process:
        token = int(reads(process, "runs").split()[1])
        ends_at = set[float]()

        def renewed_twice() -> bool:
            (holder,) = console.client.lock("job").inspect().holders
            assert holder.token == token
            ends_at.add(holder.until)
            return len(ends_at) > 2

        # A renewal may come some seconds late.
        until(renewed_twice)
        process.terminate()
        assert ends(process)[0] == 9


@pytest.mark.parametrize("how", ["deleted", "released", "taken"])
def test_a_loss_ends_the_command(console: Console, how: str) -> None:
    # The loss is found by a renewal; by itself it does not come before `locks release` has looked.
    with console.start("lock", "--ttl", "9s", "job", *LISTEN) as process:
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
    with console.start("lock", "--ttl", "6s", "--grace", "300ms", "job", sys.executable, "-c", deaf) as process:
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
    # The command listens by then, however slowly it starts.
    with console.start("lock", "--ttl", "4s", "--max-hold", "4s", "job", *LISTEN) as process:
        reads(process, "runs")
        assert ends(process)[0] == 9


def test_a_server_that_goes_away_ends_the_command_when_the_lock_may_be_over() -> None:
    with Server("redis-7.0") as server:
        console = Console(server.url, "ql")
        with console.start("lock", "--ttl", "6s", "job", *LISTEN) as process:
            reads(process, "runs")
            began = time.monotonic()
            server.kill9()
            code, out, error = ends(process)
            assert (code, out) == (9, "SIGTERM\n")
            assert "job is lost" in error
            assert time.monotonic() - began < PATIENCE / 2
        console.close()


def test_a_killed_program_ends_the_command_and_leaves_the_lock_to_its_ttl(console: Console) -> None:
    with console.start("lock", "--ttl", "8s", "job", *LISTEN) as process:
        reads(process, "runs")
        process.kill()
        # The pipe ends with the command, which the kernel may signal once for each thread of the program.
        code, said, _ = ends(process)
        assert code == -9
        assert said.startswith("SIGTERM")
    began = time.monotonic()
    assert is_held(console)
    assert console.run("lock", "job", "true").returncode == 0
    # Sooner than that of who gives none.
    assert time.monotonic() - began < 20


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
        (("lock", "--label", "a\rb", "job", "true"), "control character"),
        (("lock", "-E", "256", "job", "true"), "256"),
    ],
)
def test_wrong_usage_runs_nothing(console: Console, words: tuple[str, ...], said: str) -> None:
    ended = console.run(*words)
    assert ended.returncode == 2
    assert said in ended.stderr


def test_a_command_of_any_name_makes_a_label(console: Console, tmp_path: Path) -> None:
    command = tmp_path / "two\r\nlines\t\x7f"
    command.symlink_to("/bin/true")
    assert ends(console.start("lock", "job", str(command))) == (0, "", "")


@pytest.mark.parametrize("many", [25, pytest.param(100, marks=pytest.mark.long)])
def test_many_at_once_take_turns(console: Console, tmp_path: Path, many: int) -> None:
    log = tmp_path / "log"
    command = (sys.executable, "-S", "-E", "-c", INSIDE, str(tmp_path / "inside"), str(log))
    crowd = [console.start("lock", "job", "--", *command) for _ in range(many)]
    # Each turn starts a process.
    assert [ends(process, within=300.0) for process in crowd] == [(0, "", "")] * many
    tokens = [int(token) for token in log.read_text().split()]
    assert len(tokens) == many
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
