#!/usr/bin/env python3
"""Runs the tests of the PHP extension with AddressSanitizer: `php_addresses.py EXTENSION [ARGUMENT OF PHPUNIT ...]`.

The extension is one that was built for it. Fails if a test does, or if PHP or a child of it reads or writes what was
freed, or what is beside what it has. PHP cuts what it takes for itself out of larger pieces, where that is not seen;
USE_ZEND_ALLOC=0 has it take each from the system, but then tests of its memory limit fail. Beside servers, as
`with_servers.py` starts them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import preload
from servers import ROOT

LOGS = ROOT / "target" / "php-addresses"
SOURCE = ROOT / "tests" / "harness" / "no_deep_bind.c"
LIBRARY = ROOT / "target" / "harness" / "no_deep_bind.so"
OPTIONS = (
    # PHP leaves objects to the system at its end; what is lost by calls is counted by tests of their own.
    "detect_leaks=0",
    # What was freed is not given out anew for a while; not for so long that memory seems to grow.
    "quarantine_size_mb=4",
    # Ours, which has PHP load the extension as it has to be, comes before it.
    "verify_asan_link_order=0",
    f"log_path={LOGS}/report",
)


def main(extension: str, arguments: list[str]) -> int:
    """Runs the tests, then shows what was found in any process."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    preload.build(SOURCE, LIBRARY)
    command = ["cc", "-print-file-name=libasan.so"]
    sanitizer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    environment = {
        "LD_PRELOAD": f"{LIBRARY} {os.path.realpath(sanitizer)}",
        "ASAN_OPTIONS": ":".join(OPTIONS),
    }
    phpunit = shutil.which("phpunit") or "phpunit"
    tests = ["php", "-d", f"extension={extension}", phpunit, "-c", "tests/php", *arguments]
    code = subprocess.run(tests, env={**os.environ, **environment}, check=False).returncode
    reports = [log.read_text() for log in sorted(LOGS.iterdir())]
    found = [report for report in reports if "ERROR: AddressSanitizer" in report]
    print("\n".join(found))
    print(f"php-addresses: {len(found)} reports; in {LOGS}")
    return code or bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
