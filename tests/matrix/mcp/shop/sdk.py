"""Which line of the SDK this environment has, and the shop's server for it."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any, Final

VERSION: Final = tuple(int(part) for part in version("mcp").split(".")[:2])
MODERN: Final = VERSION >= (2, 0)


def build(layer: str) -> Any:
    """The shop's server, written with the ``high`` or the ``low`` layer."""
    shop = importlib.import_module(f"tests.matrix.mcp.shop.{'modern' if MODERN else 'legacy'}")
    return getattr(shop, layer)()
