#!/usr/bin/env python3
"""Finds circles among imports: `imports.py` fails, naming the edges, when one appears.

No file may import another that imports it in turn, not even through others; `HOUSES` lists the places.
`imports.py --graph` prints every import, from the top floor down. What only tests import does not count. A folder given
as the last word is looked at in place of this checkout.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Edge:
    """One import: which file needs which other, and where that stands."""

    source: str
    target: str
    where: str


@dataclass(frozen=True)
class House:
    """Sources whose files must not import each other in a circle."""

    name: str
    edges: list[Edge]


def houses(root: Path) -> Iterator[House]:
    """What is looked at below a checkout."""
    for folder, read in HOUSES:
        yield House(folder, list(read(root, root / folder)))


# Rust


def rust(root: Path, src: Path) -> Iterator[Edge]:
    """The imports between the modules of a crate.

    The root of the crate is left out: what is imported from there counts as imported from where the root has it from.
    """
    modules = {module_of(path.relative_to(src)): path for path in sorted(src.rglob("*.rs")) if not is_test(path)}
    exported = dict(exports(plain(modules[()]), modules))
    for module, path in modules.items():
        if not module:
            continue
        for line, target in paths_in(plain(path), module):
            place = exported.get(target[0], target) if target else target
            found = next((place[:n] for n in range(len(place), 0, -1) if place[:n] in modules), None)
            if found is None:
                continue
            if found != module:
                yield Edge("::".join(module), "::".join(found), f"{path.relative_to(root)}:{line}")


def is_test(path: Path) -> bool:
    """Whether a source file is compiled for tests only."""
    return path.stem == "tests" or "tests" in path.parts


def module_of(path: Path) -> tuple[str, ...]:
    """The path of the module that a file defines; of the root of a crate none."""
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] == "mod" or parts in (("lib",), ("main",)) else parts


def plain(path: Path) -> str:
    """A file's text without comments, literals and what is for tests only; the lines stay where they are."""
    text = re.sub(
        r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'',
        lambda found: "\n" * found[0].count("\n"),
        path.read_text(),
        flags=re.DOTALL,
    )
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))?\s+)?(?:mod|impl|use|fn)\b[^{;]*[{;]", text):
        end = closing(text, found.end()) if text[found.end() - 1] == "{" else found.end()
        text = text[: found.start()] + "\n" * text.count("\n", found.start(), end) + text[end:]
    return text


def closing(text: str, start: int) -> int:
    """Where the brace that was opened before `start` is closed."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def paths_in(text: str, module: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every path of the crate that a module names, with the line."""
    for found in re.finditer(r"\b(crate|super|self)::", text):
        if text[: found.start()].endswith("::"):
            continue
        line = text.count("\n", 0, found.start()) + 1
        for path in tree(text, found.start()):
            yield line, absolute(path, module)


def tree(text: str, start: int) -> Iterator[tuple[str, ...]]:
    """The paths of a `use` tree, or of one path, that begins here."""
    words = re.compile(r"\s*(?:(\w+|\*)|(\{))\s*(::)?").match
    prefix: list[str] = []
    while found := words(text, start):
        if found[2]:
            end = closing(text, found.end(2))
            for part in split(text[found.end(2) : end - 1]):
                for rest in tree(part, 0):
                    yield tuple(prefix) + rest
            return
        prefix.append(found[1])
        start = found.end()
        if not found[3]:
            break
    yield tuple(word for word in prefix if word != "*")


def split(parts: str) -> Iterator[str]:
    """What stands between the commas of a group, but not of the groups in it."""
    depth, begin = 0, 0
    for at, letter in enumerate(parts):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield parts[begin:at]
            begin = at + 1
    if parts[begin:].strip():
        yield parts[begin:]


def absolute(path: tuple[str, ...], module: tuple[str, ...]) -> tuple[str, ...]:
    """A path from the root of the crate."""
    here = list(module)
    for at, word in enumerate(path):
        if word == "crate":
            here = []
        elif word == "super":
            here = here[:-1]
        elif word != "self":
            return tuple(here) + path[at:]
    return tuple(here)


def exports(text: str, modules: dict[tuple[str, ...], Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that the root of a crate has from its modules."""
    for found in re.finditer(r"\bpub use\s+", text):
        for path in tree(text, found.end()):
            if path[:1] in modules:
                yield path[-1], path


# Python and JavaScript


def python(root: Path, src: Path) -> Iterator[Edge]:
    """The imports between the files of a package; those for types only count too."""
    modules = {".".join(path.relative_to(src).with_suffix("").parts): path for path in sorted(src.rglob("*.py"))}
    for module, path in modules.items():
        package = module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text())):
            for name in imported(node, package):
                target = next((full for full in (name, f"{name}.__init__") if full in modules), None)
                if target is not None and target != module:
                    yield Edge(module, target, f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)}")


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that a statement may import, by their full names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - max(node.level - 1, 0)] if node.level else []
        base = ".".join([*above, *filter(None, [node.module])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def javascript(root: Path, src: Path) -> Iterator[Edge]:
    """The `require`s between the files of a package, those beside its `lib` included."""
    src = src.parent
    for path in sorted([*src.glob("*.js"), *src.glob("*.mjs"), *(src / "lib").rglob("*.js")]):
        for line, text in enumerate(path.read_text().splitlines(), 1):
            for found in re.finditer(r"(?:require\(|from )'(\.[^']*)'", text):
                target = (path.parent / found[1]).resolve()
                target = target if target.suffix else target.with_suffix(".js")
                if target.exists():
                    names = (str(path.relative_to(src)), str(target.relative_to(src)))
                    yield Edge(*names, f"{path.relative_to(root)}:{line}")


# Circles


def circles(edges: list[Edge]) -> list[set[str]]:
    """The sets of files that import each other in a circle (Tarjan's strongly connected components)."""
    out: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        out[edge.source].add(edge.target)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(out[file]):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            circle = set(stack[stack.index(file) :])
            del stack[stack.index(file) :]
            if len(circle) > 1:
                found.append(circle)

    for file in sorted(out):
        if file not in index:
            visit(file)
    return found


def floors(edges: list[Edge]) -> dict[str, int]:
    """How high each file stands: one above the highest that it imports. Files in a circle stand at 0."""
    stuck = set().union(*circles(edges))
    out: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        out[edge.source].add(edge.target)
        out[edge.target] |= set()
    height: dict[str, int] = dict.fromkeys(stuck, 0)

    def visit(file: str) -> int:
        if file not in height:
            height[file] = 1 + max((visit(other) for other in out[file]), default=0)
        return height[file]

    for file in out:
        visit(file)
    return height


# Where imports are looked at: the folder, and who reads them.
HOUSES: list[tuple[str, Callable[[Path, Path], Iterator[Edge]]]] = [
    ("wire/src", rust),
    ("core/src", rust),
    ("cli/src", rust),
    ("bindings-php/src", rust),
    ("bindings-python/src", rust),
    ("bindings-python/python", python),
    ("bindings-node/lib", javascript),
    ("bindings-node/src", rust),
]


def main(arguments: list[str]) -> int:
    """Looks at the houses; 1 if there is a circle in any."""
    root = Path(arguments[-1]) if arguments and not arguments[-1].startswith("--") else ROOT
    failed = 0
    for house in houses(root):
        if "--graph" in arguments:
            height = floors(house.edges)
            print(f"{house.name}:")
            for file in sorted(height, key=lambda file: (-height[file], file)):
                below = sorted({edge.target for edge in house.edges if edge.source == file})
                print(f"  {height[file]:2} {file}" + (f" -> {', '.join(below)}" if below else ""))
        for circle in circles(house.edges):
            failed = 1
            print(f"{house.name}: these import each other in a circle: {', '.join(sorted(circle))}", file=sys.stderr)
            for edge in house.edges:
                if {edge.source, edge.target} <= circle:
                    print(f"  {edge.where}: {edge.source} -> {edge.target}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
