"""The ways in which the errand is run and traced, and what each needs installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from tests.matrix.emitted import tracers

ERRAND = "tests.matrix.emitted.errand"
# Those whose own documentation instruments MCP servers too; the others leave them as they are.
_SERVING = frozenset({"ours", "native", "openllmetry", "openinference", "logfire", "openlit"})


@dataclass(frozen=True, slots=True)
class Way:
    """A program with its arguments, how its MCP servers are instrumented, and what the recording shows."""

    program: tuple[str, ...]
    server: str
    distributions: tuple[str, ...]


def _plain(*names: str) -> Way:
    distributions = tuple(name for tracer in names for name in tracers.ALL[tracer].distributions)
    serving = names if _SERVING.issuperset(names) and _modern() else ()
    return Way((ERRAND, "+".join(names)), "+".join(serving), ("openai", "mcp", *distributions))


def _modern() -> bool:
    return int(version("mcp").partition(".")[0]) > 1


def _others() -> list[str]:
    return [name for name, tracer in tracers.ALL.items() if tracer.installed and name not in {"ours", "native"}]


def _plain_ways() -> Iterator[tuple[str, ...]]:
    """Each alone and beside ours, and two others together; ours and nobody's where there is nobody else."""
    others = _others()
    yield from ((name,) for name in others or ("ours", "native"))
    yield from (("ours", name) for name in others)
    if len(others) > 1:
        yield tuple(others[:2])


def _named(names: tuple[str, ...]) -> str:
    return "+".join(names) + ("" if _modern() else "-mcp1")


WAYS: Mapping[str, Way] = {_named(names): _plain(*names) for names in _plain_ways()}
