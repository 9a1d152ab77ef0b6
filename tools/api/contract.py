"""Writes tests/spec/api.json, which tests of reflection and of vectors read, in languages that read no TOML."""

from __future__ import annotations

import json
from typing import Any

from surface_data import Method, Options, Parameter, Surface

ABOUT = (
    "Written from api/surface.toml by `python3 tools/api`. Canonical names in snake_case; each language cases them as "
    "it does. A binding's reflection must show exactly these, and its stub must say the same."
)


class Contract:
    """The names, defaults and words of a surface, without its types and texts."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        self.surface = surface

    @staticmethod
    def names(method: Method) -> list[str]:
        """The parameters that Python has, which has all but what a language has alone."""
        return [each.name for each in method.parameters("python")]

    def types(self) -> dict[str, Any]:
        """The members of each type."""
        found: dict[str, Any] = {}
        for name, kind in self.surface.types.items():
            found[name] = {"construct": self.names(kind.construct)} if kind.construct else {}
            if kind.methods:
                found[name]["methods"] = {each.name: self.names(each) for each in kind.methods if each.is_in("python")}
            found[name]["properties"] = [each.name for each in kind.properties if "in" not in each.data]
        return found

    def alone(self, method: Method, language: str) -> list[str]:
        """The parameters that only one language has, without those of all locks, and without a signal to give up."""
        if not method.is_in("python"):
            return [each.name for each in method.parameters("php")]
        shared = self.surface.options["LockOptions"].all
        found = [each for each in method.parameters(language) if each.data.get("in") == language]
        return [each.name for each in found if each not in shared and each.name != "signal"]

    def only(self) -> dict[str, Any]:
        """The members that a language has beyond the others, or lacks."""
        about = "Beyond the others, or lacking: with a thread that renews, an event loop, or neither."
        found: dict[str, Any] = {"about": about, "python": {}, "aio": {}, "php": {}, "node": {}}
        locks = self.surface.options["LockOptions"].all
        for language in ("python", "aio", "php", "node"):
            own = found[language]
            for name, kind in self.surface.types.items():
                properties = [each.name for each in kind.properties if "in" in each.data and each.is_in(language)]
                methods = {each.name: self.alone(each, language) for each in kind.methods if each.is_in(language)}
                methods = {each: parameters for each, parameters in methods.items() if parameters}
                parts = {"methods": methods, "properties": properties}
                if any(parts.values()):
                    own[name] = {part: given for part, given in parts.items() if given}
            if parameters := [each.name for each in locks if each.data.get("in") == language and each.name != "signal"]:
                own["parameters"] = parameters
        found["php"]["lacks"] = [each.name for each in locks if each.is_in("python") and not each.is_in("php")]
        found["php"]["testing"] = {
            each.name: [of.name for of in each.parameters("php")] for each in self.surface.testing if "in" in each.data
        }
        found["node"]["testing"] = self.surface.data["by_hand"]["node_testing"]
        return found

    def durations(self) -> list[str]:
        """Names that are durations; those that are not everywhere stand with their type."""
        seen: dict[str, dict[str, Parameter]] = {}
        for kind in self.surface.types.values():
            for each in kind.properties:
                seen.setdefault(each.name, {})[kind.name] = each
            for method in kind.callables:
                for each in method.parameters("php") + method.parameters("python"):
                    seen.setdefault(each.name, {}).setdefault(kind.name, each)
        for method in [*self.surface.functions, *self.surface.testing]:
            for each in method.parameters("php") + method.parameters("python"):
                seen.setdefault(each.name, {}).setdefault(method.owner, each)
        lasting = []
        for name, places in seen.items():
            lasts = {of for of, each in places.items() if each.kind.lasts}
            everywhere = len(lasts) == len(places) and "Testing" not in lasts
            lasting += [name] if lasts and everywhere else [f"{of}.{name}" for of in places if of in lasts]
        return lasting

    def defaults(self) -> dict[str, Any]:
        """The defaults of options, those of a once, a cache and a stock by themselves; durations in milliseconds."""

        def of(*names: str, none: bool = False) -> dict[str, Any]:
            found = {}
            for each in [each for name in names for each in self._options(name) if not each.required]:
                if each.is_in("python") and (each.default is not None or (none and each.kind.lasts)):
                    found[f"{each.name}_ms" if each.kind.lasts else each.name] = each.default
            return found

        shared = ("ClientOptions", "CallOptions", "LimiterOptions", "ReserveOptions", "Rule", "HeaderOptions")
        return {
            **of(*shared, "AddressOptions", "SemaphoreOptions"),
            "once": of("OnceOptions", "GetOptions", none=True),
            "cache": of("CacheOptions", "GetOptions", none=True),
            "stock": of("TakeOptions", "PageOptions", "StockOptions"),
        }

    def _options(self, name: str) -> list[Parameter]:
        options: Options | None = self.surface.options.get(name)
        construct = self.surface.types["Rule"].construct
        return options.all if options else construct.positional if construct else []

    def text(self) -> str:
        """The whole file: a line for each type, method or value."""
        words = self.surface.words
        whole = {
            "about": ABOUT,
            "types": self.types(),
            "only": self.only(),
            "functions": {each.name: self.names(each) for each in self.surface.functions},
            "testing": {each.name: self.names(each) for each in self.surface.testing if each.is_in("python")},
            "durations": self.durations(),
            "defaults": self.defaults(),
            "algorithms": words["Algorithm"]["are"],
            "lock_states": words["LockState"]["are"],
            "sources": words["Source"]["are"],
            "errors": {code: name for code, (name, *_) in self.surface.errors.items()},
        }
        return lined(whole) + "\n"


def lined(value: object, depth: int = 0) -> str:
    """JSON with what is short on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(line) + 2 * depth < 100:
        return line
    indent = "  " * (depth + 1)
    items = [f"{indent}{json.dumps(key)}: {lined(each, depth + 1)}" for key, each in value.items()]
    return "{\n" + ",\n".join(items) + "\n" + "  " * depth + "}"
