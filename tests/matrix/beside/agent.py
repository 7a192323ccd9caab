"""An agent that does everything once, each under a conversation of its own, and tells what it saw as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from tests.matrix.beside import neighbours

Record = list[str]
Work = Callable[[Record], Coroutine[Any, Any, None] | None]


def main(neighbour: str, arm: str) -> None:
    """Do all the work that this arm is about."""
    neighbours.set_up(neighbour, arm)
    from tests.matrix.beside import calls, tools

    works = {**calls.WORKS, **tools.works(neighbour, arm)}
    seen = {name: _done(f"{neighbour}/{arm}/{name}", work) for name, work in works.items()}
    provider: Any = trace.get_tracer_provider()
    provider.force_flush()
    sys.stdout.write(json.dumps(seen))


def _done(conversation: str, work: Work) -> Record:
    record: Record = []
    with _turn(conversation):
        try:
            doing = work(record)
            if doing is not None:
                asyncio.run(doing)
        except BaseException as error:  # noqa: BLE001 - whatever the program gets is what is compared
            record.append(f"raised {outline(error)}")
    return record


@contextmanager
def _turn(conversation: str) -> Iterator[None]:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": conversation}
    with trace.get_tracer("agent").start_as_current_span("invoke_agent support", attributes=attributes):
        yield


def outline(error: BaseException) -> str:
    """The kind and words of an error, and those of the errors in it."""
    inner = [outline(one) for one in getattr(error, "exceptions", ())]
    cause = f" from {outline(error.__cause__)}" if error.__cause__ is not None else ""
    return f"{type(error).__module__}.{type(error).__qualname__}: {error}{inner or ''}{cause}"


if __name__ == "__main__":
    main(*sys.argv[1:])
