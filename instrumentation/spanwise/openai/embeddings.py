"""Answers of the embeddings API."""

from __future__ import annotations

from typing import Any

from spanwise.openai.record import Record


class EmbeddingsReader:
    """Takes model and usage; vectors are nobody's business."""

    def __init__(self) -> None:
        self.record = Record()

    def whole(self, answer: Any) -> None:
        """Take a complete answer."""
        self.record.identify(answer)

    def piece(self, chunk: Any) -> bool:
        """Embeddings are not streamed."""
        self.record.identify(chunk)
        return False

    def end(self) -> None:
        """Everything there is has come."""
