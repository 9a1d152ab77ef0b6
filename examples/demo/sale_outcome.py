"""What comes of the flash sale: what its ledger, the shop's database and the buyers say, and what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

# The most units that one may buy.
PER_BUYER = 2


@dataclass(frozen=True)
class Event:
    """Something that went wrong, at which second of the sale."""

    at: float
    text: str
    # How many buyers stood between take and payment; none if it is not about buyers.
    buyers: int | None = None


@dataclass(frozen=True)
class Numbers:
    """The numbers of the sale after a change of it, as the ledger has them."""

    at: float
    available: int
    held: int
    sold: int


@dataclass
class Sale:
    """What came of the act."""

    quantity: int
    buyers: int
    asked: dict[str, int] = field(default_factory=dict)
    # What buyers of each language were answered, by outcome.
    told: dict[str, Counter[str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    # From when to when Redis was away.
    away: tuple[float, float] = (0.0, 0.0)
    # Each change of the sale.
    numbers: list[Numbers] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    # Entries of the ledger that are missing.
    gaps: int = 0
    # Reservation and buyer of all that was sold: by the ledger, by the shop's database, by what buyers were answered.
    ledger: dict[str, str] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    paid: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def per_buyer(self) -> Counter[str]:
        """How many units each buyer bought."""
        return Counter(self.ledger.values())

    @property
    def last(self) -> Numbers:
        """The numbers at the end."""
        return self.numbers[-1]

    @property
    def unheard(self) -> int:
        """How many bought a unit and died before they heard of it."""
        return len(self.ledger.keys() - self.paid.keys())
