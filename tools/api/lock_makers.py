"""Writes, for each binding, the functions that make locks: their parameters, and how each option is read.

A function passes its options on to one of the same name in `locks.rs`, which is written by hand. The tables below name
the readers of options by type: an option of a new type needs one in each binding first.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator

import php_stub
import python_stub
from surface_data import Method, Parameter, Surface
from wording import Wording

WIDTH = 120
# These belong to an acquisition: they are no fields of the core's `LockOptions`.
ACQUIRING = ("wait", "signal", "acquire")
# How each binding reads a type: a duration by itself, the others by their name in that language.
PYTHON = {"duration": "seconds", "int": "whole", "bool": "flag", "str": "text"}
PHP_TYPE = {"int": "Int", "bool": "Flag", "string": "Text"}
PHP_READ = {
    "duration": 'micros({}, "{}")?',
    "int": 'unsigned({}, "{}")?',
    "bool": "get({})?",
    "string": 'utf8({}, "{}")?.into_owned()',
}
NODE_TYPE = {"number": "f64", "boolean": "bool", "string": "String"}
NODE_READ = {"duration": "time", "number": "count", "boolean": "as_is", "string": "as_is"}
NODE_CHECK = {"number": "number", "boolean": "flag", "string": "text"}


def listed(head: str, items: list[str], tail: str) -> Iterator[str]:
    """A list on one line, or on several if that is too long."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= WIDTH - 12:
        yield line
        return
    indent = " " * (len(head) - len(head.lstrip()))
    joined = textwrap.wrap(", ".join(each.replace(" ", "\0") for each in items), WIDTH - 16 - len(indent))
    yield from (head, *(f"{indent}    {each}".replace("\0", " ") for each in joined), f"{indent}{tail.lstrip()}")


def read(readers: dict[str, str], parameter: Parameter, language: str) -> str:
    """The reader of an option."""
    return readers["duration" if parameter.kind.lasts else parameter.kind.of(language)]


def blocks(given: Iterable[Iterable[str]]) -> list[str]:
    """Lines with an empty one between the blocks."""
    return [line for block in given for line in ("", *block)][1:]


class LockMakers:
    """The functions that make locks, and their options."""

    def __init__(self, surface: Surface) -> None:
        """Of a surface."""
        groups = {name: surface.options[name] for name in ("LockOptions", "QuorumOptions", "SemaphoreOptions")}
        self.wording = Wording(surface, "python", python_stub.link)
        self.all = groups["SemaphoreOptions"].all
        # A semaphore has its own besides those of a lock.
        self.own = groups.pop("SemaphoreOptions").own
        self.groups = {name: options.all for name, options in groups.items()}
        made = [*surface.types["Client"].methods, *surface.functions]
        self.made = [each for each in made if each.options and each.options.all in (self.all, *self.groups.values())]

    def field(self, parameter: Parameter) -> bool:
        """Whether it is a field of the core's `LockOptions`."""
        return parameter.name not in ACQUIRING and parameter not in self.own

    def about(self, method: Method) -> str:
        """The comment of a function: how its text begins."""
        text = self.wording.text(method.data["doc"], None, method)
        return f"/// {re.split('[,:;.]', text)[0]}."

    def functions(self, language: str) -> dict[str, list[str]]:
        """Those of a client, and those of the module."""
        write = self.python_function if language == "python" else self.php_function
        methods, functions = (
            blocks(write(each) for each in self.made if bool(each.owner) is own) for own in (True, False)
        )
        return {"methods": methods, "functions": functions}

    def python_function(self, method: Method) -> Iterator[str]:
        """A function of Python: `Maker` reads its options, and only users read its signature."""
        given = method.parameters("python")
        needed = [each.name for each in given if each.required]
        options = [each for each in given if not each.required]
        signature = ["$self"] if method.owner else []
        signature += [*needed, *(f"{each.name}={self.python_default(each)}" for each in options)]
        name = f"{method.owner}.{method.name}".lstrip(".")
        parameters = ["&self"] if method.owner else []
        parameters += [f"{each}: &Bound<'_, PyAny>" for each in needed]
        parameters += ["given: &Bound<'_, PyTuple>", "named: Option<Named>"]
        yield self.about(method)
        yield from ([] if method.owner else ["#[pyfunction]"])
        yield f"#[pyo3(signature = ({', '.join(needed)}, *given, **named),"
        yield f"       text_signature = {json.dumps('(' + ', '.join(signature) + ')')})]"
        yield from listed(f"{'' if method.owner else 'pub '}fn {method.name}(", parameters, ") -> PyResult<Lock> {")
        options_given = [f'"{each.name}"' for each in options]
        yield from listed(f'    let maker = Maker("{name}", {len(needed)}, &[', options_given, "]);")
        passed = [*(["self"] if method.owner else []), *needed, "maker.read(given, named)?"]
        yield from (f"    locks::{method.name}({', '.join(passed)})", "}")

    @staticmethod
    def python_default(parameter: Parameter) -> str:
        """A default as `inspect` shows it."""
        default = parameter.default
        return repr(default / 1000 if parameter.kind.lasts and isinstance(default, int) else default)

    def python(self) -> dict[str, list[str]]:
        """The parts of the file for Python."""
        fields = []
        for each in self.all:
            if each.is_in("python"):
                option = f"options.{each.name}" if self.field(each) else each.name
                fields.append(f'"{each.name}" => {read(PYTHON, each, "python")}(name, value, &mut self.{option}),')
        return {**self.functions("python"), "fields": fields}

    def php_function(self, method: Method) -> Iterator[str]:
        """A function of PHP, with every parameter."""
        given = method.parameters("php")
        name = method.options.name if method.options else ""
        group = name if name in self.groups else "LockOptions"
        alone = [each for each in given if each not in self.groups[group]]
        names = [each.cased("php") for each in given if each in self.groups[group]]
        module = "" if method.owner else f'name = "Quotalock\\\\{method.name}", '
        defaults = [f"{each.cased('php')} = {self.php_default(each)}" for each in given if not each.required]
        yield self.about(method)
        yield from ([] if method.owner else ["#[php_function]"])
        yield from listed(f"#[php({module}defaults(", defaults, "))]")
        yield f"pub fn {method.name}("
        yield from (["    &self,"] if method.owner else [])
        for each in given:
            kind = PHP_TYPE.get(each.kind.of("php")) or each.name.capitalize()
            yield f"    {each.cased('php')}: $crate::argument::{kind},"
        yield ") -> $crate::locks::Made {"
        arguments = f"$crate::lock_makers::{group.replace('Options', 'Arguments')}"
        yield from listed(f"    let given = {arguments} {{ ", [f"first: {len(alone) + 1}", *names], " };")
        passed = [
            *(["self.handle()"] if method.owner else []),
            *(each.cased("php") for each in alone),
            "|| given.read()",
        ]
        yield from (f"    $crate::locks::{method.name}({', '.join(passed)})", "}")

    @staticmethod
    def php_default(parameter: Parameter) -> str:
        """A default as the attribute takes it, which reads a text as code."""
        default = parameter.default
        return json.dumps(json.dumps(default)) if isinstance(default, str) else php_stub.default(parameter)

    def php_group(self, group: str) -> Iterator[str]:
        """The options of a group, and how they are read."""
        name = group.replace("Options", "Arguments")
        options = [each for each in self.groups[group] if each.is_in("php")]
        yield f"/// The `{group}` as they were given, from the position `first` on."
        yield from (f"pub struct {name}<'a> {{", "    pub first: u32,")
        yield from (f"    pub {each.cased('php')}: {PHP_TYPE[each.kind.of('php')]}<'a>," for each in options)
        yield from ("}", "", f"impl {name}<'_> {{", "    /// Reads them.")
        yield "    pub fn read(&self) -> Read {"
        reads = {}
        for at, each in enumerate(options):
            how = read(PHP_READ, each, "php").format(f"self.first + {at}" if at else "self.first", each.name)
            reads[each.name] = f"self.{each.cased('php')}.{how}"
        yield f"        let wait = {reads.pop('wait')};"
        yield "        let options = LockOptions {"
        yield from (f"            {each}: {how}," for each, how in reads.items())
        yield from ("            ..locks::base()", "        };", "        Ok((options, wait))", "    }", "}")

    def php(self) -> dict[str, list[str]]:
        """The parts of the file for PHP."""
        found = {**self.functions("php"), "groups": blocks(map(self.php_group, self.groups))}
        # Only a macro needs whole paths.
        found["functions"] = [re.sub(r"\$crate::(argument::|lock_makers::)?", "", each) for each in found["functions"]]
        return found

    def node(self) -> dict[str, list[str]]:
        """The parts of the files for Node; `makeLock` takes first what all locks have."""
        of_node = [each for each in self.all if each.is_in("node")]
        core = sorted((each for each in of_node if each.name not in ACQUIRING), key=lambda each: not self.field(each))
        last = [each for each in of_node if each.name in ACQUIRING]
        parameters, fields = [], []
        known: list[str] = []
        for each in core:
            name = f"{each.name}_ms" if each.kind.lasts else each.name
            parameters.append(f"{name}: Option<{NODE_TYPE[each.kind.of('node')]}>,")
            if self.field(each):
                fields.append(f'{read(NODE_READ, each, "node")}("{each.name}", {name}, &mut options.{each.name})?;')
        for kind, group in (("lock", "LockOptions"), ("semaphore", ""), ("quorum", "QuorumOptions")):
            has = [each.name for each in self.groups.get(group, self.all)]
            names = [f"'{each.cased('node')}'" for each in [*core, *last] if each.name in has]
            known += listed(f"{kind}: [", names, "],")
        table = [f"['{each.cased('node')}', {NODE_CHECK[each.kind.of('node')]}]," for each in core]
        return {"parameters": parameters, "fields": fields, "core": table, "known": known}


def filled(source: str, parts: dict[str, list[str]]) -> str:
    """A template with its parts in the lines that name them, as `{{fields}}` does, indented like these."""

    def part(found: re.Match[str]) -> str:
        return "\n".join(f"{found[1]}{line}".rstrip() for line in parts[found[2]])

    return re.sub(r"^( *)\{\{(\w+)\}\}$", part, source, flags=re.MULTILINE)
