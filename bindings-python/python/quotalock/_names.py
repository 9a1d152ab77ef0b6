"""Names of limits: those that a package generates, and those that a developer gives.

A generated name is `~PLACE:METHODS:KEY:DIGEST`, at most 128 bytes of printable ASCII without spaces and braces. PLACE,
METHODS and KEY are what a person recognises in `redis-cli`, cut to fit. DIGEST is taken of everything that
distinguishes a limit, in full, so two limits have two names. It is the same in every process that runs the same code.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ._errors import InvalidArgument

# The first character of generated names.
GENERATED = "~"


def generated_name(
    *,
    application: str,
    place: str,
    kind: str = "",
    methods: str = "",
    key: str,
    policy: str,
    number: int = 0,
) -> str:
    """The name of a limit that has none of the developer's.

    `application` is the application or project with its mounts, `place` the route, the view or the class with its
    function, `kind` what sort of limit it is there (a default limit, one of a view), `methods` the HTTP methods that it
    is for (default: all), `key` the kind of key, `policy` the policy, or the function that returns it. `number`
    distinguishes limits of one place that are equal in all of these.
    """
    return _generated(application, place, kind, methods, key, policy, number)


def _generate(application: str, place: str, kind: str, methods: str, key: str, policy: str, number: int) -> str:
    parts = json.dumps([application, place, kind, methods, key, policy, number])
    digest = hashlib.blake2b(parts.encode(), digest_size=10).hexdigest()
    word = re.sub(r"~[0-9a-f]{16}\Z", "", key).rpartition(".")[2].strip("<>")
    shown = (_shown(place, 56), _shown(methods or "*", 16), _shown(word, 24))
    return f"{GENERATED}{':'.join(shown)}:{digest}"


_generated: Callable[[str, str, str, str, str, str, int], str] = functools.lru_cache(maxsize=4096)(_generate)


def given_name(name: str | None, where: str) -> str | None:
    """A developer's name, as it is, or None; raises for one that could be a generated name."""
    if name is not None and (not isinstance(name, str) or not name or name.startswith(GENERATED)):
        raise InvalidArgument(f"{where}: a name is a text, not empty, that does not begin with {GENERATED}: {name!r}")
    return name


def methods_text(methods: Iterable[str] | None) -> str:
    """HTTP methods as a part of a name; HEAD is a GET without a body."""
    if methods is None:
        return ""
    return ",".join(sorted({method.upper().replace("HEAD", "GET") for method in methods}))


def holds_for(method: str, methods: Iterable[str] | None) -> bool:
    """Whether a limit for these methods holds for a request; one of GET holds for HEAD too."""
    return methods is None or method in methods or (method == "HEAD" and "GET" in methods)


def numbers(identities: Iterable[object]) -> list[int]:
    """The number of each limit among those before it that are equal in everything else."""
    seen: dict[object, itertools.count[int]] = {}
    return [next(seen.setdefault(identity, itertools.count())) for identity in identities]


def name_of(function: object) -> str:
    """What messages and names call a function, or a class: its module and qualified name."""
    if isinstance(function, functools.partial):
        return name_of(function.func)
    return f"{_module(function)}.{getattr(function, '__qualname__', None) or _of_type(function)}"


def place_of(function: object, *arguments: object) -> str:
    """The name of a function; that of a method has the class of the object that it is called on, not of the class that
    defines it: subclasses have limits of their own."""
    name, owner = getattr(function, "__name__", ""), arguments[0] if arguments else None
    defining, _, _ = str(getattr(function, "__qualname__", "")).rpartition(".")
    is_method = bool(defining) and not defining.endswith("<locals>") and hasattr(type(owner), name)
    return f"{name_of(type(owner))}.{name}" if is_method else kind_of(function)


def kind_of(function: object) -> str:
    """What distinguishes a key function from others, in every process alike: its qualified name. A lambda adds its
    code, a closure the texts and numbers that it encloses, a partial its arguments. None is the client's address."""
    if function is None:
        return "address"
    if isinstance(function, str):
        return function
    content = _content(function)
    digest = f"~{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}" if content else ""
    return name_of(function) + digest


def _content(function: object) -> str:
    """What a qualified name does not say of a function; empty if it says all."""
    if isinstance(function, functools.partial):
        given = [*function.args, *itertools.chain(*sorted(function.keywords.items()))]
        return repr(["partial", _content(function.func), *(_constant(value) for value in given)])
    if isinstance(function, MethodType):
        return repr(["method", name_of(type(function.__self__))])
    if not isinstance(function, FunctionType) or "<" not in function.__qualname__:
        return ""
    code = [_code(function.__code__)] if function.__name__ == "<lambda>" else []
    enclosed = [_cell(cell) for cell in function.__closure__ or ()]
    defaults = [_constant(value) for value in (function.__defaults__ or ())]
    return repr([*code, enclosed, defaults])


def _cell(cell: Any) -> str:  # noqa: ANN401
    try:
        return _constant(cell.cell_contents)
    except ValueError:
        return ""


def _constant(value: object) -> str:
    """A value as text, equal in every process; of others than texts, numbers and functions only the type."""
    if isinstance(value, (str, int, type(None))):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return repr([_constant(one) for one in value])
    if isinstance(value, (set, frozenset)):
        return repr(sorted(_constant(one) for one in value))
    if isinstance(value, FunctionType) and "<" not in value.__qualname__:
        return name_of(value)
    return name_of(type(value))


def _code(code: CodeType) -> str:
    # Not its line: an edit above it would begin its counts again.
    return repr([code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, _literal(code.co_consts)])


def _literal(value: object) -> str:
    """A constant of code as text; the order of a set differs between processes."""
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, (tuple, frozenset)):
        return repr((sorted if isinstance(value, frozenset) else list)(map(_literal, value)))
    return repr(value)


def _module(thing: object) -> str:
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return _of_main() if module == "__main__" else str(module)


def _of_type(thing: object) -> str:
    return type(thing).__qualname__


def _of_main() -> str:
    """The name by which the main module would be imported."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return str(spec.name).removesuffix(".__main__")
    file = getattr(main, "__file__", None)
    return PurePath(file).stem if file else "__main__"


def _shown(text: str, longest: int) -> str:
    shown = re.sub(r"[^A-Za-z0-9_./<>*,@~-]", "_", text.replace("{", "<").replace("}", ">"))
    return shown if len(shown) <= longest else shown[-longest:]


@dataclass(frozen=True)
class Site:
    """Where in the developer's code something is made. `module` is empty if a framework makes it, at its own time."""

    module: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_FRAMEWORKS = ("starlette.", "fastapi.")


def site() -> Site:
    """The place of the nearest caller outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _of_frame(frame).partition(".")[0] == "quotalock":
        frame = frame.f_back
    if frame is None:
        return Site("", "?", 0)
    by_framework, outer = False, frame
    while outer is not None and not by_framework:
        by_framework = _of_frame(outer).startswith(_FRAMEWORKS)
        outer = outer.f_back  # type: ignore[assignment]
    module = "" if by_framework else _of_frame(frame)
    return Site(_of_main() if module == "__main__" else module, frame.f_code.co_filename, frame.f_lineno)


def _of_frame(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


_made: dict[str, itertools.count[int]] = {}


def application(name: str) -> str:
    """The name of an application; the second of a name in this process is `name#2`."""
    count = next(_made.setdefault(name, itertools.count(1)))
    return name if count == 1 else f"{name}#{count}"


# Names for which a warning of two policies was given.
_known: set[str] = set()


def packaged(limiter: Any) -> Any:  # noqa: ANN401
    """A limiter of a package, as it is: what was warned of when its name was declared is not warned of again."""
    if limiter.name in _known:
        getattr(limiter, "_native", limiter)._name_is_known()
    return limiter


class Declared:
    """The names that developers gave, each with its policy: one name for two policies warns once."""

    def __init__(self) -> None:
        self._policies: dict[str, tuple[str, Site]] = {}
        self._warned: set[str] = set()

    def clear(self) -> None:
        """Forgets all names."""
        self._policies.clear()
        self._warned.clear()

    def add(self, name: str | None, policy: str | None, where: Site) -> None:
        """Notes a limit. A limit without a name, or whose policy is a function, is not noted."""
        if name is None or policy is None:
            return
        first, there = self._policies.setdefault(name, (policy, where))
        if first == policy or name in self._warned:
            return
        self._warned.add(name)
        _known.add(name)
        told = (
            f'two limits have the name "{name}": {first} at {there}, and {policy} at {where}. They share what they '
            f"count, and each one's policy holds for its own requests. If that is not meant, give them two names"
        )
        warnings.warn_explicit(told, UserWarning, where.file, where.line or 1)


_declared: dict[str, Declared] = {}


def declared_in(store: str) -> Declared:
    """The names given for a store, in this process."""
    return _declared.setdefault(store, Declared())
