"""The cells: all ways and outcomes with the SDK's own client, and every pair of values with the others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from tests.matrix.openai.clients import OWN, VENDORS, backends
from tests.matrix.openai.outcomes import OUTCOMES
from tests.matrix.openai.ways import WAYS

_SEED = 20  # any; the same cells are chosen every time


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination."""

    mode: str
    vendor: str
    backend: str
    way: str
    outcome: str

    @property
    def asynchronous(self) -> bool:
        """Whether the client is."""
        return self.mode == "async"

    def __str__(self) -> str:
        return "/".join(self.values())

    def values(self) -> tuple[str, ...]:
        """The value on each axis."""
        return self.mode, self.vendor, self.backend, self.way, self.outcome

    def pairs(self) -> set[tuple[tuple[int, str], ...]]:
        """All pairs of values that the cell covers."""
        return set(combinations(enumerate(self.values()), 2))


def cells() -> list[Cell]:
    """Everything to be played with the installed SDK."""
    possible = list(_possible())
    chosen = [cell for cell in possible if (cell.vendor, cell.backend) == (VENDORS[0], OWN)]
    return chosen + _covering(possible, chosen)


def _possible() -> Iterator[Cell]:
    for mode, vendor, way, outcome in product(("sync", "async"), VENDORS, WAYS, OUTCOMES):
        asynchronous = mode == "async"
        if OUTCOMES[outcome].fits(WAYS[way], asynchronous=asynchronous):
            for backend in backends(asynchronous=asynchronous):
                yield Cell(mode, vendor, backend, way, outcome)


def _covering(possible: Sequence[Cell], chosen: Sequence[Cell]) -> list[Cell]:
    """Few cells that hold every pair which the chosen ones do not: the richest first."""
    missing = {pair for cell in possible for pair in cell.pairs()} - {pair for cell in chosen for pair in cell.pairs()}
    shuffled = random.Random(_SEED).sample(possible, len(possible))  # noqa: S311 - no secret
    found: list[Cell] = []
    for least in range(10, 0, -1):
        for cell in shuffled:
            if len(missing & cell.pairs()) >= least:
                found.append(cell)
                missing -= cell.pairs()
    return found
