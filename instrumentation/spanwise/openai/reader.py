"""What takes answers apart, for each API."""

from __future__ import annotations

from typing import Any, Protocol

from spanwise.openai.chat import ChatReader
from spanwise.openai.embeddings import EmbeddingsReader
from spanwise.openai.record import Record
from spanwise.openai.responses import FetchReader, ResponsesReader
from spanwise.openai.route import EMBEDDINGS, FETCH, RESPONSES, Route


class Reader(Protocol):
    """Takes one answer, whole or piece by piece, and puts down what it says."""

    record: Record

    def piece(self, chunk: Any) -> bool:
        """One chunk or event; True where it brought content."""

    def whole(self, answer: Any) -> None:
        """All of it."""

    def end(self) -> None:
        """Everything there is has come."""


def reader(route: Route) -> Reader:
    """A new reader for one answer of ``route``."""
    return _READERS.get(route, ChatReader)()


_READERS: dict[Route, type[ResponsesReader | EmbeddingsReader]] = {
    RESPONSES: ResponsesReader,
    FETCH: FetchReader,
    EMBEDDINGS: EmbeddingsReader,
}
