"""What `quotalock simulate` writes and draws, and what stops it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import resource
import signal
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from offline import LOG, PROGRAM, combined, json_line, months, refuses, run, says


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_needs_nothing_else_and_runs_nothing(tmp_path: Path) -> None:
    evil = "\"><img src=x onerror=alert(1)>'&</svg><script>"
    lines = [json_line(evil, n / 10) for n in range(100)] + [json_line("192.0.2.1", 11)]
    log = tmp_path / "<b>log"
    log.write_text("".join(lines))
    path = tmp_path / "page.html"
    says("simulate", "--policy", "5/minute", "--suggest", "50", "--html", path, log)
    page = Page(path.read_text())
    tags = {tag for tag, _ in page.elements}
    assert {"html", "svg", "rect", "path", "table"} <= tags
    assert not tags & {"script", "img", "link", "iframe", "object", "a", "b", "image", "use", "foreignobject"}
    attributes = {name for _, attributes in page.elements for name in attributes}
    assert not any(name.startswith("on") or name in {"src", "href", "style"} for name in attributes)
    assert "default-src 'none'" in path.read_text()
    assert "prefers-color-scheme: dark" in path.read_text()
    assert "url(" not in path.read_text()
    assert any(evil in words for words in page.words)
    assert "95 of 100 denied" in page.words


def test_a_page_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    assert "folder that exists" in refuses("simulate", "--policy", "1/s", "--html", tmp_path / "no" / "page", LOG)
    assert "folder that exists" in refuses("simulate", "--policy", "1/s", "--html", tmp_path, LOG)
    page = tmp_path / "page.html"
    page.write_text("before")

    def small() -> None:
        # As on a full disk: a file gets no larger than this.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))

    ended = run("simulate", "--policy", "1/s", "--html", page, LOG, preexec_fn=small)
    assert ended.returncode == 1
    assert "1/second" in ended.stdout
    assert f"cannot write {page}: " in ended.stderr
    assert (page.read_text(), sorted(os.listdir(tmp_path))) == ("before", ["page.html"])
    says("simulate", "--policy", "1/s", "--html", page, LOG)
    assert page.read_text().endswith("</html>\n")
    assert os.listdir(tmp_path) == ["page.html"]
    link = tmp_path / "link"
    link.symlink_to(page)
    page.write_text("before")
    says("simulate", "--policy", "1/s", "--html", link, LOG)
    assert link.is_symlink()
    assert page.read_text() != "before"
    assert says("simulate", "--policy", "1/s", "--html", "/dev/null", LOG)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_whoever_reads_may_go_and_a_full_disk_is_told() -> None:
    process = subprocess.Popen(
        [PROGRAM, "simulate", "--policy", "1/s", LOG], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert (process.stderr.read(), process.wait(60)) == (b"", 0)
    process.stderr.close()
    for words in [("--decisions", "/dev/full"), ("--html", "/dev/full")]:
        ended = run("simulate", "--policy", "1/s", *words, LOG)
        assert (ended.returncode, "No space left" in ended.stderr) == (1, True)
    with open("/dev/full", "w") as full:
        ended = run("simulate", "--policy", "1/s", LOG, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (ended.returncode, "No space left" in ended.stderr) == (1, True)


def test_an_interrupt_tells_what_was_read() -> None:
    process = subprocess.Popen(
        [PROGRAM, "--json", "simulate", "--policy", "1/s", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    lines = "".join(combined("a", n % 60) for n in range(20_000)).encode()
    process.stdin.write(lines)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    # On a busy machine the signal is noticed late, so the input lasts until the program stops reading.
    written = 20_000
    with contextlib.suppress(BrokenPipeError):
        while written < 2_000_000:
            # Before it is written: the program may read a part of it.
            written += 20_000
            process.stdin.write(lines)
    out, errors = process.communicate(timeout=60)
    report = json.loads(out)
    assert (errors, process.returncode, report["interrupted"]) == (b"", 1, True)
    assert 0 < report["requests"] < written


def test_a_bar_is_drawn_on_a_terminal_alone() -> None:
    reader, writer = pty.openpty()
    many = b"".join(months(60))
    process = subprocess.Popen(
        [PROGRAM, "simulate", "--policy", "1/s", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=writer
    )
    os.close(writer)
    out, _ = process.communicate(many, timeout=120)
    drawn = b""
    while True:
        try:
            part = os.read(reader, 65_536)
        except OSError:
            break
        drawn += part
    os.close(reader)
    assert process.returncode == 0
    assert b"read" in drawn
    assert b"\x1b" not in out
