"""Reads api/surface.toml: types, methods, options, parameters, and how each language names and types them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import tomllib

LANGUAGES = ("python", "node", "php")
UNITS = {"ms": 1, "s": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
TIMES = ("duration", "time")
KEYS = {
    "options": "doc extends parameters",
    "parameter": "type doc default php_default phpdoc range show_range none null in after first last secret note aio",
    "method": "parameters returns io doc node php note guide in generic native aio"
    " raises raises_python raises_node raises_php",
    "type": "doc note guide handle value truth pickled construct raises properties methods node",
    "word": "doc are python node",
}


def camel(name: str) -> str:
    """A name in the case of PHP and Node."""
    return re.sub(r"_(.)", lambda found: found[1].upper(), name)


def number(text: str) -> int:
    """A bound: `1,000`, `2^31 - 1`, or a time such as `7 days` in milliseconds."""
    if power := re.fullmatch(r"2\^(\d+)( - 1)?", text):
        return int(2 ** int(power[1])) - (1 if power[2] else 0)
    digits, _, unit = text.replace(",", "").partition(" ")
    return int(digits) * (UNITS.get(unit) or UNITS[unit.removesuffix("s")] if unit else 1)


def known(what: str, name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data, if each key of theirs is one that is read."""
    if wrong := data.keys() - KEYS[what].split():
        raise KeyError(f"{what} {name} has {', '.join(sorted(wrong))}, which nothing reads")
    return data


def has(data: dict[str, Any], language: str) -> bool:
    """Whether a language has what the data describe; asyncio has what Python has, the reference has all."""
    given = data.get("in", "python node php").split()
    return language == "reference" or language in given or (language == "aio" and "python" in given)


@dataclass(frozen=True)
class Kind:
    """The type of a parameter, a property or an answer in each language; `phpdoc` is what PHP itself cannot express."""

    names: dict[str, str]
    optional: bool = False
    lasts: bool = False

    def of(self, language: str, optional: bool = False) -> str:
        """The type as the language itself writes it."""
        name, none = self.names[language], self.optional or optional
        if not none or name in ("Any", "mixed"):
            return name
        if language == "php":
            return f"{name}|null" if "|" in name else f"?{name}"
        return f"{name} | {'None' if language == 'python' else 'null'}"

    def phpdoc(self, optional: bool = False) -> str:
        """The type for PHPStan and IDEs, the same as PHP's if that says all."""
        name, none = self.names.get("phpdoc", self.names["php"]), self.optional or optional
        return (f"({name})|null" if name.startswith("callable(") else f"{name}|null") if none else name


@dataclass(frozen=True)
class Parameter:
    """A parameter or a property; `data` is what the file has of it."""

    name: str
    kind: Kind
    data: dict[str, Any]

    def is_in(self, language: str) -> bool:
        """Whether a language has it."""
        return has(self.data, language)

    def cased(self, language: str) -> str:
        """The name in a language: durations have their unit where they are whole milliseconds."""
        if language in ("python", "reference"):
            return self.name
        name = "fn" if (language, self.name) == ("node", "function") else camel(self.name)
        return f"{name}Ms" if self.kind.lasts else name

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return "default" not in self.data

    @property
    def default(self) -> str | int | float | None:
        """The default: a number of milliseconds if it is a time; None for `none`."""
        given: str | int | float = self.data["default"]
        if given == "none":
            return None
        return number(str(given)) if self.kind.lasts else given

    @property
    def range(self) -> tuple[int, int] | None:
        """The least and the most, if there are any."""
        if "range" not in self.data:
            return None
        low, high = self.data["range"].split(" to ")
        return number(low), number(high)

    def bounds(self, language: str) -> str:
        """The range and the default as a person reads them."""
        parts = [self.data["range"]] if "range" in self.data and self.data.get("show_range", True) else []
        if "none" in self.data:
            null = {"python": "None, ", "php": "null, "}.get(language, "")
            parts.append(f"default: {null}{self.data['none']}")
        elif not self.required and self.default is not None:
            default = self.data["default"]
            if self.kind.lasts and language in ("node", "php"):
                long = f", {default}" if default.split()[1] not in ("ms", "s") else ""
                default = f"{self.default:,}\0ms{long}"
            elif isinstance(default, bool):
                default = "{" + str(default).lower() + "}"
            elif isinstance(default, str):
                default = default if self.kind.lasts else f"`{default}`" if default else "empty"
            parts.append(f"default: {default:,}" if type(default) is int else f"default: {default}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Options:
    """Parameters that are one object in Node, and parameters in this order elsewhere."""

    name: str
    doc: str
    extends: Options | None
    own: list[Parameter]

    @cached_property
    def all(self) -> list[Parameter]:
        """Those of what it extends too, in their order."""
        found = list(self.extends.all) if self.extends else []
        first = 0
        for parameter in self.own:
            names = [each.name for each in found]
            if parameter.name in names:
                found[names.index(parameter.name)] = parameter
            elif "after" in parameter.data:
                found.insert(names.index(parameter.data["after"]) + 1, parameter)
            elif "first" in parameter.data:
                found.insert(first, parameter)
                first += 1
            else:
                found.append(parameter)
        return sorted(found, key=lambda each: "last" in each.data)

    def interface(self) -> list[Parameter]:
        """The properties that Node's interface has itself."""
        above = [each.name for each in self.extends.all] if self.extends else []
        return [each for each in self.own if each.is_in("node") and each.name not in above]


@dataclass(frozen=True)
class Method:
    """A method or a function."""

    name: str
    owner: str
    data: dict[str, Any]
    positional: list[Parameter]
    options: Options | None
    returns: Kind | None

    def is_in(self, language: str) -> bool:
        """Whether a language has it."""
        return has(self.data, language)

    def parameters(self, language: str) -> list[Parameter]:
        """All parameters in a language, those of the options included."""
        found = self.positional + (self.options.all if self.options else [])
        return [each for each in found if each.is_in(language)]

    def asks(self, language: str) -> bool:
        """Whether it does I/O."""
        return self.data.get("io", True) in (True, language)


@dataclass
class Type:
    """A type with its properties and methods."""

    name: str
    data: dict[str, Any]
    properties: list[Parameter] = field(default_factory=list)
    methods: list[Method] = field(default_factory=list)
    construct: Method | None = None

    @property
    def callables(self) -> list[Method]:
        """Its methods, and what makes it."""
        return [*self.methods, *([self.construct] if self.construct else [])]


class Surface:
    """All of it."""

    def __init__(self, path: Path) -> None:
        """Reads the file."""
        self.data: dict[str, Any] = tomllib.loads(path.read_text())
        self.words: dict[str, dict[str, Any]] = self.data["words"]
        self.errors: dict[str, list[str]] = self.data["errors"]
        self.options: dict[str, Options] = {}
        for name, data in self.data["options"].items():
            known("options", name, data)
            own = [self._parameter(of, given) for of, given in data["parameters"].items()]
            self.options[name] = Options(name, data["doc"], self.options.get(data.get("extends")), own)
        self._unused = {*self.data["parameters"]}
        self.parameters = {
            place: self._parameter(place.split(".")[-1], given) for place, given in self.data["parameters"].items()
        }
        self.types = {name: self._type(name, data) for name, data in self.data["types"].items()}
        self.functions = [self._method(name, "", data) for name, data in self.data["functions"].items()]
        self.testing = [self._method(name, "Testing", data) for name, data in self.data["testing"].items()]
        for name, data in self.words.items():
            known("word", name, data)
        if self._unused:
            raise KeyError(f"no method has {', '.join(sorted(self._unused))} of parameters")

    def kind(self, given: str | dict[str, str], phpdoc: str | None = None) -> Kind:
        """The kind that the file names."""
        if isinstance(given, dict):
            names = dict(given)
            if names.get("phpdoc") in self.words:
                names["phpdoc"] = self._union(names["phpdoc"])
            return Kind(names)
        of = given.removesuffix("?").removesuffix("[]").removesuffix("[+]")
        names = self._names(of)
        if phpdoc:
            names["phpdoc"] = phpdoc
        if given.endswith(("]", "]?")):
            item = names.get("phpdoc", names["php"])
            names = {
                "python": f"tuple[{names['python']}, ...]",
                "node": f"readonly {names['node']}[]",
                "php": "array",
                "phpdoc": f"{'non-empty-list' if '+' in given else 'list'}<{item}>",
            }
        return Kind(names, given.endswith("?"), of in TIMES)

    def _names(self, of: str) -> dict[str, str]:
        if of in self.words:
            word = self.words[of]
            node = of if "node" not in word else " | ".join(f"'{each}'" for each in word["are"])
            return {"python": word.get("python", f"_{of}"), "node": node, "php": "string", "phpdoc": self._union(of)}
        if of in self.data["types"]:
            return dict.fromkeys(LANGUAGES, of)
        if of not in self.data["kinds"]:
            raise KeyError(f"{of} is no type: it is none of kinds, words and types")
        return dict(self.data["kinds"][of])

    def _union(self, word: str) -> str:
        return "|".join(f"'{each}'" for each in self.words[word]["are"])

    def _parameter(self, name: str, given: list[Any] | dict[str, Any]) -> Parameter:
        data = known("parameter", name, given if isinstance(given, dict) else {"type": given[0], "doc": given[1]})
        return Parameter(name, self.kind(data["type"], data.get("phpdoc")), data)

    def _method(self, name: str, owner: str, data: dict[str, Any]) -> Method:
        given = known("method", name, data).get("parameters", [])
        self._unused -= {*given}
        options = next((self.options[each[1:]] for each in given if each.startswith("*")), None)
        positional = [self.parameters[each] for each in given if not each.startswith("*")]
        returns = None if data.get("returns", "none") == "none" else self.kind(data["returns"])
        return Method(name, owner, data, positional, options, returns)

    def _type(self, name: str, data: dict[str, Any]) -> Type:
        found = Type(name, known("type", name, data))
        found.properties = [self._parameter(of, given) for of, given in data.get("properties", {}).items()]
        methods = data.get("methods", {})
        if isinstance(methods, str):
            methods = self.data["types"][methods]["methods"]
        found.methods = [self._method(of, name, given) for of, given in methods.items()]
        if "construct" in data:
            given = {"parameters": data["construct"], "doc": "", "raises": data.get("raises", {}), "io": False}
            found.construct = self._method("", name, given)
        return found
