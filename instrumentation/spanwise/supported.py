"""Which versions of the SDKs the instrumentation was checked with."""

from __future__ import annotations

from dataclasses import dataclass

Release = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Supported:
    """The versions from ``first`` on, up to and with the major version ``last``."""

    first: Release
    last: int

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.first))} to {self.last}.x"

    def requirement(self, name: str) -> str:
        """The same as a requirement of a package."""
        return f"{name} >= {'.'.join(map(str, self.first))}, < {self.last + 1}"


SDKS = {"openai": Supported((1, 109), 3), "mcp": Supported((1, 9, 4), 2)}
