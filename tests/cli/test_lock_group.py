"""`lock NAME -- command`: shells whose children run in the background, in pipelines and behind traps."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from console import PATIENCE, Console, until
from listener import LISTEN, ends, is_held, reads
from test_lock_signals import on_a_terminal, own_terminal, state_of, with_a_terminal

# Says which process it is, then which signals it gets. It ends once a file says so, however it is asked.
WORKER = """
import os, signal, sys, time
folder, name = sys.argv[1:3]
def note(number, frame):
    with open(f"{folder}/{name}.got", "a") as log:
        log.write(signal.Signals(number).name + "\\n")
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, note)
with open(f"{folder}/{name}.new", "w") as file:
    file.write(str(os.getpid()))
os.rename(f"{folder}/{name}.new", f"{folder}/{name}.pid")
# A test that failed does not come to say so.
end = time.monotonic() + 150
while not os.path.exists(f"{folder}/may-end") and time.monotonic() < end:
    time.sleep(0.02)
"""


class Crew:
    """Workers of a shell, whom a test tells when they may end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        script = folder / "worker.py"
        script.write_text(WORKER)
        self.start = f"{sys.executable} -S -E {script} {folder}"

    def pid(self, name: str) -> int:
        return int(until(lambda: (it := self.folder / f"{name}.pid").exists() and it.read_text()))

    def got(self, name: str) -> list[str]:
        it = self.folder / f"{name}.got"
        return it.read_text().split() if it.exists() else []

    def hears(self, name: str, number: signal.Signals) -> None:
        until(lambda: number.name in self.got(name))

    def may_end(self) -> None:
        (self.folder / "may-end").touch()


@pytest.fixture
def crew(tmp_path: Path) -> Crew:
    return Crew(tmp_path)


def lives(pid: int) -> bool:
    try:
        return state_of(pid) != "Z"
    except OSError:
        return False


SHAPES = {
    "a child in the background": "{0} a & {0} b & wait",
    "a pipeline": "{0} a | {0} b",
    "a subshell": "({0} a; true) & ({0} b; true)",
    "a trap that ends the shell": "trap 'exit 3' TERM INT HUP QUIT; {0} a & {0} b & wait",
    "a function in the background": "f() {{ {0} a; true; }}; f & {0} b; true",
}


ASKED = [
    # Each signal with each shape, and each of these with each shell; all of it takes long.
    pytest.param(number, shape, shell, marks=[pytest.mark.long] if (at + of + nth) % 2 else [])
    for at, number in enumerate([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
    for of, shape in enumerate(SHAPES)
    for nth, shell in enumerate(["sh", "bash"])
]


@pytest.mark.parametrize(("number", "shape", "shell"), ASKED)
def test_a_signal_reaches_all_and_the_lock_is_kept_until_all_have_ended(
    console: Console, crew: Crew, number: signal.Signals, shape: str, shell: str
) -> None:
    script = SHAPES[shape].format(crew.start)
    with console.start("lock", "--grace", "10m", "job", "--", shell, "-c", script) as process:
        workers = [crew.pid("a"), crew.pid("b")]
        process.send_signal(number)
        for name in ("a", "b"):
            crew.hears(name, number)
        assert is_held(console)
        assert process.poll() is None
        crew.may_end()
        code, _, _ = ends(process)
        assert code == 3 or code >= 128 or code == 0
    assert not any(map(lives, workers))
    assert not is_held(console)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loss_reaches_all(console: Console, crew: Crew, shape: str) -> None:
    script = SHAPES[shape].format(crew.start)
    with console.start("lock", "--ttl", "6s", "--grace", "10m", "job", "--", "sh", "-c", script) as process:
        workers = [crew.pid("a"), crew.pid("b")]
        console.redis.delete(f"{console.prefix}:lock:{{job}}")
        for name in ("a", "b"):
            crew.hears(name, signal.SIGTERM)
        assert process.poll() is None
        crew.may_end()
        assert "job is lost" in ends(process)[2]
    assert not any(map(lives, workers))


def test_who_does_not_end_after_a_loss_is_killed_wherever_it_is_in_the_group(console: Console, crew: Crew) -> None:
    script = f"{crew.start} a & {crew.start} b | cat"
    with console.start("lock", "--ttl", "6s", "--grace", "300ms", "job", "--", "sh", "-c", script) as process:
        workers = [crew.pid("a"), crew.pid("b")]
        console.redis.delete(f"{console.prefix}:lock:{{job}}")
        assert "did not end within 300ms" in ends(process)[2]
    assert not any(map(lives, workers))


def test_what_an_interrupted_shell_left_is_asked_and_then_killed(console: Console, crew: Crew) -> None:
    """A shell has its children in the background ignore SIGINT."""
    deaf = "trap '' TERM; while :; do sleep 0.05; done"
    script = f'sh -c "$0" & {crew.start} a & echo runs; wait'
    with console.start("lock", "--grace", "300ms", "job", "--", "sh", "-c", script, deaf) as process:
        reads(process, "runs")
        worker = crew.pid("a")
        process.send_signal(signal.SIGINT)
        code, _, error = ends(process)
        assert code == 130
        assert "did not end within 300ms" in error
    assert "SIGTERM" in crew.got("a")
    assert not lives(worker)
    assert not is_held(console)


def test_what_the_command_leaves_in_its_group_keeps_the_lock(console: Console, crew: Crew) -> None:
    with console.start("lock", "--ttl", "6s", "job", "--", "sh", "-c", f"{crew.start} a & exit 7") as process:
        worker = crew.pid("a")
        assert process.stderr
        said = process.stderr.readline()
        assert "the command has ended, but not all of its process group" in said
        assert f"(pid {worker})" in said
        (holder,) = console.client.lock("job").inspect().holders
        assert console.run("lock", "-n", "job", "true").returncode == 1
        # It is renewed meanwhile.
        until(lambda: console.client.lock("job").inspect().holders[0].until > holder.until)
        crew.may_end()
        assert ends(process) == (7, "", "")
    assert not is_held(console)


def test_what_left_the_group_does_not_keep_the_lock(console: Console, crew: Crew) -> None:
    script = f"setsid {crew.start} a & while ! [ -e {crew.folder}/a.pid ]; do sleep 0.02; done"
    ended = console.run("lock", "job", "--", "sh", "-c", script, stderr=subprocess.DEVNULL, capture_output=False)
    assert ended.returncode == 0
    assert not is_held(console)
    assert lives(crew.pid("a"))
    crew.may_end()


def test_a_process_that_ended_and_is_not_reaped_does_not_keep_the_lock(console: Console, crew: Crew) -> None:
    """Its parent has left the group, and does not ask how it ended."""
    script = (
        "import os, sys, time\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n"
        "    os.setsid()\n"
        "    os.write(write, b'x')\n"
        "    os.closerange(0, 3)\n"
        "    while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
        "    os._exit(0)\n"
        "os.read(read, 1)\n"
    )
    ended = console.run("lock", "job", "--", sys.executable, "-c", script, str(crew.folder / "may-end"))
    crew.may_end()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not is_held(console)


def test_what_the_command_leaves_behind_is_reaped_while_it_runs(console: Console) -> None:
    script = 'for i in 1 2 3 4 5; do (sleep 0 &); done; echo runs; exec "$@"'
    with console.start("lock", "job", "--", "sh", "-c", script, "sh", *LISTEN) as process:
        reads(process, "runs")
        command = int(reads(process, "runs").split()[1]) and process.pid
        children = Path(f"/proc/{command}/task/{command}/children")
        until(lambda: len(children.read_text().split()) == 1)
        process.terminate()
        assert ends(process)[0] == 9


def test_a_killed_program_ends_the_command_and_not_what_that_started(console: Console, crew: Crew) -> None:
    """The guide says so: the system tells the command alone."""
    script = f"{crew.start} a & echo runs; wait"
    with console.start("lock", "job", "--", "sh", "-c", script, stderr=subprocess.DEVNULL) as process:
        reads(process, "runs")
        worker = crew.pid("a")
        (shell,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        until(lambda: not lives(int(shell)))
        assert lives(worker)
        assert crew.got("a") == []
        crew.may_end()
        process.wait()
    # One process that takes the shell's place is the command.
    crew.folder.joinpath("may-end").unlink()
    with console.start("lock", "job2", "--", "sh", "-c", f"exec {crew.start} b", stderr=subprocess.DEVNULL) as process:
        crew.pid("b")
        process.kill()
        # Linux sends it again for each thread of the killed program that the command is handed on to.
        until(lambda: crew.got("b"))
        assert set(crew.got("b")) == {"SIGTERM"}
        crew.may_end()
        process.wait()


def test_ctrl_z_stops_a_pipeline_and_it_goes_on(console: Console, crew: Crew) -> None:
    script = f"{crew.start} a | {crew.start} b"
    with on_a_terminal(console, "lock", "job", "--", "sh", "-c", script) as (shell, master):
        reads(shell, "job")
        workers = [crew.pid("a"), crew.pid("b")]
        os.write(master, b"\x1a")
        reads(shell, "stopped")
        until(lambda: {state_of(worker) for worker in workers} == {"T"})
        os.kill(shell.pid, signal.SIGCONT)
        until(lambda: "T" not in {state_of(worker) for worker in workers})
        assert is_held(console)
        crew.may_end()
        assert shell.communicate(timeout=PATIENCE)[0] == "ended 0\n"


READER = "echo runs; read line; echo got $line"


def test_a_command_reads_the_terminal(console: Console) -> None:
    with on_a_terminal(console, "lock", "job", "--", "sh", "-c", READER) as (shell, master):
        reads(shell, "job")
        reads(shell, "runs")
        os.write(master, b"hello\n")
        assert shell.communicate(timeout=PATIENCE) == ("got hello\nended 0\n", "")


def in_front(master: int) -> int:
    return os.tcgetpgrp(master)


def test_ctrl_c_ends_a_command_that_has_the_terminal_and_the_script_around_it(console: Console) -> None:
    words = " ".join(f"'{word}'" for word in map(str, console.command("lock", "job", "--", "sh", "-c", READER)))
    with with_a_terminal(["sh", "-c", f"echo script $$; {words}; echo went on"]) as (process, master):
        own = int(reads(process, "script").split()[1])
        reads(process, "runs")
        until(lambda: in_front(master) != own)
        os.write(master, b"\x03")
        assert ends(process) == (-signal.SIGINT, "", "")
    assert not is_held(console)


def test_ctrl_z_stops_a_command_that_has_the_terminal_and_it_gets_it_back(console: Console) -> None:
    with on_a_terminal(console, "lock", "job", "--", "sh", "-c", READER) as (shell, master):
        job = int(reads(shell, "job").split()[1])
        reads(shell, "runs")
        until(lambda: in_front(master) != job)
        os.write(master, b"\x1a")
        reads(shell, "stopped")
        assert in_front(master) == job
        os.kill(shell.pid, signal.SIGCONT)
        until(lambda: in_front(master) != job)
        os.write(master, b"hello\n")
        assert shell.communicate(timeout=PATIENCE) == ("got hello\nended 0\n", "")
    assert not is_held(console)


def test_a_real_shell_with_jobs_has_it_in_the_background_and_in_the_foreground(
    console: Console, tmp_path: Path
) -> None:
    """In the background a command that reads stops, as any job does, and `fg` gives it the terminal."""
    rc = tmp_path / "rc"
    rc.write_text("PS1='ready> '\nset -o notify\n")
    words = " ".join(f"'{word}'" for word in map(str, console.command("lock", "job", "--", "sh", "-c", READER)))
    master, slave = pty.openpty()
    shown = b""

    def shows(pattern: bytes) -> None:
        nonlocal shown
        while not (found := re.search(pattern, shown)):
            shown += os.read(master, 4096)
        shown = shown[found.end() :]

    shell = ["bash", "--noprofile", "--rcfile", str(rc), "-i"]
    with subprocess.Popen(
        shell, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lambda: own_terminal(slave)
    ) as process:
        shows(rb"ready> ")
        os.write(master, words.encode() + b" &\n")
        shows(rb"runs")
        shows(rb"Stopped")
        os.write(master, b"fg\n")
        # The shell shows the command that it brings to the foreground.
        shows(rb"read line; echo got")
        until(lambda: in_front(master) not in (process.pid,))
        os.write(master, b"hello\n")
        shows(rb"got hello")
        shows(rb"ready> ")
        os.write(master, b"echo code $?\n")
        shows(rb"code 0")
        os.write(master, b"exit\n")
        process.wait(PATIENCE)
    os.close(slave)
    os.close(master)
    assert not is_held(console)
