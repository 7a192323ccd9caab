"""Addresses of HTTP requests without what they may keep secret: credentials, and the values of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.util.types import AttributeValue

from spanwise import semconv

_REDACTED = "REDACTED"
_VALUE = re.compile("=[^&;]*")
# The older names are written where the program asks for them.
_NAMES = (semconv.URL_FULL, "http.url", "http.target", "url.query")


def clean(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """``attributes`` of a request with nothing secret in its address."""
    found = dict(attributes)
    for name in _NAMES:
        value = found.get(name)
        if isinstance(value, str):
            found[name] = _query(value) if name == "url.query" else redacted(value)
    return found


def redacted(url: str) -> str:
    """``url`` with host, path and the names in its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _REDACTED
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, _query(parts.query), ""))


def _query(query: str) -> str:
    # A query without names may be a secret as a whole.
    return _VALUE.sub(f"={_REDACTED}", query) if "=" in query else _REDACTED if query else ""
