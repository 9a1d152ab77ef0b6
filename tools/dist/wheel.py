"""The Python package: the wheels of each target, with the program, and the source distribution."""

from __future__ import annotations

from pathlib import Path

import wheel_program
from dist import program, toolchain
from dist.licences import notices
from dist.run import run
from dist.targets import CACHE, ROOT, WHEELS, Target, wheel_name

MATURIN = str(ROOT / ".venv/bin/maturin")
MANIFEST = ["--manifest-path", "bindings-python/Cargo.toml"]


def publish(target: Target, folder: Path) -> None:
    """Writes the wheels of a target."""
    made = CACHE / "wheels"
    words = [MATURIN, "build", *MANIFEST, "--release", "--locked", "--target", target.triple, "--out", str(made)]
    words += ["--compatibility", target.wheel.removesuffix(f"_{target.machine}"), *toolchain.cargo_options(target)]
    licences = {"THIRD-PARTY.txt": notices(target, "quotalock-python", "quotalock-cli")}
    for wheel in WHEELS:
        environment = {"PYO3_CROSS": "1", "PYO3_CROSS_PYTHON_VERSION": wheel.python}
        if wheel.interpreter:
            # maturin knows what it needs of it.
            asked = ["--interpreter", wheel.interpreter]
        else:
            # The file is the same for every Python, so it asks none.
            asked, environment["PYO3_NO_PYTHON"] = [], "1"
        toolchain.run_for(target, [*words, *asked], environment=environment)
        file = made / wheel_name(target, wheel)
        wheel_program.add(program.build(target), file, licences)
        file.replace(folder / file.name)


def publish_source(folder: Path) -> None:
    """Writes the source distribution."""
    run([MATURIN, "sdist", *MANIFEST, "--out", str(folder)])
