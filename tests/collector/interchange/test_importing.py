from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spanwise_collector.interchange.destination import Nowhere
from spanwise_collector.interchange.file import writing
from spanwise_collector.interchange.importing import imported
from spanwise_collector.interchange.piece import Fault
from spanwise_collector.otlp.rendering import document
from spanwise_collector.store import Store


def prefixed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4) + body for body in bodies)


def zstd(body: bytes) -> bytes:
    packed: bytes = pa.compress(body, "zstd", asbytes=True)
    return packed


def indented(body: bytes) -> bytes:
    return json.dumps(json.loads(document(body)), indent=2).encode()


FORMS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "lines": lambda one, two: document(one) + b"\n" + document(two) + b"\n",
    "lines without a last end": lambda one, two: document(one) + b"\n" + document(two),
    "lines with empty ones and DOS ends": lambda one, two: b"\r\n" + document(one) + b"\r\n\r\n" + document(two),
    "lines of which one is metrics": lambda one, two: document(one) + b'\n{"resourceMetrics":[]}\n' + document(two),
    "a document": lambda one, two: indented(one + two),
    "a document with a mark in front": lambda one, two: b"\xef\xbb\xbf" + indented(one + two),
    "a document in one line": lambda one, two: document(one + two),
    "lengths": prefixed,
    "lengths before JSON": lambda one, two: prefixed(document(one), document(two)),
    "lengths before packed messages": lambda one, two: prefixed(zstd(one), zstd(two)),
    "a bare message": lambda one, two: one + two,
    "gzip": lambda one, two: gzip.compress(document(one) + b"\n") + gzip.compress(document(two)),
    "zstd": lambda one, two: zstd(prefixed(one, two)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_known_by_its_content(form: str, store: Store, otlp: Any, read_in: Any) -> None:
    one, two = otlp.body(otlp.span("one")), otlp.body(otlp.span("two"), resource={"service.name": "other"})
    report = read_in(store, FORMS[form](one, two))
    assert (report.spans, report.shown) == (2, [])
    assert {"one", "two"} == {span.name for span in store.reader().trace("0af7651916cd43dd8448eb211c80319c")}


def test_a_file_imported_twice_shows_every_span_once(store: Store, otlp: Any, read_in: Any, exported: Any) -> None:
    content = prefixed(otlp.body(otlp.span("a"), otlp.span("b")))
    read_in(store, content)
    once = exported(store, "otlp-proto")
    assert read_in(store, content).spans == 2
    assert content == once == exported(store, "otlp-proto")


def test_bad_lines_are_left_out_named_and_counted(store: Store, otlp: Any, read_in: Any) -> None:
    good = document(otlp.body(otlp.span("good")))
    lines = [good, good[:50], b"hello", b'{"hello":[]}', document(otlp.body(otlp.span(trace="00" * 16))), good]
    report = read_in(store, b"\n".join(lines))
    assert (report.spans, report.faults, report.rejected_spans) == (2, 4, 1)
    assert {"line 2", "line 3", "line 4", "line 5"} == {fault.place for fault in report.shown}
    assert {1} == {fault.spans for fault in report.shown if fault.place == "line 5"}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda whole, half: whole[: half + 9], "cut off"),
        (lambda whole, half: whole[:half] + b"\0\0", "nor the length of one"),
        (lambda whole, half: whole[:half] + b"\xff" * 9, "nor the length of one"),
    ],
)
def test_damage_is_told_with_its_place_and_what_stands_before_is_kept(
    damage: Callable[[bytes, int], bytes], words: str, store: Store, otlp: Any, read_in: Any
) -> None:
    one, two = otlp.body(otlp.span("one")), otlp.body(otlp.span("two"))
    report = read_in(store, damage(prefixed(one, two), len(prefixed(one))))
    assert [(f"byte {len(prefixed(one))}", True)] == [(each.place, words in each.reason) for each in report.shown]
    assert report.spans == 1


def test_a_bare_message_that_is_cut_off_keeps_its_whole_parts(store: Store, otlp: Any, read_in: Any) -> None:
    one, two = otlp.body(otlp.span("one")), otlp.body(otlp.span("two"))
    report = read_in(store, one + two[:-3])
    assert (report.spans, [each.place for each in report.shown]) == (1, [f"byte {len(one)}"])


def test_a_packed_file_that_is_cut_off_is_told(store: Store, otlp: Any, read_in: Any) -> None:
    report = read_in(store, gzip.compress(document(otlp.body(otlp.span())))[:-12])
    assert (report.spans, [fault.place for fault in report.shown]) == (0, ["the file"])


def test_a_file_that_is_not_there_is_told() -> None:
    report = imported("no/such/file", Nowhere(), lambda *_: None)
    assert [Fault("the file", "No such file or directory")] == report.shown


def test_an_empty_file_holds_nothing(store: Store, read_in: Any) -> None:
    report = read_in(store, b"")
    assert (report.spans, report.faults) == (0, 0)


def test_a_file_is_there_once_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl.gz"
    with pytest.raises(ZeroDivisionError), writing(str(file)) as stream:
        stream.write(b"half" * (1 // 0))
    assert list(tmp_path.iterdir()) == []
    with writing(str(file)) as stream:
        stream.write(b"whole")
    assert gzip.decompress(file.read_bytes()) == b"whole"
    assert [file] == list(tmp_path.iterdir())
