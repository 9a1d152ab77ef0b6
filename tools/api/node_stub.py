"""Writes bindings-node/index.d.ts."""

from __future__ import annotations

from collections.abc import Iterator

from surface_data import Method, Parameter, Surface, Type, camel
from wording import Wording, comment, lower, template

WIDTH = 120


def link(kind: str, owner: str, name: str) -> str:
    """A reference, as TypeScript's documentation has it."""
    if kind in ("parameter", "property") and not owner:
        return f"`{name}`"
    return f"{{@link\0{owner}.{name}}}" if owner else f"{{@link\0{camel(name)}}}"


class NodeStub:
    """The declarations of the Node package."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface, self.wording = surface, Wording(surface, "node", link)

    def property(self, parameter: Parameter) -> Iterator[str]:
        """A property of an interface."""
        yield from comment([self.wording.explained(parameter, None, None)], "  ", WIDTH)
        kind = parameter.kind.of("node", optional="null" in parameter.data)
        if parameter.required:
            yield f"  readonly {parameter.cased('node')}: {kind}"
        else:
            kind = f"({kind})" if "=>" in kind else kind
            yield f"  readonly {parameter.cased('node')}?: {kind} | undefined"

    def interface(self, name: str, doc: str, parameters: list[Parameter], extends: str = "") -> Iterator[str]:
        """An interface of options, or of what is given as an object."""
        yield from comment([self.wording.text(doc, self.surface.types.get(name))], "", WIDTH)
        yield f"export interface {name} {extends}{{"
        for each in parameters:
            yield from self.property(each)
        yield from ("}", "")

    def about(self, method: Method, owner: Type | None, indent: str, text: str) -> list[str]:
        """The comment of a method."""
        parts, errors = [text], list(self.wording.raised(method, owner))
        if method.asks("node"):
            rejects = [f"with {{@link\0{name}}} {when}" for name, when in errors]
            parts += [f"Rejects {'; '.join(rejects)}."] if rejects else []
        for each in method.positional:
            if each.is_in("node") and (explained := self.wording.explained(each, owner, method)):
                parts.append(f"@param {each.cased('node')} {lower(explained)}")
        if not method.asks("node"):
            parts += [f"@throws {{{name}}} {when}." for name, when in errors]
        return comment([part for part in parts if part], indent, WIDTH)

    def signature(self, method: Method, name: str, indent: str, before: str = "") -> list[str]:
        """The line or lines of a method."""
        given = []
        for each in method.positional:
            if each.is_in("node"):
                kind = each.kind.of("node", optional="null" in each.data)
                given.append(f"{each.cased('node')}{'' if each.required else '?'}: {kind}")
        if method.options:
            needed = any(each.required for each in method.options.all if each.is_in("node"))
            given.append(f"options{'' if needed else '?'}: {method.options.name}")
        returns = method.returns.of("node") if method.returns else "void"
        end = "" if not name else f": Promise<{returns}>" if method.asks("node") else f": {returns}"
        head = f"{indent}{before}{name or 'constructor'}{method.data.get('generic', '')}("
        line = f"{head}{', '.join(given)}){end}"
        if len(line) <= WIDTH:
            return [line]
        return [head, *(f"{indent}  {each}," for each in given), f"{indent}){end}"]

    def method(self, method: Method, owner: Type | None, indent: str, before: str = "") -> Iterator[str]:
        """A method or a function with its comment."""
        yield from self.about(method, owner, indent, self.wording.doc(method.data, owner, method))
        yield from self.signature(method, camel(method.name), indent, before)

    def type(self, kind: Type, extra: str) -> Iterator[str]:
        """A class."""
        yield from comment([*self.wording.doc(kind.data, kind).split("\n\n")], "", WIDTH)
        implements, _, extra = extra.partition("\n") if extra.startswith("implements") else ("", "", extra)
        yield f"export class {kind.name} {implements + ' ' if implements else ''}{{"
        if kind.construct:
            yield from self.about(kind.construct, kind, "  ", "")
            yield from self.signature(kind.construct, "", "  ")
        else:
            yield "  private constructor()"
        for each in kind.properties:
            if each.is_in("node"):
                yield from comment([self.wording.property(each, kind)], "  ", WIDTH)
                yield f"  readonly {each.cased('node')}: {each.kind.of('node')}"
        for method in kind.methods:
            if method.is_in("node"):
                yield from self.method(method, kind, "  ")
        if extra:
            yield extra.strip("\n")
        yield from ("}", "")

    def errors(self, extras: dict[str, str]) -> Iterator[str]:
        """The codes and classes of errors."""
        yield "/** The kind of an error; stable, and the same in every language. */"
        yield from ("export type Code =", *(f"  | '{code}'" for code in self.surface.errors), "")
        yield from (extras.pop("QuotalockError").strip("\n"), "")
        for code, (name, doc, _) in self.surface.errors.items():
            yield from comment([self.wording.text(doc)], "", WIDTH)
            yield f"export class {name}Error extends QuotalockError {{"
            before, _, after = extras.pop(f"{name}Error", "").partition("\n")
            yield from filter(None, (before, f"  readonly code: '{code}'", after.strip("\n"), "}"))
            yield ""

    def text(self, source: str) -> str:
        """The whole file, by its template."""
        extras = template(source, "//:")
        lines = [extras.pop("header").strip("\n"), ""]
        for name, word in self.surface.words.items():
            if "node" not in word:
                lines += comment([self.wording.text(word["doc"])], "", WIDTH)
                line = f"export type {name} = {' | '.join(f'{chr(39)}{each}{chr(39)}' for each in word['are'])}"
                lines += [line, ""]
        for name, options in self.surface.options.items():
            extends = f"extends {options.extends.name} " if options.extends else ""
            lines += self.interface(name, options.doc, options.interface(), extends)
        for name, kind in self.surface.types.items():
            if kind.data.get("node") == "interface" and kind.construct:
                lines += self.interface(name, kind.data["doc"], kind.construct.positional)
            else:
                lines += self.type(kind, extras.pop(name, ""))
        for function in self.surface.functions:
            lines += [*self.method(function, None, "", "export function "), ""]
        lines += [extras.pop("testing").strip("\n")]
        for each in self.surface.testing:
            if each.is_in("node"):
                lines += self.method(each, None, "  ")
        lines += ["}", "", *self.errors(extras)]
        if extras:
            raise KeyError(f"the template has sections of no type: {', '.join(extras)}")
        return "\n".join(lines).rstrip("\n") + "\n"
