"""The cells that the installed SDK can fill: all transports with all protocols, and each side alone once for each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Final

from tests.matrix.mcp.shop.sdk import MODERN

TRANSPORTS: Final = ("stdio", "http", "http-json", "http-stateless", "in-process")
MODES: Final = ("legacy", "auto", "2026-07-28") if MODERN else ("legacy",)
PINNED: Final = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination; ``client`` and ``server`` say which of them is instrumented."""

    transport: str
    mode: str
    layer: str = "low"
    client: bool = True
    server: bool = True

    def __str__(self) -> str:
        """Its name in a report."""
        sides = {(True, True): "both", (True, False): "client", (False, True): "server"}[self.client, self.server]
        return f"{self.transport}-{self.mode}-{self.layer}-{sides}"


def cells() -> list[Cell]:
    """Every pair of values occurs in one of them."""
    found = [Cell(transport, mode) for transport in TRANSPORTS for mode in MODES]
    modes = cycle(MODES)
    for transport in TRANSPORTS:
        found.append(Cell(transport, next(modes), "high"))
        if transport != "in-process":  # where both sides are one process
            found.append(Cell(transport, next(modes), server=False))
            found.append(Cell(transport, next(modes), "high", client=False))
    return found
