"""How one MCP server of the shop behaves, passed to its process as one JSON argument."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are milliseconds; mappings are by tool name.

    ``legacy_ms``: the server knows only ``initialize`` and takes this long to refuse anything newer.
    ``failures``: so many first calls with the same arguments fail. ``wording``: words added to each description.
    """

    seed: int = 0
    startup_ms: float = 0.0
    list_ms: float = 10.0
    list_ttl_ms: int = 60_000
    handler_ms: float = 70.0
    handlers_ms: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    extra_tools: int = 0
    wording: int = 0
    order_kib: int = 0
    photo_kib: int = 0
    legacy_ms: float | None = None

    @classmethod
    def read(cls, arguments: Sequence[str]) -> Settings:
        """Settings from the command line; without an argument the defaults."""
        return cls(**json.loads(arguments[0])) if arguments else cls()

    def argument(self) -> str:
        """These settings as the command-line argument."""
        return json.dumps(asdict(self), sort_keys=True)

    def scaled(self, factor: float) -> Settings:
        """The same server with all its times multiplied."""
        times = {"startup_ms", "list_ms", "handler_ms", "legacy_ms"}
        changed = {name: value * factor for name, value in asdict(self).items() if name in times and value is not None}
        handlers = {tool: value * factor for tool, value in self.handlers_ms.items()}
        return Settings(**(asdict(self) | changed | {"handlers_ms": handlers}))
