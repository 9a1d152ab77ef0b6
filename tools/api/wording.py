"""Turns the texts of api/surface.toml into those of one language: names are cased and linked, lines are broken."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from surface_data import Method, Parameter, Surface, Type, camel

Link = Callable[[str, str, str], str]
WORDS = {
    "python": {
        "true": "True",
        "false": "False",
        "none": "None",
        "unit": "seconds",
        "raises": "raises",
        "renewed": "renewed",
    },
    "node": {
        "true": "true",
        "false": "false",
        "none": "null",
        "unit": "milliseconds",
        "raises": "throws",
        "renewed": "renewed",
    },
    "php": {
        "true": "true",
        "false": "false",
        "none": "null",
        "unit": "milliseconds",
        "raises": "throws",
        "renewed": "extended",
    },
    "reference": {
        **{word: f"`{word}`" for word in ("true", "false", "none")},
        **{"unit": "seconds or milliseconds", "raises": "raises", "renewed": "renewed"},
    },
}
ENDINGS = {"reference": "", "python": "", "node": "Error", "php": "Exception"}


class Wording:
    """The texts of one language."""

    def __init__(self, surface: Surface, language: str, link: Link) -> None:
        """`link` writes a reference by its kind (`type`, `method`, `property`, ...), owner and name."""
        self.surface, self.language, self.link = surface, language, link
        self.shared = {each.name: each for options in surface.options.values() for each in reversed(options.all)}
        self._explained: dict[int, Method] = {}

    def text(self, text: str, owner: Type | None = None, method: Method | None = None) -> str:
        """A text with its names as the language writes them."""

        def one(found: re.Match[str]) -> str:
            if found[1] in WORDS[self.language]:
                return WORDS[self.language][found[1]]
            return self._named(found[1], owner, method)

        return re.sub(r"\{([A-Za-z_.]+(?:=[^}]+)?)\}", one, text.strip())

    def _named(self, name: str, owner: Type | None, method: Method | None) -> str:
        name, equals, value = name.partition("=")
        if equals:
            cased, value = self.shared[name].cased(self.language), WORDS[self.language].get(value, value).strip("`")
            if self.language == "python":
                return f"`{cased}={value}`"
            return f"`{cased}: " + value.replace('"', "'") + "`"
        errors = [each for each, *_ in self.surface.errors.values()]
        if name in errors:
            return self.link("type", "", f"{name}{ENDINGS[self.language]}")
        if name in self.surface.types or name in self.surface.options:
            return self.link("type", "", name)
        of, _, member = name.rpartition(".")
        if of in self.surface.options:
            for each in self.surface.options[of].all:
                if each.name == member:
                    return self.link("option", of, each.cased(self.language))
        if not of and method is not None:
            for each in method.parameters(self.language):
                if each.name == name:
                    return self.link("parameter", "", each.cased(self.language))
        kind = self.surface.types.get(of) if of else owner
        if kind is not None:
            for each in kind.properties:
                if each.name == member:
                    return self.link("property", of, each.cased(self.language))
            if any(each.name == member for each in kind.methods):
                return self.link("method", of, camel(member) if self.language in ("node", "php") else member)
        if any(name == each.name for each in self.surface.functions):
            return self.link("function", "", name)
        if of or name not in self.shared:
            raise KeyError(f"{{{name}}} is no name of the surface, in {owner and owner.name}.{method and method.name}")
        return self.link("parameter", "", self.shared[name].cased(self.language))

    def doc(self, data: dict[str, Any], owner: Type | None = None, method: Method | None = None) -> str:
        """The text of a thing with the note of this language."""
        text = str((method and data.get(self.language)) or data["doc"])
        if note := data.get("note", {}).get(self.language):
            joined = "\n\n" if (owner and not method) or "```" in text else " "
            text = f"{text.rstrip()}{joined}{note.rstrip()}"
        return self.text(text, owner, method)

    def property(self, parameter: Parameter, owner: Type) -> str:
        """The text of a property with the note of this language."""
        note = parameter.data.get("note", {}).get(self.language, "")
        return self.text(f"{parameter.data['doc']} {note}", owner)

    def explained(self, parameter: Parameter, owner: Type | None, method: Method | None) -> str:
        """The text of a parameter, with its bounds after the first sentence; empty if it has neither."""
        bounds = parameter.bounds(self.language)
        data = {**parameter.data, "doc": parameter.data.get("doc", "").strip()}
        text = self.doc(data, None, method).replace("\n", " ") if data["doc"] else ""
        if bounds:
            bounds = self.text(bounds, owner, method)
            first, stop, rest = text.partition(". ") if ". " in text else (text.removesuffix("."), "", "")
            text = f"{first} ({bounds}).{' ' + rest if stop else ''}" if text else f"{bounds}."
        return text

    def news(self, method: Method, owner: Type | None) -> tuple[dict[str, str], str]:
        """The texts of parameters that were not explained before, and where the others are."""
        found, before = {}, []
        for parameter in method.parameters(self.language):
            earlier = self._explained.get(id(parameter))
            if earlier and method.options and parameter in method.options.all and method.owner in ("", earlier.owner):
                before.append(earlier)
                continue
            text = self.explained(parameter, owner, method)
            if text:
                found[parameter.name] = lower(text)
                self._explained.setdefault(id(parameter), method)
        if len(before) < 3:
            return found, ""
        where = before[0].name if before[0].owner == method.owner else f"{before[0].owner}.{before[0].name}"
        return found, self.text(f"The other options are those of {{{where}}}.", owner, method)

    def raised(self, method: Method, owner: Type | None) -> Iterator[tuple[str, str]]:
        """The errors of a method, with when."""
        data = method.data
        for name, when in {**data.get(f"raises_{self.language}", {}), **data.get("raises", {})}.items():
            yield f"{name}{ENDINGS[self.language]}", self.text(when, owner, method)


def lower(text: str) -> str:
    """A sentence as the rest of another one."""
    return text[0].lower() + text[1:] if text[0].isupper() and text[1:2].islower() | (text[1:2] == " ") else text


def wrapped(text: str, width: int, hang: str = "") -> list[str]:
    """Lines of a text: blocks of code as they are, others broken; items of lists are indented, others by `hang`."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\n", text.strip("\n")):
        if lines:
            lines.append("")
        if paragraph.startswith(("    ", "```")):
            lines.extend(paragraph.splitlines())
            continue
        for item in paragraph.split("\n* ") if paragraph.startswith("* ") else [paragraph]:
            bullet = "* " if paragraph.startswith("* ") else ""
            flat = " ".join(item.removeprefix("* ").split())
            indent = "  " if bullet else hang
            broken = textwrap.wrap(
                bullet + flat, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            lines.extend(line.replace("\0", " ") for line in broken)
    return lines


def comment(parts: Iterable[str], indent: str, width: int) -> list[str]:
    """A `/** */` comment of paragraphs, and of tags that begin with `@`."""
    lines: list[str] = []
    tags = False
    for part in parts:
        tag = part.startswith("@")
        if lines and not (tag and tags):
            lines.append("")
        tags = tag
        first, *more = part.split("\n") if tag else [part]
        lines.extend(wrapped(first, width - len(indent) - 3, "    " if tag else ""))
        lines.extend(f"    {each}".replace("\0", " ") for each in more)
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= width:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def template(text: str, mark: str) -> dict[str, str]:
    """The sections of a template: each begins after a line of the mark and its name."""
    parts = re.split(rf"^{re.escape(mark)} (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
