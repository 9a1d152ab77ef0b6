"""Checks files against the rules by which pip, npm, PIE, `cargo binstall` and apt find them.

`targets.py` names the files. The rules are written here a second time, from what those tools document.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tomllib
from dist.targets import ROOT, TARGETS, VERSION
from packaging.utils import parse_sdist_filename, parse_wheel_filename

# PIE's PrePackagedBinaryAssetName, for one extension.
PIE = r"php_{extension}-{version}_php8\.\d-(x86_64|arm64)-linux-(glibc|musl)-(nts|zts)\.zip"
# Of https://docs.npmjs.com/cli/configuring-npm/package-json: what process.arch and libc can be.
NPM = {"os": ["linux"], "cpu": (["x64"], ["arm64"]), "libc": (["glibc"], ["musl"])}


def problems(folder: Path) -> Iterator[str]:
    """What keeps a file from being found, in a sentence for each."""
    for file in sorted(folder.iterdir()):
        for pattern, check in CHECKS.items():
            if re.fullmatch(pattern, file.name):
                yield from (f"{file.name}: {problem}" for problem in check(file))
                break
        else:
            yield f"{file.name}: no rule knows this name: add one to tools/dist/names.py, or remove the file"


def versions() -> dict[str, str]:
    """The version of each package, by the file that has it."""
    python = tomllib.loads((ROOT / "bindings-python/pyproject.toml").read_text())["project"]["version"]
    node = json.loads((ROOT / "bindings-node/package.json").read_text())["version"]
    locked = json.loads((ROOT / "bindings-node/package-lock.json").read_text())["version"]
    needed = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    return {
        "bindings-python/pyproject.toml": python,
        "bindings-node/package.json": node,
        "bindings-node/package-lock.json": locked,
        **{f"Cargo.toml, {name}": each["version"] for name, each in needed.items()},
    }


def binstall_place(target: str) -> tuple[str, str]:
    """The archive and the program in it for which `cargo binstall` looks, by the crate's templates."""
    manifest = tomllib.loads((ROOT / "cli/Cargo.toml").read_text())
    rules = manifest["package"]["metadata"]["binstall"]
    values = {"name": manifest["package"]["name"], "version": VERSION, "target": target, "archive-suffix": ".tgz"}
    values |= {"bin": manifest["bin"][0]["name"], "binary-ext": "", "repo": ""}

    def filled(template: str) -> str:
        return re.sub(r"\{ ([a-z-]+) \}", lambda found: values[found[1]], template)

    return filled(rules["pkg-url"]).rpartition("/")[2], filled(rules["bin-dir"])


def pie_name_is_right(name: str) -> bool:
    """Whether PIE would look for this archive."""
    extension = json.loads((ROOT / "composer.json").read_text())["php-ext"]["extension-name"]
    pattern = PIE.format(extension=re.escape(extension), version=re.escape(VERSION))
    return name == name.lower() and re.fullmatch(pattern, name) is not None


def _wheel(file: Path) -> Iterator[str]:
    name, version, _, tags = parse_wheel_filename(file.name)
    if (name, str(version)) != ("quotalock", VERSION):
        yield f"pip reads {name} {version} in its name, not quotalock {VERSION}"
    with zipfile.ZipFile(file) as wheel:
        inside = wheel.read(f"quotalock-{VERSION}.dist-info/WHEEL").decode()
    if (declared := set(re.findall(r"^Tag: (.+)$", inside, re.MULTILINE))) != {str(tag) for tag in tags}:
        yield f"its file WHEEL has the tags {sorted(declared)}"


def _sdist(file: Path) -> Iterator[str]:
    name, version = parse_sdist_filename(file.name)
    if (name, str(version)) != ("quotalock", VERSION):
        yield f"pip reads {name} {version} in its name, not quotalock {VERSION}"


def _npm(file: Path) -> Iterator[str]:
    with tarfile.open(file) as archive:
        read = archive.extractfile("package/package.json")
        described: dict[str, Any] = json.loads(read.read()) if read else {}
        inside = {name.removeprefix("package/") for name in archive.getnames()}
    expected = f"{described['name'].removeprefix('@').replace('/', '-')}-{described['version']}.tgz"
    if file.name != expected or described["version"] != VERSION:
        yield f"npm calls {described['name']} {described['version']} {expected}"
    if "scripts" in described:
        yield "it has scripts, which npm 12 does not run"
    if described["name"] == "quotalock":
        wanted = {target.npm_package: VERSION for target in TARGETS}
        if described.get("optionalDependencies") != wanted:
            yield f"its optionalDependencies are not {wanted}"
        return
    if described["main"] not in inside or "quotalock" not in inside:
        yield f"it lacks {described['main']} or the program"
    for field, allowed in NPM.items():
        if described.get(field) != allowed and described.get(field) not in allowed:
            yield f"its {field} is {described.get(field)}"


def _pie(file: Path) -> Iterator[str]:
    if not pie_name_is_right(file.name):
        yield "PIE looks for no archive of this name"
    with zipfile.ZipFile(file) as archive:
        if "ratelimit.so" not in archive.namelist():
            yield "ratelimit.so is not at its top, where PIE looks"


def _program(file: Path) -> Iterator[str]:
    triple = file.name.removeprefix("quotalock-cli-").removesuffix(f"-v{VERSION}.tgz")
    name, program = binstall_place(triple)
    if file.name != name:
        yield f"cargo binstall looks for {name}"
    with tarfile.open(file) as archive:
        if program not in archive.getnames():
            yield f"cargo binstall looks in it for {program}"


def _deb(file: Path) -> Iterator[str]:
    asked = ["dpkg-deb", "--show", "--showformat=${Package}_${Version}_${Architecture}.deb", str(file)]
    name = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if file.name != name:
        yield f"its control file calls it {name}"


def _nothing(file: Path) -> Iterator[str]:
    yield from ()


CHECKS: dict[str, Callable[[Path], Iterator[str]]] = {
    r".*\.whl": _wheel,
    r"quotalock-[\d.]+\.tar\.gz": _sdist,
    r"php_.*": _pie,
    r"quotalock-cli-.*": _program,
    r".*\.tgz": _npm,
    r".*\.deb": _deb,
    r"SHA256SUMS|.*\.cdx\.json|.*\.crate": _nothing,
}
