"""The version, the targets and the names of files of a release: all other parts take them from here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
# What is kept between two runs: compilers, and what they built.
CACHE = ROOT / "target/dist"
# Where `make dist` puts what it built.
RELEASE = ROOT / "dist/release"
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# The revision of the Debian packages of one version.
DEBIAN_REVISION = "1"


class DistError(Exception):
    """A release cannot be built or tested; the message has the cause and the cure."""


@dataclass(frozen=True)
class Target:
    """A CPU with a C library: what each tool calls it."""

    triple: str
    # As zig calls it; glibc with the oldest version that the files run on.
    zig: str
    # As Node calls the CPU, and as npm calls the C library.
    cpu: str
    libc: str
    # As wheels call it.
    wheel: str

    @property
    def node(self) -> str:
        """What `bindings-node/lib/platform.js` calls it, such as `linux-x64-gnu`."""
        return f"linux-{self.cpu}-{'gnu' if self.libc == 'glibc' else 'musl'}"

    @property
    def machine(self) -> str:
        """The CPU as `uname -m` prints it."""
        return self.triple.partition("-")[0]

    @property
    def debian(self) -> str:
        """The CPU as Debian calls it."""
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.machine]

    @property
    def pie(self) -> str:
        """The CPU as PIE calls it."""
        return {"x86_64": "x86_64", "aarch64": "arm64"}[self.machine]

    @property
    def npm_package(self) -> str:
        """The npm package that holds its native part."""
        return f"@quotalock/native-{self.node}"

    @property
    def npm_folder(self) -> Path:
        """Where that package is put together."""
        return CACHE / "npm" / f"native-{self.node}"


TARGETS = (
    Target("x86_64-unknown-linux-gnu", "x86_64-linux-gnu.2.28", "x64", "glibc", "manylinux_2_28_x86_64"),
    Target("x86_64-unknown-linux-musl", "x86_64-linux-musl", "x64", "musl", "musllinux_1_2_x86_64"),
    Target("aarch64-unknown-linux-gnu", "aarch64-linux-gnu.2.28", "arm64", "glibc", "manylinux_2_28_aarch64"),
    Target("aarch64-unknown-linux-musl", "aarch64-linux-musl", "arm64", "musl", "musllinux_1_2_aarch64"),
)
BY_NAME = {target.node: target for target in TARGETS}


def static_target(target: Target) -> Target:
    """The target whose program, a static one, also runs here."""
    return next(other for other in TARGETS if other.machine == target.machine and other.libc == "musl")


@dataclass(frozen=True)
class Php:
    """A PHP that an extension is built for."""

    version: str
    threads: bool = False

    @property
    def mode(self) -> str:
        """As PIE calls it."""
        return "zts" if self.threads else "nts"

    @property
    def row(self) -> str:
        """As `make matrix` calls it."""
        return f"{self.version}-zts" if self.threads else self.version

    @property
    def is_debian(self) -> bool:
        """Whether it is that of a release of Debian, which then gets a package."""
        return self.version in DEBIAN_PHPS and not self.threads


# Debian has headers of these, and of the one with threads the source.
PHPS = (Php("8.2"), Php("8.2", threads=True), Php("8.4"), Php("8.5"), Php("8.6"))
# The releases of Debian in which our packages are installed, by their PHP.
DEBIAN_PHPS = {"8.2": ("Debian 12", "bookworm"), "8.4": ("Debian 13", "trixie")}
PHP_BUILDS = tuple((php, BY_NAME["linux-x64-gnu"]) for php in PHPS)
EXTENSION = "ratelimit"


@dataclass(frozen=True)
class Wheel:
    """The Pythons that a wheel is for."""

    tag: str
    # As PyO3 calls the oldest of them.
    python: str
    # The interpreter that maturin is to build for; none for all with the stable ABI.
    interpreter: str | None = None


STABLE_ABI = Wheel("cp310-abi3", "3.10")
FREE_THREADED = Wheel("cp314-cp314t", "3.14t", "python3.14t")
WHEELS = (STABLE_ABI, FREE_THREADED)


def wheel_name(target: Target, wheel: Wheel = STABLE_ABI) -> str:
    """A wheel of a target: for every Python from 3.10 with a GIL, or for free-threaded Python 3.14."""
    return f"quotalock-{VERSION}-{wheel.tag}-{target.wheel}.whl"


def sdist_name() -> str:
    """The source distribution of the Python package."""
    return f"quotalock-{VERSION}.tar.gz"


def npm_name(package: str) -> str:
    """The archive that `npm pack` writes for a package."""
    return f"{package.removeprefix('@').replace('/', '-')}-{VERSION}.tgz"


def pie_name(php: Php, target: Target) -> str:
    """The archive that PIE looks for among the files of a release."""
    return f"php_{EXTENSION}-{VERSION}_php{php.version}-{target.pie}-linux-{target.libc}-{php.mode}.zip"


def program_folder(target: Target) -> str:
    """The folder in the archive of the program, which `cargo binstall` looks for."""
    return f"quotalock-cli-{target.triple}-v{VERSION}"


def program_name(target: Target) -> str:
    """The archive of the program."""
    return f"{program_folder(target)}.tgz"


def deb_name(package: str, target: Target) -> str:
    """A Debian package."""
    return f"{package}_{VERSION}-{DEBIAN_REVISION}_{target.debian}.deb"
