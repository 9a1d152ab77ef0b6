"""Writes bindings-python/python/quotalock/aio/_plain.py: what only passes a call on. The rest is written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from python_stub import PythonStub, broken
from surface_data import Method, Parameter, Surface, Type
from wording import lower, template

MADE = ("Limiter", "Lock", "Stock", "Once", "Cache")


def passed(parameter: Parameter) -> str:
    """An argument as the native half gets it."""
    wraps = re.search(r"\b(Limiter|Stock)\b", parameter.kind.of("python"))
    return f"unwrapped({parameter.name})" if wraps else parameter.name


class AsyncioMethods:
    """The base classes of the handles of asyncio."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface, self.stub = surface, PythonStub(surface)
        self.explained: list[Parameter] = []

    def about(self, method: Method, where: str, owner: Type | None, indent: str) -> list[str]:
        """A short docstring."""
        first = self.stub.wording.text(method.data["doc"], owner, method).split("\n\n")[0]
        text = f"{re.split(r'[.] (?=[A-Z])', first)[0].rstrip('.')}; see `quotalock.{where}`."
        if not method.asks("python"):
            text += " Does not ask Redis, so it is not awaited."
        alone = [each for each in method.parameters("aio") if not each.is_in("python") and each not in self.explained]
        self.explained += alone
        bullets = [f"* `{each.name}`: {lower(self.stub.wording.explained(each, owner, method))}" for each in alone]
        return self.stub.docstring([text, *bullets], indent)

    def method(self, method: Method, owner: Type) -> Iterator[str]:
        """A method: awaited if it asks Redis, else made into a handle of asyncio if it returns one."""
        returns = method.returns.of("python") if method.returns else "None"
        define = "async def" if method.asks("python") else "def"
        yield from self.stub.signature(method.name, method, "    ", "self", returns, "aio", define)
        yield from self.about(method, f"{owner.name}.{method.name}", owner, "        ")
        given = method.parameters("aio")
        arguments = [passed(each) for each in given if each.is_in("python")]
        native, extra = f"self._native.{method.name}", [each.name for each in given if not each.is_in("python")]
        if method.asks("python"):
            yield from broken(f"return await on_loop({native})", arguments, "", "        ")
        elif returns in MADE:
            yield from broken(f"native = {native}", arguments, "", "        ")
            yield f"        return self._make_{returns.lower()}({', '.join(['native', *extra])})"
        else:
            yield from broken(native if returns == "None" else f"return {native}", arguments, "", "        ")
        yield ""

    def type(self, kind: Type, extra: str) -> Iterator[str]:
        """A base class of a handle."""
        base = f"Generic[{', '.join(f'{each}T' for each in MADE)}]" if extra else f"Wrapper[rust.{kind.name}]"
        yield from (f"class {kind.name}({base}):", f'    """The methods of a `{kind.name}` that pass a call on."""', "")
        yield from ("    __slots__ = ()", *([extra.strip("\n")] if extra else []), "")
        for each in kind.properties:
            if each.is_in("aio") and "aio" not in each.data:
                yield from ("    @property", f"    def {each.name}(self) -> {each.kind.of('python')}:")
                yield from self.stub.docstring([self.stub.wording.property(each, kind)], "        ")
                yield from (f"        return self._native.{each.name}", "")
        for method in kind.methods:
            if method.is_in("aio") and "aio" not in method.data:
                text = "\n".join(self.method(method, kind))
                # A client takes and makes handles of asyncio.
                named = re.sub(r"(?<=-> )(\w+)(?=:)", lambda found: self.made(found[1]), text) if extra else text
                yield re.sub(r"(?<=tuple\[)(Stock|Limiter)\b", r"\1T", named)

    @staticmethod
    def made(name: str) -> str:
        """The variable that stands for a handle."""
        return f"{name}T" if name in MADE else name

    def quorum_lock(self) -> Iterator[str]:
        """The function for a lock over several servers."""
        method = next(each for each in self.surface.functions if each.name == "quorum_lock")
        lines = "\n".join(self.stub.signature(method.name, method, "", "", "LockT", "aio"))
        yield lines.replace("Iterable[Client]", "Iterable[Client[Any, LockT, Any, Any, Any]]")
        yield from self.about(method, method.name, None, "    ")
        names = [each.name for each in method.parameters("python")[1:]]
        yield from ("    given = list(clients)", "    natives = [_native_of(client) for client in given]")
        yield from broken("native = rust.quorum_lock", ["natives", *names], "", "    ")
        yield "    return given[0]._make_lock(native, cancel_on_loss)"

    def text(self, source: str) -> str:
        """The whole file, by its template."""
        extras = template(source, "#:")
        header, footer = extras.pop("header").strip("\n"), extras.pop("footer").strip("\n")
        parts = [
            "\n".join(self.type(kind, extras.pop(name, ""))).rstrip("\n")
            for name, kind in self.surface.types.items()
            if kind.data.get("handle")
        ]
        parts += ["\n".join(self.quorum_lock()), footer]
        whole = "\n\n\n".join(parts)
        code = re.sub(r'""".*?"""', "", whole, flags=re.DOTALL)
        own = {name for name, kind in self.surface.types.items() if kind.data.get("handle")}
        native = {*self.surface.types, *(f"_{each}" for each in self.surface.words)} - own
        used = sorted(native & {*re.findall(r"\w+", code)}, key=lambda name: (name[0] == "_", name))
        imports = "\n".join(f"        {name}," for name in used)
        return f"{header.replace('{{imports}}', imports)}\n\n\n{whole}\n"
