"""The program as the packages for Python and Node bring it along."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from console import PATIENCE, PROGRAM, ROOT, Console
from listener import LISTEN, ends, is_held, reads

NODE = ROOT / "bindings-node"
METADATA = "Metadata-Version: 2.1\nName: quotalock\nVersion: 0.1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
ABOUT = "quotalock-0.1.0.dist-info"
REPLAY = ("simulate", "--policy", "10/minute", "-")


@pytest.fixture
def launcher(tmp_path: Path) -> list[str]:
    """What npm links to, in a package of this platform."""
    for file in ("bin/quotalock.js", "lib/platform.js"):
        (tmp_path / file).parent.mkdir()
        shutil.copy(NODE / file, tmp_path / file)
    (tmp_path / f"bin/quotalock-{platform()}").symlink_to(PROGRAM)
    return [str(tmp_path / "bin/quotalock.js")]


def platform() -> str:
    asked = ["node", "-p", "require('./lib/platform.js').platform()"]
    return subprocess.run(asked, cwd=NODE, capture_output=True, text=True, check=True).stdout.strip()


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def test_npx_runs_it_with_its_words_its_input_and_its_exit_code(launcher: list[str], console: Console) -> None:
    assert run(*launcher, "explain", "10/minute").stdout == run(PROGRAM, "explain", "10/minute").stdout
    ours, itself = (run(*start, *REPLAY, input="no log\n") for start in (launcher, [PROGRAM]))
    assert "no log" in ours.stdout
    assert (ours.returncode, ours.stdout, ours.stderr) == (itself.returncode, itself.stdout, itself.stderr)
    # It calls itself by its own name.
    assert "Usage: quotalock simulate" in run(*launcher, "simulate").stderr
    assert run(*launcher, "explain", "10/fortnight").returncode == 2
    words = ["--url", console.url, "--prefix", console.prefix, "consume", "api", "u", "--policy", "1/hour"]
    assert [run(*launcher, *words).returncode for _ in range(2)] == [0, 10]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_npx_passes_signals_on_and_ends_as_the_command_does(
    launcher: list[str], console: Console, number: signal.Signals
) -> None:
    command = [*launcher, *map(str, console.command("lock", "job", *LISTEN)[1:])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        reads(process, "runs")
        process.send_signal(signal.SIGUSR1)
        reads(process, "SIGUSR1")
        process.send_signal(number)
        assert ends(process) == (9, f"{number.name}\n", "")
    assert not is_held(console)


def test_npx_ends_by_the_signal_that_ended_the_program(launcher: list[str], console: Console) -> None:
    command = [*launcher, *map(str, console.command("lock", "job", *LISTEN)[1:])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        reads(process, "runs")
        (program,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        subprocess.run(["kill", "-KILL", program], check=True)
        assert ends(process)[0] == -signal.SIGKILL


def test_npx_without_a_program_for_the_platform_says_so(launcher: list[str], tmp_path: Path) -> None:
    (tmp_path / f"bin/quotalock-{platform()}").unlink()
    ended = run(*launcher, "doctor")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"no program for {platform()}" in ended.stderr
    assert f"install @quotalock/native-{platform()}" in ended.stderr


def test_pip_installs_it(tmp_path: Path) -> None:
    wheel = tmp_path / "quotalock-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("quotalock/__init__.py", "")
        made.writestr(f"{ABOUT}/METADATA", METADATA)
        made.writestr(f"{ABOUT}/WHEEL", WHEEL)
        made.writestr(f"{ABOUT}/RECORD", f"quotalock/__init__.py,,\n{ABOUT}/METADATA,,\n{ABOUT}/WHEEL,,\n")
    program, small = tmp_path / "program", tmp_path / "small"
    program.write_text("#!/bin/sh\nexit 1\n")
    # As it is published: its debug information takes long to pack.
    run("strip", "-o", str(small), PROGRAM).check_returncode()
    # A second time takes the place of the first.
    for content in (program, small):
        run(sys.executable, str(ROOT / "tools/wheel_program.py"), str(content), str(wheel)).check_returncode()
    place = tmp_path / "installed"
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--prefix", str(place), str(wheel)]
    assert run(sys.executable, *install, "--ignore-installed").stderr.replace("WARNING", "") == ""
    ended = run(str(place / "bin/quotalock"), "explain", "10/minute")
    assert (ended.returncode, ended.stdout) == (0, run(PROGRAM, "explain", "10/minute").stdout)
