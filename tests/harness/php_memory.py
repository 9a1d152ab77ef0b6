#!/usr/bin/env python3
"""Runs the tests of the PHP extension under Valgrind: `php_memory.py PHP EXTENSION PHPUNIT [ARGUMENT ...]`.

Fails if a test does, or if PHP or a child of it reads or writes what it must not, decides by what was never written, or
has lost memory for good when it ends. Beside servers, as `with_servers.py` starts them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from servers import ROOT

LOGS = ROOT / "target" / "php-memory"
RULES = ROOT / "tests" / "php" / "memory"
# What is not PHP.
OTHERS = ("*redis-server", "*valkey-server", "*python*", "*/sh", "*setpriv")
OPTIONS = (
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--num-callers=40",
    f"--suppressions={RULES / 'valgrind.supp'}",
    "--trace-children=yes",
    f"--trace-children-skip={','.join(OTHERS)}",
    f"--log-file={LOGS}/%p.log",
)
# PHP takes each piece of memory by itself, and leaves the extension in place, so that reports can name it.
ENVIRONMENT = {"USE_ZEND_ALLOC": "0", "ZEND_DONT_UNLOAD_MODULES": "1", "PHP_INI_SCAN_DIR": f":{RULES}"}


def main(command: list[str]) -> int:
    """Runs the command, then reads what Valgrind wrote of each process."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    code = subprocess.run(["valgrind", *OPTIONS, *command], env={**os.environ, **ENVIRONMENT}, check=False).returncode
    logs = sorted(LOGS.glob("*.log"))
    found = [report for log in logs for report in reports(log.read_text())]
    for report, count in {report: found.count(report) for report in found}.items():
        print(f"--- {count} times:\n{report}\n")
    ended = sum("ERROR SUMMARY" in log.read_text() for log in logs)
    print(f"php-memory: {len(found)} reports of {len(logs)} processes, of which {ended} ended in order; in {LOGS}")
    return code or bool(found)


def reports(log: str) -> list[str]:
    """What a log complains of, without what differs from process to process."""
    text = re.sub(r"^==\d+== ?", "", log, flags=re.MULTILINE)
    text = re.sub(r" in loss record [\d,]+ of [\d,]+|0x[0-9A-F]+", "", text)
    wrong = re.compile(
        r"Invalid |Mismatched|Conditional jump|Use of uninit|Syscall param|.* definitely lost"
        r"|Process terminating.*\((SIGSEGV|SIGBUS|SIGILL|SIGABRT|SIGFPE)\)"
    )
    return [part for part in text.split("\n\n") if wrong.match(part.lstrip("\n")) and "   at" in part]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
