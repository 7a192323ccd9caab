"""Which run of an experiment the running code belongs to: what was tried, on what, and in which order."""

from __future__ import annotations

from typing import Any

from opentelemetry import baggage
from opentelemetry.context import Context, get_current
from opentelemetry.util.types import AttributeValue

from spanwise import semconv, text
from spanwise.safety import tell
from spanwise.scope import Scope

_TEXTS = (semconv.EXPERIMENT_ID, semconv.EXPERIMENT_ARM, semconv.EXPERIMENT_FIXTURE)
_NUMBERS = (semconv.EXPERIMENT_ROUND, semconv.EXPERIMENT_POSITION, semconv.EXPERIMENT_SEED)
KEYS = (*_TEXTS, *_NUMBERS)  # of the baggage that carries an experiment to other processes
_MAX_DIGITS = 19  # of a number of 64 bits


class experiment(Scope):  # noqa: N801 - read as a verb: with spanwise.experiment("id")
    """Everything inside is a run of the experiment ``id``, also in threads, tasks and other processes.

    ``arm`` names what was tried, ``fixture`` the task that it was tried on: runs of two arms are compared where
    fixture and ``round`` are the same. ``position`` is the place of the run within its round, ``seed`` what the
    order came from. An experiment inside another one hides it wholly.
    """

    def __init__(  # noqa: PLR0913 - every argument is public and has a default
        self,
        id: str,  # noqa: A002 - the public name
        *,
        arm: str | None = None,
        fixture: str | None = None,
        round: int | None = None,  # noqa: A002 - as above
        position: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self._values = dict(zip(KEYS, (id, arm, fixture, round, position, seed), strict=True))

    def opened(self) -> Context:
        """The current context inside the experiment."""
        ctx = get_current()
        for key, value in self._values.items():
            written = None if value is None else _written(key, value)
            ctx = baggage.remove_baggage(key, ctx) if written is None else baggage.set_baggage(key, written, ctx)
        return ctx


def attributes(ctx: Context | None = None) -> dict[str, AttributeValue]:
    """What every span of the experiment carries; nothing outside of one."""
    if not baggage.get_baggage(semconv.EXPERIMENT_ID, ctx):
        return {}
    found = {key: _read(key, baggage.get_baggage(key, ctx)) for key in KEYS}
    return {key: value for key, value in found.items() if value is not None}


def _written(key: str, value: Any) -> str | None:
    found = _read(key, value)
    if found is None:
        tell(f"{key} is {'empty' if key in _TEXTS else 'no whole number of 64 bits'}, and is ignored")
    return None if found is None else str(found)


def _read(key: str, value: Any) -> str | int | None:
    """The value as an attribute; what came from outside was checked by nobody."""
    if value is None:
        return None
    return (text.identifier(value) or None) if key in _TEXTS else _number(text.encodable(value))


def _number(value: str) -> int | None:
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None
