"""Stores written to files and read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from spanwise_collector.interchange.destination import IntoStore
from spanwise_collector.interchange.exporting import STREAMS
from spanwise_collector.interchange.importing import imported
from spanwise_collector.interchange.report import Report
from spanwise_collector.store import Choice, Store

Export: TypeAlias = Callable[[Store, str], bytes]
Import: TypeAlias = Callable[[Store, bytes], Report]


@pytest.fixture
def exported() -> Export:
    """The whole store in a format."""

    def run(store: Store, name: str) -> bytes:
        return b"".join(STREAMS[name](store.reader().extract(Choice())))

    return run


@pytest.fixture
def read_in(tmp_path: Path) -> Import:
    """A file of these bytes, imported."""

    def run(store: Store, content: bytes) -> Report:
        file = tmp_path / "import"
        file.write_bytes(content)
        return imported(str(file), IntoStore(store), lambda *_: None)

    return run


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """A second store."""
    store = Store.open(tmp_path / "other.db")
    yield store
    store.close()
