"""Writes docs/reference.md, and in docs/reference a page for each verb and one for the types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from node_stub import NodeStub
from php_stub import PhpStub
from python_stub import PythonStub
from surface_data import Method, Parameter, Surface, Type, camel
from wording import Wording

NOTES = {"python": "Python", "node": "Node", "php": "PHP"}
NAVIGATION = (
    "[All verbs](../reference.md), [types](types.md). Durations are in seconds in Python, and in milliseconds in PHP"
    " and Node."
)
ACQUIRES = (
    "Node: The call also acquires the lock, and the promise resolves when the lock is granted. With `acquire: false`,"
    " it only makes the handle."
)
WRITTEN = "<!-- Written from api/surface.toml by `python3 tools/api`. -->"


def page(verb: str) -> str:
    """The name of the page of a verb."""
    return f"{verb.replace('_', '-')}.md"


def anchor(owner: str, name: str) -> str:
    """The place of a verb on its page."""
    return f"{page(name)}#{owner.lower()}{name}"


def link(kind: str, owner: str, name: str) -> str:
    """A reference to a page."""
    if kind == "method" and owner:
        return f"[`{owner}.{name}`]({anchor(owner, name)})"
    if kind == "function":
        return f"[`{name}`]({page(name)})"
    if kind == "property" and owner:
        return f"[`{owner}.{name}`](types.md#{owner.lower()})"
    return f"`{name}`"


class ReferencePages:
    """The pages of the reference."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface, self.wording = surface, Wording(surface, "reference", link)
        self.python, self.node, self.php = PythonStub(surface), NodeStub(surface), PhpStub(surface)
        self.codes = {name: code for code, (name, *_) in surface.errors.items()}

    def signatures(self, method: Method) -> Iterator[str]:
        """How each language declares a verb."""
        shown = {}
        if method.is_in("python"):
            returns = method.returns.of("python") if method.returns else "None"
            *lines, last = self.python.signature(method.name, method, "", "", returns)
            text = "\n".join([*lines, last.removesuffix(":")]).removeprefix("def ")
            shown["Python"] = re.sub(r"(?<=\W)_([A-Z]\w+)", self.shown, text)
        if method.is_in("node"):
            shown["Node"] = "\n".join(self.node.signature(method, camel(method.name), ""))
        if method.is_in("php"):
            name = camel(method.name) if method.owner else method.name
            shown["PHP"] = "\n".join(self.php.signature(name, method, self.php.returned(method), False, ""))
        for language, text in shown.items():
            yield from ("", f"{language}:", "", "```text", text.removesuffix(";"), "```")

    def shown(self, private: re.Match[str]) -> str:
        """A private name of the stub as a person reads it."""
        word = self.surface.words.get(private[1])
        return "dict" if word is None else f"Literal[{', '.join(chr(34) + each + chr(34) for each in word['are'])}]"

    def parameter(self, each: Parameter, owner: Type | None, method: Method) -> str:
        """A line about a parameter; empty if its name says all."""
        text = self.wording.explained(each, owner, method)
        text += "".join(f" {note}" for note in self.notes(each.data, owner, method))
        place = each.data.get("in", "")
        place = f" ({' and '.join(NOTES.get(language, 'asyncio') for language in place.split())} only)" if place else ""
        return f"* `{each.name}`{place}: {text}" if text else ""

    def notes(self, data: dict[str, Any], owner: Type | None, method: Method | None = None) -> Iterator[str]:
        """The notes of languages, without their examples."""
        for language, note in data.get("note", {}).items():
            text = "\n\n".join(part for part in note.strip("\n").split("\n\n") if not part.startswith("    "))
            if text:
                yield f"{NOTES[language]}: {self.wording.text(text, owner, method)}"

    def verb(self, method: Method, owner: Type | None) -> Iterator[str]:
        """The part of a page about one type's verb."""
        yield from ("", self.wording.text(method.data["doc"], owner, method))
        if method.data.get("io") == "node":
            yield from ("", ACQUIRES)
        if text := method.data.get("php"):
            yield from ("", f"PHP: {self.wording.text(text, owner, method)}")
        for note in self.notes(method.data, owner, method):
            yield from ("", note)
        guide = method.data.get("guide") or (owner and owner.data.get("guide"))
        if guide:
            yield from ("", f"[Examples in the guide](../{guide})")
        yield from self.signatures(method)
        if lines := [line for each in method.parameters("reference") if (line := self.parameter(each, owner, method))]:
            yield from ("", *lines)
        if errors := list(self.errors(method, owner)):
            yield from ("", "Errors:", "", *errors)

    def errors(self, method: Method, owner: Type | None) -> Iterator[str]:
        """A line about each error, with the languages that have it if others have not."""
        found: dict[tuple[str, str], list[str]] = {}
        for each in method.data.get("raises", {}).items():
            found[each] = []
        for language, name in NOTES.items():
            for each in method.data.get(f"raises_{language}", {}).items():
                found.setdefault(each, []).append(name)
        for (name, when), languages in found.items():
            code = self.codes.get(name)
            shown = f"[`{code}`](../reference.md#errors)" if code else "`" + name.lstrip("\\") + "Exception`"
            place = f" ({' and '.join(languages)} only)" if languages else ""
            yield f"* {shown}{place} {self.wording.text(when, owner, method)}"

    def types(self) -> Iterator[str]:
        """The page about types."""
        yield from ("# Types", "", WRITTEN, "", "[All verbs](../reference.md)", "")
        yield "Durations are in seconds in Python, and in milliseconds in PHP and Node, where their names end in `Ms`."
        for name, kind in self.surface.types.items():
            yield from ("", f"## {name}", "", self.wording.text(kind.data["doc"], kind))
            for note in self.notes(kind.data, kind):
                yield from ("", note)
            if kind.construct:
                yield from ("", "Parameters of the constructor:", "")
                given = kind.construct.parameters("reference")
                yield from filter(None, (self.parameter(each, kind, kind.construct) for each in given))
            yield from ("", "| property | |", "|---|---|")
            for each in kind.properties:
                place = f" ({NOTES[each.data['in']]} only)" if "in" in each.data else ""
                text = " ".join([self.wording.text(each.data["doc"], kind), *self.notes(each.data, kind)])
                yield f"| `{each.name}`{place} | {' '.join(text.split())} |"
            if kind.methods:
                verbs = (f"[`{each.name}`]({anchor(name, each.name)})" for each in kind.methods)
                yield from ("", f"Verbs: {' '.join(verbs)}")

    def index(self, source: str) -> str:
        """The page that leads to the others."""
        rows = []
        for name, kind in self.surface.types.items():
            verbs = " ".join(f"[`{each.name}`](reference/{anchor(name, each.name)})" for each in kind.methods)
            if verbs:
                rows.append(f"| [{name}](reference/types.md#{name.lower()}) | {verbs} |")
        functions = " ".join(f"[`{each.name}`](reference/{page(each.name)})" for each in self.surface.functions)
        errors = [
            f"| `{code}` | `{name}` | `{name}Exception` | `{name}Error` | {cure} |"
            for code, (name, _, cure) in self.surface.errors.items()
        ]
        return source.replace("{{verbs}}", "\n".join([*rows, f"| functions | {functions} |"])).replace(
            "{{errors}}", "\n".join(errors)
        )

    def pages(self, source: str) -> dict[str, str]:
        """The text of each page, by its path."""
        parts: dict[str, list[tuple[str, str]]] = {}
        for name, kind in self.surface.types.items():
            for method in kind.methods:
                text = "\n".join(self.verb(method, kind))
                parts.setdefault(method.name, []).append((f"{name}.{method.name}", text))
        for function in self.surface.functions:
            parts.setdefault(function.name, []).append((function.name, "\n".join(self.verb(function, None))))
        found = {"docs/reference.md": self.index(source), "docs/reference/types.md": "\n".join(self.types()) + "\n"}
        for verb, shown in parts.items():
            sections = "".join(f"\n## {title}\n{text}\n" if "." in title else f"{text}\n" for title, text in shown)
            found[f"docs/reference/{page(verb)}"] = f"# {verb}\n\n{WRITTEN}\n\n{NAVIGATION}\n{sections}"
        return {name: text.replace("\0", " ") for name, text in found.items()}
