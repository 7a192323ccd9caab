"""Trace files that nobody here wrote: each imports with its spans and times, or is refused by what it is."""

from __future__ import annotations

import pytest
from tests.traces.reading import TRACES, agrees, found
from tests.traces.table import FILES, File

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="SPANWISE_TRACES names no folder of public traces")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_holds_what_its_source_says(file: File) -> None:
    seen = found(file)
    if file.refused:
        assert (0, 1) == (seen.report.spans, seen.report.faults)
        assert file.refused in seen.report.shown[0].reason
        return
    assert ({file.format: file.spans}, []) == (dict(seen.report.formats), seen.report.shown)
    assert file.traces == seen.traces
    for expected, actual in zip(file.ledgers, seen.ledgers, strict=True):
        assert agrees(expected, actual), (expected, actual)


def test_no_file_is_forgotten() -> None:
    assert {each.name for each in TRACES.iterdir() if each.name != "INDEX.md"} == {file.name for file in FILES}
