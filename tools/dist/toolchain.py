"""The compilers of a release. zig links for every target and has its C library.

Rust's compiler is that of this machine if it has the target, else Debian's in its own root, which builds the standard
library from source if it has none.

A command in that root has the same paths as outside: the checkout and cargo's folder are bound into it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dist import debian
from dist.run import packages, run
from dist.targets import CACHE, ROOT, TARGETS, DistError, Target

Environment = Mapping[str, str]
NOTHING: Environment = {}
# An older zig than the newest: Rust's musl targets expect its libunwind.
ZIG = "ziglang==0.15.2"
HOME = CACHE / "root"
WRAPPER = ROOT / "tools/dist/zig.sh"
CARGO_HOME = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
# libclang and PHP are what ext-php-rs needs to build for another CPU.
OF_DEBIAN = ["cargo", "rustc", "rust-src", "libclang-dev", "php8.4-dev", "php8.4-cli"]
# No symbols, which are most of a library's size. Linking as a whole takes most of the time, and may be left out by
# these variables, as in `make test`.
PROFILE = {
    "CARGO_PROFILE_RELEASE_LTO": os.environ.get("CARGO_PROFILE_RELEASE_LTO", "fat"),
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": os.environ.get("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    "CARGO_PROFILE_RELEASE_DEBUG": "false",
    "CARGO_PROFILE_RELEASE_STRIP": "symbols",
    "CARGO_PROFILE_RELEASE_SPLIT_DEBUGINFO": "off",
}


def cargo(
    target: Target, arguments: Sequence[str], *, environment: Environment = NOTHING, static: bool = False
) -> Path:
    """Runs `cargo ARGUMENTS --release` for a target and returns the folder of what it built."""
    words = ["cargo", *arguments, "--release", "--locked", "--target", target.triple, *cargo_options(target)]
    run_for(target, words, environment=environment, static=static)
    return _folder(target) / target.triple / "release"


def cargo_options(target: Target) -> list[str]:
    """What cargo, or a program that calls it, needs to build for a target."""
    options = ["--target-dir", str(_folder(target))]
    if not _has(target) and target.libc == "musl":
        options.append("-Zbuild-std=std,panic_unwind")
    return options


def _folder(target: Target) -> Path:
    """Where cargo builds: not both compilers in one folder."""
    return CACHE / "build" / ("here" if _has(target) else "root")


def run_for(target: Target, words: Sequence[str], *, environment: Environment = NOTHING, static: bool = False) -> None:
    """Runs a command that calls cargo for a target."""
    env = compilers(target, static=static) | dict(environment)
    if _has(target):
        run(words, environment=env)
        return
    _prepare_root(target)
    # Names without a value of this machine's would be found by nothing in the root.
    env |= {"PATH": "/usr/bin:/usr/sbin", "HOME": "/root", "CARGO_HOME": str(CARGO_HOME), "RUSTC_BOOTSTRAP": "1"}
    env |= {"CARGO_NET_OFFLINE": "true", "PYTHONHOME": ""}
    binds = [f"mount --rbind {shlex.quote(place)} {shlex.quote(str(HOME) + place)}" for place in _bound()]
    inside = f"cd {shlex.quote(str(ROOT))} && exec {shlex.join(words)}"
    script = " && ".join([*binds, f"exec chroot {shlex.quote(str(HOME))} /bin/sh -c {shlex.quote(inside)}"])
    run(["unshare", "--mount", "sh", "-c", script], environment=env)


def compilers(target: Target, *, static: bool = False) -> dict[str, str]:
    """The variables by which cargo and the `cc` crate find zig, for a target and for what runs while building."""
    flags = [] if target.libc == "glibc" else [f"-Ctarget-feature={'+' if static else '-'}crt-static"]
    # The start files are zig's.
    flags += ["-Clink-self-contained=no"] if flags else []
    return {
        **PROFILE,
        **_zig(TARGETS[0]),
        **_zig(target),
        f"CARGO_TARGET_{_variable(target.triple).upper()}_RUSTFLAGS": " ".join(flags),
        "ZIG_GLOBAL_CACHE_DIR": str(CACHE / "zig-cache"),
        "ZIG_LOCAL_CACHE_DIR": str(CACHE / "zig-cache"),
    }


def _zig(target: Target) -> dict[str, str]:
    """Names a program for each way to call zig, since cargo and `cc` take one without arguments."""
    zig = next(packages("zig", [ZIG]).parent.glob("lib/python3*/site-packages/ziglang/zig"))
    folder = CACHE / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for tool in ("cc", "ar"):
        program = folder / f"{target.triple}-{tool}"
        text = f'#!/bin/sh\nexec {WRAPPER} {zig} {tool} {target.zig} "$@"\n'
        # Cargo builds again what an older file was linked by.
        if not program.exists() or program.read_text() != text:
            program.write_text(text)
            program.chmod(0o755)
    cc, ar = (str(folder / f"{target.triple}-{tool}") for tool in ("cc", "ar"))
    name = _variable(target.triple)
    return {f"CARGO_TARGET_{name.upper()}_LINKER": cc, f"CC_{name}": cc, f"AR_{name}": ar}


def _variable(triple: str) -> str:
    return triple.replace("-", "_")


@cache
def _has(target: Target) -> bool:
    """Whether this machine's Rust has the standard library of a target."""
    asked = ["rustc", "--print", "target-libdir", "--target", target.triple]
    place = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return bool(place) and Path(place).is_dir() and any(Path(place).glob("libstd-*"))


def _bound() -> list[str]:
    return ["/proc", "/dev", str(ROOT), str(CARGO_HOME)]


def _prepare_root(target: Target) -> None:
    """Unpacks Debian's compiler, and fetches the crates of its standard library."""
    if os.geteuid() != 0:
        raise DistError(
            f"this machine's Rust has no {target.triple}: run 'rustup target add {target.triple}', "
            "or run this as root, which builds with Debian's"
        )
    debian.unpack(HOME, "sid", OF_DEBIAN)
    debian.unpack(HOME, "sid", ["libstd-rust-dev"], "arm64", only=("libstd-rust-dev_",))
    for place in _bound():
        (HOME / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
    (HOME / "tmp").mkdir(exist_ok=True)
    run(["cargo", "fetch", "--locked"])
    source = next((HOME / "usr/src").glob("rustc-*/library/Cargo.toml"))
    # Its manifest uses what only unstable compilers have.
    run(["cargo", "fetch", "--manifest-path", str(source)], environment={"RUSTC_BOOTSTRAP": "1"})
