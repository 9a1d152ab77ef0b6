"""Workers of a build that pretends to be the next version: it stores values in the next format, and reads those of now.

`make build-next` builds it; each language gets a copy of its package with that native part.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from programs import NODE, PHP, PYTHON
from servers import ROOT

BUILT = ROOT / "target/next/release"
WORKER = Path(__file__).resolve().parent / "worker"


def commands(folder: Path) -> dict[str, list[str]]:
    """What starts a worker of the next version in each language, from copies of the packages in a folder."""
    if not (BUILT / "libratelimit.so").exists():
        raise FileNotFoundError(f"{BUILT} has no libraries: run make build-next")
    python, node = folder / "python", folder / "node"
    shutil.copytree(ROOT / "bindings-python/python", python, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(BUILT / "lib_native.so", python / "quotalock/_native.abi3.so")
    package = node / "node_modules/quotalock"
    shutil.copytree(
        ROOT / "bindings-node", package, ignore=shutil.ignore_patterns("node_modules", "*.node", "src", "frameworks")
    )
    shutil.copy(BUILT / "libquotalock_node.so", package / "quotalock.linux-x64-gnu.node")
    # A module is looked for from where the file that asks for it is.
    (node / "harness/worker").mkdir(parents=True)
    shutil.copy(WORKER / "worker.mjs", node / "harness/worker")
    (node / "spec").mkdir()
    shutil.copy(ROOT / "tests/spec/api.json", node / "spec")
    php = [f"extension={BUILT / 'libratelimit.so'}" if word.startswith("extension=") else word for word in PHP]
    of_python = ["env", f"PYTHONPATH={python}:{WORKER.parent}", *PYTHON, str(WORKER / "worker.py")]
    return {
        "next-python": of_python,
        "next-aio": [*of_python, "aio"],
        "next-php": [*php, str(WORKER / "worker.php")],
        "next-node": [*NODE, str(node / "harness/worker/worker.mjs")],
    }
