"""The Python package: a wheel for each target, with the program, and the source distribution."""

from __future__ import annotations

from pathlib import Path

import wheel_program

from dist import program, toolchain
from dist.licences import notices
from dist.run import run
from dist.targets import CACHE, ROOT, Target, wheel_name

MATURIN = str(ROOT / ".venv/bin/maturin")
MANIFEST = ["--manifest-path", "bindings-python/Cargo.toml"]


def publish(target: Target, folder: Path) -> None:
    """Writes the wheel of a target."""
    made = CACHE / "wheels"
    words = [MATURIN, "build", *MANIFEST, "--release", "--locked", "--target", target.triple, "--out", str(made)]
    words += ["--compatibility", target.wheel.removesuffix(f"_{target.machine}")]
    # Its file is the same for every Python from 3.10, so it asks none.
    environment = {"PYO3_CROSS": "1", "PYO3_CROSS_PYTHON_VERSION": "3.10", "PYO3_NO_PYTHON": "1"}
    toolchain.run_for(target, [*words, *toolchain.cargo_options(target)], environment=environment)
    licences = {"THIRD-PARTY.txt": notices(target, "quotalock-python", "quotalock-cli")}
    wheel = made / wheel_name(target)
    wheel_program.add(program.build(target), wheel, licences)
    wheel.replace(folder / wheel.name)


def publish_source(folder: Path) -> None:
    """Writes the source distribution."""
    run([MATURIN, "sdist", *MANIFEST, "--out", str(folder)])
