"""The npm packages: a root package of JavaScript and types, and for each target one that holds its native part."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from dist import program, toolchain
from dist.licences import notices
from dist.run import run
from dist.targets import CACHE, ROOT, TARGETS, VERSION, Target

SOURCE = ROOT / "bindings-node"
# What only a checkout needs.
OF_A_CHECKOUT = ("scripts", "devDependencies", "napi")


def publish(target: Target, folder: Path) -> None:
    """Writes the package of a target: the library for Node, and the program."""
    package = target.npm_folder
    library = f"quotalock.{target.node}.node"
    built = toolchain.cargo(target, ["build", "-p", "quotalock-node"])
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    shutil.copy(built / "libquotalock_node.so", package / library)
    shutil.copy(program.build(target), package / "quotalock")
    shutil.copy(ROOT / "LICENSE", package)
    (package / "THIRD-PARTY.txt").write_text(notices(target, "quotalock-node", "quotalock-cli"))
    (package / "README.md").write_text(
        f"# {target.npm_package}\n\nThe native part of `quotalock` for {target.triple}.\n"
    )
    _write(package, native_package(target, library))
    _pack(package, folder)


def native_package(target: Target, library: str) -> dict[str, Any]:
    """The `package.json` of a target's package, by which npm installs it on that platform alone."""
    root = json.loads((SOURCE / "package.json").read_text())
    return {
        "name": target.npm_package,
        "version": VERSION,
        "description": f"The native part of quotalock for {target.node}",
        "license": root["license"],
        "os": ["linux"],
        "cpu": [target.cpu],
        "libc": [target.libc],
        "engines": root["engines"],
        "main": library,
        "files": [library, "quotalock", "THIRD-PARTY.txt"],
    }


def publish_root(folder: Path) -> None:
    """Writes the root package."""
    package = CACHE / "npm/quotalock"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    described = root_package()
    # A program of this machine may be next to the script that starts it.
    programs = shutil.ignore_patterns("quotalock-*")
    for name in described["files"]:
        source = SOURCE / name
        if source.is_dir():
            shutil.copytree(source, package / name, ignore=programs)
        else:
            shutil.copy(source, package)
    shutil.copy(SOURCE / "README.md", package)
    shutil.copy(ROOT / "LICENSE", package)
    _write(package, described)
    _pack(package, folder)


def root_package() -> dict[str, Any]:
    """The `package.json` of the root package: as in the checkout, with the packages of all targets."""
    described: dict[str, Any] = json.loads((SOURCE / "package.json").read_text())
    for name in OF_A_CHECKOUT:
        described.pop(name)
    described["files"] = [name for name in described["files"] if name != "*.node"]
    described["optionalDependencies"] = {target.npm_package: VERSION for target in TARGETS}
    return described


def _write(package: Path, described: dict[str, Any]) -> None:
    (package / "package.json").write_text(json.dumps(described, indent=2) + "\n")


def _pack(package: Path, folder: Path) -> None:
    run(["npm", "pack", "--silent", "--pack-destination", str(folder)], cwd=package)
