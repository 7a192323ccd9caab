"""Web origins that somebody trusts, with wildcards in the host."""

from __future__ import annotations

import re
from typing import Final

_ORIGIN: Final = re.compile(r"https?://(?:\*\.)?[a-z0-9_.:\[\]-]+(?::\*)?")


def origins(text: str) -> list[re.Pattern[str]]:
    """The origins of a comma-separated list, as patterns for lower-case origins; raises ValueError on what is none.

    ``https://*.example.com`` stands for every host below example.com, ``http://localhost:*`` for every port.
    """
    names = [name.strip().lower().rstrip("/") for name in text.split(",")]
    return [_pattern(name) for name in names if name]


def _pattern(name: str) -> re.Pattern[str]:
    if name == "*":
        raise ValueError("* would let every page that anybody visits write spans here; name the origins")
    if not _ORIGIN.fullmatch(name):
        raise ValueError(f"{name!r} is no origin; write https://app.example.com, https://*.example.com or a port")
    return re.compile(re.escape(name).replace(r"\*\.", r"(?:[a-z0-9_-]+\.)+").replace(r":\*", r"(?::[0-9]+)?"))
