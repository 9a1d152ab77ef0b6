"""Installs each file of `make dist` as a user does, and runs the vectors on it: `installed.py [ROW ...]`.

The tests are copied next to what was installed, and the checkout is on no path. Each row runs all vectors on memory://
on the server of with_servers.py, then a lock, a sale, a cache and a fork on both. It exits with 1 if one failed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import npm_registry
import places
from dist.run import run
from dist.targets import (
    BY_NAME,
    CACHE,
    DEBIAN_PHPS,
    PHPS,
    RELEASE,
    ROOT,
    VERSION,
    DistError,
    Php,
    Target,
    deb_name,
    npm_name,
    pie_name,
    program_folder,
    program_name,
    sdist_name,
    static_target,
    wheel_name,
)
from places import Place

URLS = ("memory://", "redis")
REPORT = ROOT / "target/dist/installed.md"
# What the vectors of a language need of the tests.
TESTS = {
    "python": ["conftest.py", "spec.py", "surface.py", "answers.py", "caches.py", "stocks.py", "test_vectors.py"],
    "node": ["vectors.test.mjs", "*-vectors.mjs", "support.mjs", "failures.mjs"],
    "php": ["VectorsTest.php", "bootstrap.php", "phpunit.xml", "lib"],
}
OF_PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "Pygments")


@dataclass(frozen=True)
class Row:
    """A file, where it is installed, and what installs and tests it; that returns how many vectors ran."""

    name: str
    file: str
    place: str
    check: Callable[[Path], int]


def main(asked: list[str]) -> int:
    """Runs the rows and prints a table."""
    if unknown := set(asked) - {row.name for row in ROWS}:
        raise DistError(f"no row is called {', '.join(sorted(unknown))}: there are {', '.join(r.name for r in ROWS)}")
    lines = ["| file | size | installed | vectors | seconds |", "|---|---|---|---|---|"]
    failed = 0
    for row in ROWS:
        if asked and row.name not in asked:
            continue
        file = RELEASE / row.file
        began = time.monotonic()
        result = "file not built"
        if file.exists():
            print(f"test-dist: {row.name}", file=sys.stderr, flush=True)
            try:
                with tempfile.TemporaryDirectory(prefix="quotalock-installed-") as folder:
                    vectors = row.check(Path(folder))
                    result = f"{vectors:,}" if vectors else "none: commands"
            except DistError as error:
                failed += 1
                result = "FAILED"
                print(f"test-dist: {row.name}: {error}", file=sys.stderr, flush=True)
        size = f"{file.stat().st_size / 1e6:.1f} MB" if file.exists() else ""
        lines.append(f"| `{row.file}` | {size} | {row.place} | {result} | {time.monotonic() - began:.0f} |")
    lines += ["", "Not run here:", *(f"* {reason}" for reason in NOT_RUN)]
    REPORT.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print(f"make test-dist: {'all passed' if not failed else f'{failed} FAILED'}")
    return min(failed, 1)


def python(target: Target, place_of: Callable[[Path], Place] | None = None) -> Callable[[Path], int]:
    """Installs the wheel by pip: into an environment, or for a Python that is emulated into a folder."""

    def check(folder: Path) -> int:
        wheel = str(RELEASE / wheel_name(target))
        pip = ["--quiet", "--disable-pip-version-check", "--no-deps"]
        if place_of is None:
            run([sys.executable, "-m", "venv", str(folder / "venv")])
            run([str(folder / "venv/bin/pip"), "install", *pip, wheel, *_pytest()])
            place = Place(folder, [str(folder / "venv/bin/python")])
            version = Place(folder).run([str(folder / "venv/bin/quotalock"), "--version"])
            if version.strip() != f"quotalock {VERSION}":
                raise DistError(f"the wheel installs a program that prints {version}")
        else:
            site = folder / "site"
            pip += ["--only-binary=:all:", "--target", str(site), "--python-version=3.11"]
            run([str(ROOT / ".venv/bin/pip"), "install", *pip, f"--platform={target.wheel}", wheel, *_pytest()])
            place = place_of(folder)
            place.words[1:1] = ["-E", f"PYTHONPATH={site}"]
        _copy_tests("python", folder)
        place.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/python/test_vectors.py"])
        for url in _urls():
            place.run([str(folder / "tests/installed/smoke.py"), url])
        return _executed(folder)

    return check


def source_distribution(folder: Path) -> int:
    """Has pip build the source distribution, with cargo and the build backend that pip fetches."""
    run([sys.executable, "-m", "venv", str(folder / "venv")])
    pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # What it builds is not published: linking it as a whole would take most of the time.
    quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_TARGET_DIR": str(CACHE / "build/sdist")}
    run([*pip, str(RELEASE / sdist_name())], environment=quick)
    run([*pip, *_pytest()])
    place = Place(folder, [str(folder / "venv/bin/python")])
    _copy_tests("python", folder)
    place.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/python/test_vectors.py"])
    return _executed(folder)


def _pytest() -> list[str]:
    """pytest and what it needs, in the versions of the checkout."""
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] in OF_PYTEST]


def node(target: Target) -> Callable[[Path], int]:
    """Installs by npm for a platform, from a registry with the files of the release, into an empty folder."""

    def check(folder: Path) -> int:
        (folder / "package.json").write_text('{ "private": true }\n')
        flags = ["--no-fund", "--no-audit", "--os=linux", f"--cpu={target.cpu}", f"--libc={target.libc}"]
        with npm_registry.serve(RELEASE) as address:
            run(["npm", "install", *flags, "--registry", address, "quotalock"], cwd=folder)
        installed = sorted(each.name for each in (folder / "node_modules/@quotalock").iterdir())
        if installed != [f"native-{target.node}"]:
            raise DistError(f"npm installed {installed} for {target.node}")
        _copy_tests("node", folder)
        is_own = target == BY_NAME["linux-x64-gnu"]
        place = Place(folder, ["node"]) if is_own else places.node(target, folder)
        place.run(["tests/node/vectors.test.mjs"])
        smoke = "tests/installed"
        if is_own:
            _compile_types(folder)
        scripts = ["smoke.cjs", "smoke.mjs", *(["out/typed.mjs"] if is_own else [])]
        for url in _urls():
            for script in scripts:
                place.run([f"{smoke}/{script}", url])
        return _executed(folder)

    return check


def _compile_types(folder: Path) -> None:
    """Compiles TypeScript as strictly as it goes, with the types of the installed package."""
    modules = ROOT / "bindings-node/node_modules"
    (folder / "node_modules/@types").mkdir()
    shutil.copytree(modules / "@types/node", folder / "node_modules/@types/node")
    shutil.copytree(modules / "undici-types", folder / "node_modules/undici-types")
    smoke = folder / "tests/installed"
    flags = [
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--types",
        "node",
        "--outDir",
        str(smoke / "out"),
    ]
    run([str(modules / ".bin/tsc"), *flags, str(smoke / "typed.mts")], cwd=folder)


def php_archive(php: Php) -> Callable[[Path], int]:
    """Unpacks the archive of PIE and loads the extension by one line of settings."""

    def check(folder: Path) -> int:
        shutil.unpack_archive(RELEASE / pie_name(php, X64), folder / "extension")
        library = folder / "extension/ratelimit.so"
        (folder / "settings").mkdir()
        (folder / "settings/ratelimit.ini").write_text(f"extension={library}\n")
        _copy_tests("php", folder)
        place = places.php(php, folder)
        alone = Place(folder, [*place.words, "-n", "-d", f"extension={library}"])
        for url in _urls():
            alone.run(["tests/installed/smoke.php", url])
        # PHPUnit needs PHP's other extensions too.
        place.environment["PHP_INI_SCAN_DIR"] += f":{folder / 'settings'}"
        _phpunit(place, folder)
        return _executed(folder)

    return check


def debian_packages(php: Php) -> Callable[[Path], int]:
    """Installs both Debian packages with dpkg in a root of the Debian that has this PHP."""

    def check(_: Path) -> int:
        root = places.debian(php)
        inside = root / "srv/test"
        shutil.rmtree(inside, ignore_errors=True)
        inside.mkdir(parents=True)
        place = places.chrooted(root, "/srv/test")
        files = [deb_name("quotalock", X64), deb_name(f"php{php.version}-ratelimit", X64)]
        for file in files:
            shutil.copy(RELEASE / file, inside)
        try:
            place.run(["dpkg", "-i", *files])
            _copy_tests("php", inside)
            for url in _urls():
                place.run(["php", "tests/installed/smoke.php", url])
            _phpunit(Place(inside, [*place.words, "php"], place.environment), Path("/srv/test"))
            _commands(place, "quotalock")
            if not place.run(["php", "-m"]).count("ratelimit"):
                raise DistError("php -m does not list ratelimit after dpkg -i")
            executed = _executed(inside)
            place.run(["dpkg", "-r", "quotalock", f"php{php.version}-ratelimit"])
            if place.run(["php", "-m"]).count("ratelimit"):
                raise DistError("php -m lists ratelimit after dpkg -r")
            return executed
        finally:
            shutil.rmtree(inside, ignore_errors=True)

    return check


def _phpunit(place: Place, folder: Path) -> None:
    phpunit = "/usr/bin/phpunit"
    settings = {"QUOTALOCK_PHP_EXTENSION": "as installed"}
    place.run([phpunit, "-c", str(folder / "tests/php"), "--filter", "VectorsTest"], settings)


def program(target: Target) -> Callable[[Path], int]:
    """Unpacks the archive of the program and runs commands on the server."""

    def check(folder: Path) -> int:
        static = static_target(target)
        run(["tar", "-xzf", str(RELEASE / program_name(static)), "-C", str(folder)])
        words = [] if target.machine == "x86_64" else [places.emulator()]
        _commands(Place(folder, words), str(folder / program_folder(static) / "quotalock"))
        return 0

    return check


def _commands(place: Place, program: str) -> None:
    """Charges a limit, reads it, runs a command under a lock, and has the doctor look."""
    url = _urls()[1]
    shared = ["--url", url, "--prefix", f"commands{secrets.token_hex(4)}"]
    limited = ["logins", "ada", "--policy", "3/minute"]
    place.run([program, *shared, "consume", *limited])
    peeked = place.run([program, *shared, "--json", "peek", *limited])
    if json.loads(peeked)["remaining"] != 2:
        raise DistError(f"peek after one consume printed {peeked}")
    place.run([program, *shared, "lock", "report", "--", "true"])
    if place.run([program, "--version"]).strip() != f"quotalock {VERSION}":
        raise DistError(f"{program} has another version than {VERSION}")


def _copy_tests(language: str, folder: Path) -> None:
    """Copies the vectors of a language and the small tests next to what was installed."""
    shutil.copytree(ROOT / "tests/spec", folder / "tests/spec")
    shutil.copytree(ROOT / "tests/installed/smoke", folder / "tests/installed")
    source, copied = ROOT / "tests" / language, folder / "tests" / language
    copied.mkdir()
    for pattern in TESTS[language]:
        for file in source.glob(pattern):
            if file.is_dir():
                shutil.copytree(file, copied / file.name)
            else:
                shutil.copy(file, copied)


def _executed(folder: Path) -> int:
    """How many vectors passed, by the files in which the runners note them."""
    count = sum(len(json.loads(file.read_text())) for file in (folder / "target/vectors").glob("*.json"))
    if not count:
        raise DistError("no vector was executed: look at TESTS in tests/installed/installed.py")
    return count


def _urls() -> list[str]:
    servers: dict[str, str] = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
    return ["memory://", *servers.values()]


X64, MUSL, ARM, ARM_MUSL = (BY_NAME[f"linux-{name}"] for name in ("x64-gnu", "x64-musl", "arm64-gnu", "arm64-musl"))
ROWS = [
    Row("python", wheel_name(X64), "Python 3.11, venv", python(X64)),
    Row("sdist", sdist_name(), "Python 3.11, venv, built by pip", source_distribution),
    Row("node", npm_name(X64.npm_package), "Node 20, npm; CJS, ESM, TypeScript", node(X64)),
    *(
        Row(
            f"php-{php.row}",
            pie_name(php, X64),
            f"PHP {php.version} {php.mode.upper()}, one line of settings",
            php_archive(php),
        )
        for php in PHPS
    ),
    *(
        Row(
            f"debian-php-{php.version}",
            deb_name(f"php{php.version}-ratelimit", X64),
            f"{DEBIAN_PHPS[php.version][0]} by dpkg, PHP {php.version} and the program",
            debian_packages(php),
        )
        for php in PHPS
        if php.is_debian
    ),
    Row("program", program_name(static_target(X64)), "Debian 12, unpacked", program(X64)),
    Row("node-musl", npm_name(MUSL.npm_package), "musl's Node 24, npm", node(MUSL)),
    Row("python-arm64", wheel_name(ARM), "Python 3.11 of ARM64, emulated", python(ARM, places.python_arm64)),
    Row("node-arm64", npm_name(ARM.npm_package), "Node 24 of ARM64, emulated", node(ARM)),
    Row(
        "node-arm64-musl",
        npm_name(ARM_MUSL.npm_package),
        "musl's Node 24 of ARM64, emulated",
        node(ARM_MUSL),
    ),
    Row("program-arm64", program_name(ARM_MUSL), "emulated", program(ARM_MUSL)),
]
NOT_RUN = (
    "wheels for free-threaded Python 3.14: Debian packages none; `make matrix ONLY=python-3.13t` runs the same code",
    "wheels for musl: no package has a Python for musl that loads extensions; image `python:alpine`",
    "PIE itself: it asks the releases of a repository; `pie install` after the first release",
)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except DistError as error:
        print(f"test-dist: {error}", file=sys.stderr)
        sys.exit(1)
