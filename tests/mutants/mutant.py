"""What a mutant is."""

from __future__ import annotations

from dataclasses import dataclass

LUA = "core/scripts"
RUST = "core/src"


@dataclass(frozen=True)
class Edit:
    """In `file`, `old` (which must be there) becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` becomes `new`; a fault of script and twin alike, which only the definitions can tell,
    has more edits. Each of the `suites` must find it by itself."""

    about: str
    file: str
    old: str
    new: str
    also: Edit | tuple[Edit, ...] = ()
    suites: tuple[str, ...] = ("core",)

    @property
    def edits(self) -> list[Edit]:
        """All that is changed."""
        also = (self.also,) if isinstance(self.also, Edit) else self.also
        return [Edit(self.file, self.old, self.new), *also]
