"""Requests in threads of one process: counts are exact, and no lock survives its request, however that ends."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

HERE = Path(__file__).resolve().parent
ROUNDS, THREADS, REQUESTS = 5, 8, 25
CALLS = ROUNDS * THREADS * REQUESTS
QUOTA = 300
FATAL = "the end of this request"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that runs requests in threads, built for the PHP of this row, whose settings load the extension."""
    folder = tmp_path_factory.mktemp("threads")
    home = Path(str(shutil.which("php"))).resolve().parents[1]
    config = next((home / "bin").glob("php-config*"))
    includes = subprocess.run([config, "--includes"], capture_output=True, text=True, check=True).stdout.split()
    program = folder / "threads"
    library = ["-L", str(home / "lib"), f"-Wl,-rpath,{home / 'lib'}", "-lphp"]
    flags = ["-Wall", "-Werror", "-Wno-unused-parameter", "-pthread", "-O1"]
    subprocess.run(["cc", *flags, *includes, "-o", program, HERE / "threads.c", *library], check=True)
    settings = [
        f"extension={os.environ['QUOTALOCK_PHP_EXTENSION']}",
        "display_errors=0",
        "log_errors=1",
        "html_errors=0",
    ]
    (folder / "php.ini").write_text("\n".join(settings) + "\n")
    return program


def requests(server: Path, counts: tuple[int, int, int], **query: str) -> list[str]:
    """Runs requests with these parameters and returns what each of them printed."""
    command = [*map(str, (server, server.parent / "php.ini", HERE / "request.php", *counts)), urlencode(query)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["memory", "redis-7.0"])
def test_threads_count_exactly_and_leave_no_lock(name: str, server: Path, tmp_path: Path) -> None:
    """Of the requests, which end in four ways, each sees what no other does, and finds its locks free."""
    url = "memory://" if name == "memory" else json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])[name]
    counter = tmp_path / "counter"
    counter.write_text("0")
    query = {"url": url, "prefix": f"threads{secrets.token_hex(4)}", "policy": f"{QUOTA}/day"}
    *lines, last = requests(server, (ROUNDS, THREADS, REQUESTS), counter=str(counter), **query)
    assert json.loads(last) == {"held": []}
    assert [line for line in lines if not line.endswith("}") and FATAL not in line] == []
    answers: list[dict[str, Any]] = [json.JSONDecoder().raw_decode(line)[0] for line in lines if line.startswith("{")]
    assert sum(FATAL in line for line in lines) == CALLS // 4
    assert len(answers) == CALLS
    admitted = sorted(answer["remaining"] for answer in answers if answer["allowed"])
    assert admitted == list(range(QUOTA))
    assert sorted(answer["count"] for answer in answers) == list(range(1, CALLS + 1))
    assert sum(answer["loads"] for answer in answers) == ROUNDS * REQUESTS
    wrong = [
        answer
        for answer in answers
        if not answer["free"]
        or answer["told"] != 1
        or answer["server"] not in (url.removeprefix("redis://"), "127.0.0.1:6379")
        or answer["value"] != f"page {answer['thread'].split('-')[0]}-{answer['request']}"
    ]
    assert wrong == []
    print(f"{ROUNDS * THREADS} threads x {REQUESTS} requests x 6 calls on {name}: {len(wrong)} wrong answers")


def test_php_refuses_a_build_for_another_kind_of_php_with_the_documented_words() -> None:
    """The extension of this row is for a PHP with threads, and the machine's PHP has none."""
    command = ["/usr/bin/php8.2", "-n", "-d", f"extension={os.environ['QUOTALOCK_PHP_EXTENSION']}", "-r", ""]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PHP")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    refused = "undefined symbol: executor_globals_offset"
    assert refused in done.stdout + done.stderr
    assert f"`{refused}`" in (HERE.parents[1] / "docs/troubleshooting.md").read_text()
