"""Runs other projects' checks on a release: `python -m dist.checks`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dist.run import is_current, packages, run, say, stamp
from dist.targets import BY_NAME, CACHE, RELEASE, ROOT, STABLE_ABI, WHEELS, DistError, npm_name, wheel_name

OF_PYTHON = ["auditwheel==6.8.2", "abi3audit==0.0.26", "twine==7.0.0"]
OF_NODE = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"]
# Our types for `require` and `import` are files of their own. Resolution of Node 10, without `exports`, is not
# supported.
TYPES = ["--profile", "node16"]


def commands() -> Iterator[tuple[str, Sequence[str]]]:
    """What is run, with its name."""
    python, node = packages("checks", OF_PYTHON), _npm_programs()
    for target in BY_NAME.values():
        for wheel in WHEELS:
            file = RELEASE / wheel_name(target, wheel)
            if not file.exists():
                continue
            # Of musl it knows the name that Alpine gives libc.so and no other; maturin checks those wheels as it builds
            # them.
            if target.libc == "glibc":
                yield f"auditwheel, {target.node}, {wheel.tag}", [str(python / "auditwheel"), "show", str(file)]
            if wheel == STABLE_ABI:
                yield f"abi3audit, {target.node}", [str(python / "abi3audit"), "--strict", str(file)]
    distributions = [*RELEASE.glob("*.whl"), *RELEASE.glob("quotalock-*.tar.gz")]
    yield "twine check", [str(python / "twine"), "check", "--strict", *map(str, distributions)]
    root = str(RELEASE / npm_name("quotalock"))
    yield "publint", [str(node / "publint"), "--strict", root]
    yield "attw", [str(node / "attw"), *TYPES, root]
    yield "composer validate", ["composer", "validate", "--no-check-publish", str(ROOT / "composer.json")]


def main() -> int:
    """Runs all of them and prints how each one ended."""
    failed = 0
    for name, command in commands():
        try:
            output = run(command)
            if name.startswith("auditwheel"):
                _expect_tag(output, name.split(", ")[1])
            print(f"  {name:40} passed")
        except DistError as error:
            failed += 1
            print(f"  {name:40} FAILED\n{error}")
    print(f"make check-dist: {'all passed' if not failed else f'{failed} FAILED'}")
    return min(failed, 1)


def _expect_tag(output: str, node: str) -> None:
    """auditwheel prints the platform that a wheel really has, which must be the one in its name."""
    tag = BY_NAME[node].wheel
    if f'"{tag}"' not in output.replace("\n", " "):
        raise DistError(f"the wheel of {node} is called {tag}, and auditwheel finds another platform:\n{output}")


def _npm_programs() -> Path:
    folder = CACHE / "checks-node"
    if not is_current(folder / ".stamp", OF_NODE):
        say(", ".join(OF_NODE))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        run(["npm", "install", "--no-fund", "--no-audit", "--ignore-scripts", *OF_NODE], cwd=folder)
        stamp(folder / ".stamp", OF_NODE)
    return folder / "node_modules/.bin"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DistError as error:
        print(f"dist: {error}", file=sys.stderr)
        sys.exit(1)
