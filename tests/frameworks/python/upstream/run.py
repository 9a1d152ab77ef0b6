#!/usr/bin/env python3
"""Runs the tests that others wrote against Quotalock's packages for Python: `run.py [NAME]`, inside the servers.

Their source archives come from PyPI, are checked against the hashes here, and stay in target/. Nothing of theirs is
committed. A test that is left out is named here with the reason, and must exist. The numbers of each suite are printed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
FOLDER = ROOT / "target/frameworks/upstream"


@dataclass(frozen=True)
class Suite:
    """Tests of one package: its source archive, which files run, and which tests do not, each with the reason."""

    package: str
    version: str
    sha256: str
    files: tuple[str, ...]
    # Takes the place of their own, which starts containers.
    conftest: str
    # At least so many pass; fewer would mean that most were not found.
    least: int
    out: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the archive is unpacked."""
        return FOLDER / f"{self.package}-{self.version}".replace("flask-", "flask_")


CALENDAR = "its windows begin with the first request; ours, as those of memcached do, with the clock's, and round up"
CHARGED = "wants a refused request to be charged to the other throttles; ours charges all or none"
NOBODY = "a rate of 0 is refused: whom nothing is admitted needs no limit"
MASK = "sets its own setting for networks; ours is IPV6_PREFIX"
RAISES = "names the exception that it raises; ours answers 429"
KIND = "is about the key in its cache; in ours the key says whether it is of a user or of an address"
FLUSH = "forgetting all keys at once is refused"

# But those of its storages, which it starts in containers.
FLASK_LIMITER = (
    "blueprints commands configuration context_manager decorators error_handling flask_ext regressions views"
)

SUITES = (
    Suite(
        "limits",
        "5.8.0",
        "c9e0d74aed837e8f6f50d1fcebcf5fd8130957287206bc3799adaee5092655da",
        ("tests/test_strategy.py", "tests/test_storage.py"),
        "limits_conftest.py",
        least=150,
        out={
            "test_sliding_window_counter_previous_window": CALENDAR,
            "test_storage_reset": FLUSH,
        },
    ),
    Suite(
        "flask-limiter",
        "4.1.1",
        "ca11608fc7eec43dcea606964ca07c3bd4ec1ae89043a0f67f717899a4f48106",
        tuple(f"tests/test_{name}.py" for name in FLASK_LIMITER.split()),
        "flask_limiter_conftest.py",
        least=116,
        out={
            "test_constructor_arguments_over_config": "names the class of its storage in memory",
            "test_fallback_to_memory": "mocks redis-py; ours has on_error=local, tried in test_storage_of_limits",
            "test_limits_with_test_storage_down": "mocks its storage in memory",
            "test_reset": FLUSH,
            "test_reset_unsupported": "is about memcached; ours is tried in test_storage_of_limits",
        },
    ),
    Suite(
        "djangorestframework",
        "3.18.3",
        "446a9b352e7eff630421ab3f2328bd2401b109a9470afa4a31189994911ed030",
        ("tests/test_throttling.py",),
        "drf_conftest.py",
        least=25,
        out={
            "test_get_cache_key_returns_correct_key_if_user_is_authenticated": KIND,
            "test_request_throttling_multiple_throttles": CHARGED,
            "test_throttle_rate_change_negative": CHARGED,
            "test_wait_returns_correct_waiting_time_without_history": "sets the list of times that its throttle keeps",
        },
    ),
    Suite(
        "django-ratelimit",
        "4.1.0",
        "555943b283045b917ad59f196829530d63be2a39adb72788d985b90c81ba808b",
        ("django_ratelimit/tests.py",),
        "django_ratelimit_conftest.py",
        least=25,
        out={
            "CacheFailTests": "about Django's cache, in which it counts; ours is tried in test_examples.py",
            "IpMetaTests": "of its own function; ours has the client's address of tests/spec",
            "RateParsingTests": "of its own parser; its rates are read by ours in the other tests",
            "test_callable_rate_import": NOBODY,
            "test_callable_rate_zero": NOBODY,
            "test_get_usage": "of its own function, which counts refused requests",
            "test_key_header": "a header that is missing is a bad request, not one key for all",
            "test_not_increment_after_increment": "of its own function, which counts refused requests",
            "test_ratelimit_custom_exception_class": RAISES,
            "test_ratelimit_custom_string_exception_class": RAISES,
            "test_ratelimit_full_mask_v6": MASK,
            "test_ratelimit_mask_v4": MASK,
            "test_unsafe_methods": NOBODY,
            "test_zero_rate": NOBODY,
        },
    ),
)


def main(names: list[str]) -> int:
    """Runs the suites of these names, or all of them; 0 if all passed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [suite for suite in SUITES if not names or suite.package in names]
    for suite in wanted:
        unpack(suite)
    # They wait most of the time, so they run at once.
    with ThreadPoolExecutor() as threads:
        codes = [told(suite, ended) for suite, ended in zip(wanted, threads.map(run, wanted), strict=True)]
    return max(codes, default=2)


def run(suite: Suite) -> subprocess.CompletedProcess[str]:
    """Runs one suite."""
    # By the beginning of a name, and so all cases of a parameter.
    leave_out = " and ".join(f"not {name}" for name in suite.out)
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini"), "--rootdir", str(suite.folder)]
    command += ["-k", leave_out] * bool(suite.out) + list(suite.files)
    return subprocess.run(command, cwd=suite.folder, stdout=subprocess.PIPE, text=True)


def told(suite: Suite, process: subprocess.CompletedProcess[str]) -> int:
    """Prints the numbers of a suite that has ended, and all of one that failed; 0 if it passed."""
    passed = int((re.search(r"(\d+) passed", process.stdout) or ["", "0"])[1])
    code = process.returncode or int(passed < suite.least)
    if code:
        print(process.stdout)
    ending = (process.stdout.strip().splitlines() or ["nothing ran"])[-1]
    print(f"{suite.package} {suite.version}: {ending.strip('= ')}", flush=True)
    text = "".join((suite.folder / file).read_text() for file in suite.files)
    for name, reason in suite.out.items():
        print(f"  not {name}: {reason}")
        if f"def {name}" not in text and f"class {name}" not in text:
            print(f"  {name} is not there any more")
            code = 1
    return code


def unpack(suite: Suite) -> None:
    """Gets the archive unless it is there, and unpacks it with our conftest in the place of theirs."""
    archive = suite.folder.with_name(f"{suite.folder.name}.tar.gz")
    if not archive.exists():
        get = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        get += ["--disable-pip-version-check", "--dest", str(FOLDER), f"{suite.package}=={suite.version}"]
        subprocess.run([sys.executable, *get], check=True)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != suite.sha256:
        raise SystemExit(f"{archive} is not the archive that was looked at: its SHA-256 is {digest}")
    shutil.rmtree(suite.folder, ignore_errors=True)
    with tarfile.open(archive) as files:
        files.extractall(FOLDER, filter="data")
    conftest = suite.folder / Path(suite.files[0]).parent / "conftest.py"
    if conftest.exists():
        conftest.rename(conftest.with_name("their_conftest.py"))
    conftest.write_text((HERE / suite.conftest).read_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
