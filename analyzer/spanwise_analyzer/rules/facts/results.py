"""Tool results that the model had to read, with the tokens that each added to the next call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from spanwise import semconv
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.rounds import Round, rounds
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result, the model call that read it first, and the tokens it added there (None: not known)."""

    tool: ToolCall
    reader: ModelCall
    tokens: int | None

    @property
    def bytes(self) -> int | None:
        """Size of the result."""
        return self.tool.integer(semconv.TOOL_RESULT_BYTES)

    @property
    def types(self) -> tuple[str, ...]:
        """Content types of its parts."""
        return self.tool.texts(semconv.TOOL_RESULT_TYPES) or ()


def results(view: View) -> list[Result]:
    """All results that a later call of the same agent read."""
    return [found for run in rounds(view) for one, following in _pairs(run) for found in _read(one, following)]


def _pairs(run: list[Round]) -> Iterator[tuple[Round, Round]]:
    answered = [one for one in run if not one.call.failed]
    return pairwise(answered)


def _read(one: Round, following: Round) -> Iterator[Result]:
    grown = _growth(one.call, following.call)
    sizes = [tool.integer(semconv.TOOL_RESULT_BYTES) for tool in one.tools]
    known = sum(size for size in sizes if size)
    for tool, size in zip(one.tools, sizes, strict=True):
        share = None if grown is None or not size else grown * size // known
        # Fewer bytes than tokens cannot be: then something else made the prompt grow.
        yield Result(tool, following.call, None if share is None else min(share, size or 0))


def _growth(call: ModelCall, following: ModelCall) -> int | None:
    if call.input is None or call.output is None or following.input is None:
        return None
    return max(0, following.input - call.input - call.output)
