"""Writes bindings-python/python/quotalock/_native.pyi."""

from __future__ import annotations

import re
from collections.abc import Iterator

from surface_data import Method, Parameter, Surface, Type
from wording import Wording, template, wrapped

WIDTH = 120


def link(kind: str, owner: str, name: str) -> str:
    """A reference, as docstrings have it."""
    return f"`{owner}.{name}`" if owner and kind != "option" else f"`{name}`"


def literal(parameter: Parameter) -> str:
    """The default of a parameter: durations are seconds."""
    default = parameter.default
    if parameter.kind.lasts and isinstance(default, int):
        return f"{default / 1000:_}"
    if isinstance(default, str):
        return f'"{default}"'
    return f"{default:_}" if type(default) is int else str(default)


def declared(parameter: Parameter) -> str:
    """A parameter with its type and default."""
    if parameter.required:
        return f"{parameter.name}: {parameter.kind.of('python')}"
    kind = parameter.kind.of("python", optional=parameter.default is None)
    return f"{parameter.name}: {kind} = {literal(parameter)}"


def broken(head: str, items: list[str], end: str, indent: str, width: int = WIDTH) -> list[str]:
    """A call or a definition: on one line if it fits, else its items on one of their own, or on one each."""
    line = f"{indent}{head}({', '.join(items)}){end}"
    if len(line) <= width:
        return [line]
    joined = f"{indent}    {', '.join(items)}"
    inner = [joined] if len(joined) <= WIDTH else [f"{indent}    {each}," for each in items]
    return [f"{indent}{head}(", *inner, f"{indent}){end}"]


class PythonStub:
    """The stub of the native half."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface, self.wording = surface, Wording(surface, "python", link)

    def docstring(self, parts: list[str], indent: str) -> list[str]:
        """A docstring of paragraphs."""
        # The first line has the quotes before it.
        first, *rest = "\n\n".join(part for part in parts if part).split("\n\n")
        lines = wrapped("\0\0\0" + first, WIDTH - len(indent))
        if not rest and len(lines) == 1 and len(indent) + len(lines[0]) + 3 > WIDTH:
            lines = wrapped("\0\0\0" + first, WIDTH - len(indent) - 3)
        lines[0] = f'"""{lines[0].lstrip()}'
        if rest:
            lines.extend(["", *wrapped("\n\n".join(rest), WIDTH - len(indent))])
        if len(lines) == 1 and len(indent) + len(lines[0]) + 3 <= WIDTH:
            lines[0] += '"""'
        else:
            lines.append('"""')
        return [f"{indent}{line}".rstrip() for line in lines]

    def explained(self, method: Method, owner: Type | None) -> list[str]:
        """The parameters and errors of a method."""
        news, others = self.wording.news(method, owner)
        bullets = "\n".join(f"* `{name}`: {text}" for name, text in news.items())
        raised: dict[str, list[str]] = {}
        for name, when in self.wording.raised(method, owner):
            raised.setdefault(when, []).append(f"`{name}`")
        errors = "; ".join(f"{' and '.join(names)} {when}" for when, names in raised.items())
        return [bullets, others, f"Raises {errors}." if errors else ""]

    def signature(
        self,
        name: str,
        method: Method,
        indent: str,
        bound: str,
        returns: str,
        language: str = "python",
        define: str = "def",
    ) -> list[str]:
        """The line or lines of a `def`, up to the colon."""
        given = [bound] if bound else []
        given += [declared(each) for each in method.parameters(language)]
        # What makes a type has its body, ` ...`, on the same line.
        width = WIDTH - (4 if name == "__new__" else 0)
        return broken(f"{define} {name}", given, f" -> {returns}:", indent, width)

    def method(self, method: Method, owner: Type | None) -> Iterator[str]:
        """A method or a function with its docstring."""
        indent, bound = ("    ", "self") if owner else ("", "")
        returns = method.returns.of("python") if method.returns else "None"
        lines = self.signature(method.name, method, indent, bound, returns)
        if returns == "Any":
            lines[-1] += "  # noqa: ANN401"
        yield from lines
        text = self.wording.doc(method.data, owner, method)
        yield from self.docstring([text, *self.explained(method, owner)], indent + "    ")
        yield ""

    def type(self, kind: Type, extra: str) -> Iterator[str]:
        """A class."""
        yield from ("@final", f"class {kind.name}:")
        text = self.wording.doc(kind.data, kind)
        yield from self.docstring([text, *(self.explained(kind.construct, kind) if kind.construct else [])], "    ")
        yield ""
        if kind.construct:
            *lines, last = self.signature("__new__", kind.construct, "    ", "cls", "Self")
            yield from (*lines, f"{last} ...")
        for each in kind.properties:
            if each.is_in("python"):
                yield from ("    @property", f"    def {each.name}(self) -> {each.kind.of('python')}:")
                yield from self.docstring([self.wording.property(each, kind)], "        ")
                yield ""
        for method in kind.methods:
            if method.is_in("python"):
                yield from self.method(method, kind)
        if extra:
            yield extra.strip("\n")
        if kind.data.get("pickled"):
            yield from ("    @staticmethod", f"    def _unpickle(pickled: tuple[Any, ...]) -> {kind.name}: ...")
            yield "    def __reduce__(self) -> tuple[Any, ...]: ..."
        if kind.data.get("truth"):
            yield "    def __bool__(self) -> bool: ..."
        if kind.data.get("value"):
            for name in ("__eq__", "__ne__"):
                yield f"    def {name}(self, other: object, /) -> bool: ..."

    def text(self, source: str) -> str:
        """The whole file, by its template."""
        sections = template(source, "#:")
        words = [
            f"_{name} = Literal[{', '.join(chr(34) + each + chr(34) for each in word['are'])}]"
            for name, word in self.surface.words.items()
            if "python" not in word
        ]
        lines = [sections.pop("header").strip("\n"), "", *sorted(words), "", sections.pop("private").strip("\n"), ""]
        lines.append("__all__ = [")
        functions = [*(each for each in self.surface.functions if each.data.get("native", True)), *self.surface.testing]
        functions = [each for each in functions if each.is_in("python")]
        footer = sections.pop("footer").strip("\n")
        own = re.findall(r"^(?:class|def) (\w+)", footer, re.MULTILINE)
        names = {*self.surface.types, *(each.name for each in functions), *own, "__version__"}
        lines += [f'    "{name}",' for name in sorted(names)]
        lines += ["]", "", "__version__: str", ""]
        for name, kind in self.surface.types.items():
            lines += [*"\n".join(self.type(kind, sections.pop(name, ""))).rstrip().split("\n"), ""]
        for function in functions:
            lines += self.method(function, None)
        if sections:
            raise KeyError(f"the template has sections of no type: {', '.join(sections)}")
        return "\n".join([*lines, footer]) + "\n"
