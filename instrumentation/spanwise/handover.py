"""The running conversation in environment variables, for a process that this one starts and that shall join it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextvars import Token

from opentelemetry.context import Context, attach, get_current
from opentelemetry.propagate import extract, inject
from opentelemetry.propagators.textmap import Getter, Setter
from opentelemetry.trace import get_current_span

from spanwise import endpoint
from spanwise.context import conversation_id, writable
from spanwise.safety import guarded

_FOREIGN = re.compile("[^A-Z0-9_]")

_joined: list[Token[Context]] = []


def environment() -> dict[str, str]:
    """Variables for a process that this one starts: it joins the running conversation and sends to the same place.

    ``subprocess.run(command, env=os.environ | spanwise.environment())``; the other process takes them up when it
    calls ``spanwise.instrument()``, or is started by ``spanwise run``. The names are the standard's for contexts
    in an environment, ``TRACEPARENT``, ``TRACESTATE`` and ``BAGGAGE``.
    """
    return _environment() or {}


@guarded
def _environment() -> dict[str, str]:
    found = dict(endpoint.variables(os.environ))
    inject(found, writable() or get_current(), setter=_Variables())
    return found


@guarded
def join(environ: Mapping[str, str]) -> None:
    """Make current what the process that started this one put into its environment; something here wins over it."""
    if get_current_span().get_span_context().is_valid or conversation_id() is not None:
        return
    found = extract(environ, get_current(), getter=_Names())
    if found != get_current():
        _joined.append(attach(found))


@guarded
def leave() -> None:
    """Make current what was so before, if that can be done from here."""
    while _joined:
        token = _joined.pop()
        try:
            token.var.reset(token)
        except (AttributeError, ValueError):  # another task, or another implementation of the context
            return


class _Variables(Setter[dict[str, str]]):
    def set(self, carrier: dict[str, str], key: str, value: str) -> None:
        carrier[_name(key)] = value


class _Names(Getter[Mapping[str, str]]):
    def get(self, carrier: Mapping[str, str], key: str) -> list[str] | None:
        value = carrier.get(_name(key))
        return None if value is None else [value]

    def keys(self, carrier: Mapping[str, str]) -> list[str]:
        return list(carrier)


def _name(key: str) -> str:
    return _FOREIGN.sub("_", key.upper())
