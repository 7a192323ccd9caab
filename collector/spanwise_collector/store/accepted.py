"""What became of one export request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accepted:
    """The committed outcome of one request: spans kept, spans rejected, and why they were rejected (empty if none)."""

    spans: int
    rejected: int = 0
    message: str = ""


class Overloaded(RuntimeError):
    """The queue is full, closing, or could not be written; the same request may succeed later."""


class Damaged(RuntimeError):
    """What was asked for lies in a part of the file that cannot be read."""


class DatabaseInUse(RuntimeError):
    """Another process owns the database file."""
