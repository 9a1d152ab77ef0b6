"""Writes bindings-php/ratelimit.stub.php."""

from __future__ import annotations

from collections.abc import Iterator

from surface_data import Kind, Method, Parameter, Surface, Type, camel
from wording import Wording, comment, template

WIDTH = 120
IN, DEEP = "    ", "        "
BODY = ["{", "}"]


def link(kind: str, owner: str, name: str) -> str:
    """A reference, as PHP's documentation has it."""
    if kind in ("parameter", "option") or (kind == "property" and not owner):
        return f"`${name}`"
    if kind == "type":
        return name
    member = f"${name}" if kind == "property" else f"{name}()"
    return f"{owner}::{member}" if owner else member


def default(parameter: Parameter) -> str:
    """The default of a parameter."""
    if parameter.data.get("php_default") == "none":
        return "null"
    found = None if parameter.required else parameter.default
    if found is None or isinstance(found, bool):
        return {None: "null", True: "true", False: "false"}[found]
    return f"'{found}'" if isinstance(found, str) else str(found)


def optional(parameter: Parameter) -> bool:
    """Whether a caller may leave it out."""
    return not parameter.required or "php_default" in parameter.data


def declared(parameter: Parameter) -> str:
    """A parameter with its type and default."""
    secret = "#[\\SensitiveParameter] " if parameter.data.get("secret") else ""
    null = optional(parameter) and default(parameter) == "null"
    end = f" = {default(parameter)}" if optional(parameter) else ""
    return f"{secret}{parameter.kind.of('php', optional=null)} ${parameter.cased('php')}{end}"


def narrow(kind: Kind, null: bool = False, within: tuple[int, int] | None = None) -> str:
    """The type for PHPStan, if PHP itself cannot express it; else nothing."""
    if within:
        return f"int<{within[0]},\0{within[1]}>" + ("|null" if null or kind.optional else "")
    return kind.phpdoc(null).replace(" ", "\0") if "phpdoc" in kind.names else ""


class PhpStub:
    """The stub of the extension."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface, self.wording = surface, Wording(surface, "php", link)

    def about(self, method: Method, owner: Type | None, indent: str, text: str) -> list[str]:
        """The comment of a method."""
        news, others = self.wording.news(method, owner)
        tags = []
        for each in method.parameters("php"):
            null = optional(each) and default(each) == "null"
            kind = narrow(each.kind, null, each.range)
            if kind or each.name in news:
                kind = kind or each.kind.phpdoc(null)
                tags.append(f"@param {kind} ${each.cased('php')} {news.get(each.name, '')}".rstrip().removesuffix("."))
        if method.returns and (kind := narrow(method.returns)):
            tags.append(f"@return {kind}")
        tags += [f"@throws {name} {when}" for name, when in self.wording.raised(method, owner)]
        return comment([part for part in (*text.split("\n\n"), others, *tags) if part], indent, WIDTH)

    def signature(self, head: str, method: Method, returns: str, body: bool, indent: str) -> list[str]:
        """The lines of a method or function, with an empty body or none."""
        given = [declared(each) for each in method.parameters("php")]
        line = f"{indent}{head}({', '.join(given)}){returns}"
        if len(line) + (not body) <= WIDTH:
            return [line, *(f"{indent}{each}" for each in BODY)] if body else [f"{line};"]
        lines = [f"{indent}{head}(", *(f"{indent}{IN}{each}," for each in given)]
        lines[-1] = lines[-1].removesuffix(",")
        return [*lines, f"{indent}){returns} {{", f"{indent}}}"] if body else [*lines, f"{indent}){returns};"]

    def returned(self, method: Method, interfaces: bool = False) -> str:
        """The type that a method returns; of an interface, the interface of a handle."""
        name = method.returns.of("php") if method.returns else "void"
        handle = interfaces and name in self.surface.types and self.surface.types[name].data.get("handle")
        return f": {name}Interface" if handle else f": {name}"

    def method(self, method: Method, owner: Type | None, head: str, indent: str = DEEP) -> Iterator[str]:
        """A method or a function with its comment."""
        yield from self.about(method, owner, indent, self.wording.doc(method.data, owner, method))
        name = camel(method.name) if owner or method.owner else method.name
        yield from (*self.signature(f"{head} {name}", method, self.returned(method), True, indent), "")

    def interface(self, kind: Type) -> Iterator[str]:
        """The interface of a handle."""
        yield from (f"{IN}/** The methods of {kind.name}. */", f"{IN}interface {kind.name}Interface", f"{IN}{{")
        for each in kind.methods:
            if each.is_in("php"):
                head = f"public function {camel(each.name)}"
                yield from (*self.signature(head, each, self.returned(each, True), False, DEEP), "")

    def type(self, kind: Type) -> Iterator[str]:
        """A class."""
        yield from comment(self.wording.doc(kind.data, kind).split("\n\n"), IN, WIDTH)
        implements = f" implements {kind.name}Interface" if kind.data.get("handle") else ""
        yield from (f"{IN}final class {kind.name}{implements}", f"{IN}{{")
        for each in kind.properties:
            if each.is_in("php"):
                var = [f"@var {found}"] if (found := narrow(each.kind)) else []
                yield from comment([self.wording.property(each, kind), *var], DEEP, WIDTH)
                yield from (f"{DEEP}public readonly {each.kind.of('php')} ${each.cased('php')};", "")
        if kind.construct:
            yield from self.about(kind.construct, kind, DEEP, "")
            yield from (*self.signature("public function __construct", kind.construct, "", True, DEEP), "")
        else:
            yield from (f"{DEEP}private function __construct()", *(f"{DEEP}{each}" for each in BODY), "")
        for method in kind.methods:
            if method.is_in("php"):
                yield from self.method(method, kind, "public function")

    def testing(self) -> Iterator[str]:
        """The helpers for tests."""
        yield f"{IN}/** For your own tests: set the time of a client, and read or plant raw values under a key. */"
        yield from (f"{IN}final class Testing", f"{IN}{{")
        yield from (f"{DEEP}private function __construct()", *(f"{DEEP}{each}" for each in BODY), "")
        for each in self.surface.testing:
            yield from self.method(each, None, "public static function")

    def errors(self, extras: dict[str, str]) -> Iterator[str]:
        """The classes of exceptions."""
        yield from ("namespace Quotalock\\Exception {", extras.pop("exceptions").strip("\n"), "")
        for code, (name, doc, _) in self.surface.errors.items():
            yield from comment([self.wording.text(doc)], IN, WIDTH)
            parent = "\\InvalidArgumentException" if code.startswith("invalid_") else "\\RuntimeException"
            yield f"{IN}final class {name}Exception extends {parent} implements QuotalockException"
            own = [f"{DEEP}public function getErrorCode(): string", *(f"{DEEP}{each}" for each in BODY)]
            yield from (f"{IN}{{", extras.pop(f"{name}Exception", "\n".join(own)).strip("\n"), f"{IN}}}", "")

    def order(self) -> list[Type]:
        """The types, each handle after those that it returns: PHP compares it with its interface at once."""
        types = self.surface.types
        found: list[Type] = []

        def add(kind: Type) -> None:
            for method in kind.methods if kind.data.get("handle") else []:
                returned = types.get(method.returns.of("php").lstrip("?")) if method.returns else None
                if returned and returned.data.get("handle") and returned not in found:
                    add(returned)
            if kind not in found:
                found.append(kind)

        for kind in types.values():
            add(kind)
        return found

    def text(self, source: str) -> str:
        """The whole file, by its template."""
        extras = template(source, "//:")
        lines = [extras.pop("header").strip("\n"), "", "namespace Quotalock {"]
        methods = [*self.surface.functions, *self.surface.testing]
        for kind in self.surface.types.values():
            methods += kind.callables
        raised = {name for each in methods if each.is_in("php") for name, _ in self.wording.raised(each, None)}
        lines += [*(f"{IN}use Quotalock\\Exception\\{name};" for name in sorted(raised) if name[0] != "\\"), ""]
        lines += [extras.pop("interfaces").strip("\n"), ""]
        blocks = [self.interface(kind) for kind in self.surface.types.values() if kind.data.get("handle")]
        blocks += [self.type(kind) for kind in self.order()]
        for block in (*blocks, self.testing()):
            lines += ["\n".join(block).rstrip("\n"), f"{IN}}}", ""]
        for function in self.surface.functions:
            lines += self.method(function, None, "function", IN)
        lines = ["\n".join(lines).rstrip("\n"), "}", "", *self.errors(extras)]
        lines = ["\n".join(lines).rstrip("\n"), "}"]
        if extras:
            raise KeyError(f"the template has sections of no type: {', '.join(extras)}")
        return "\n".join(lines) + "\n"
