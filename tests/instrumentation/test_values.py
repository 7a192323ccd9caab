"""Hashes, sizes and the wall around our own faults."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import hashing, sizes
from spanwise.safety import guarded, shield


@pytest.fixture(autouse=True)
def _no_tenant() -> None:
    hashing.scope(None)


def test_a_hash_is_sixteen_digits_and_equal_for_equal_values() -> None:
    first, again, other = hashing.hashed("x"), hashing.hashed(b"x"), hashing.hashed("y")
    assert first == again != other
    assert len(first) == len(bytes.fromhex(first)) * 2 == 16


def test_hashes_of_two_keys_differ_and_so_do_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for key in ("one", "two"):
        monkeypatch.setenv("SPANWISE_HASH_KEY", key)
        found |= {hashing.hashed("x"), hashing.key_id()}
    assert len(found) == 4


def test_a_given_key_gives_the_same_hashes_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned: two processes, and two releases, must agree."""
    monkeypatch.setenv("SPANWISE_HASH_KEY", "secret")
    assert (hashing.hashed("A-1042"), hashing.key_id()) == PINNED


def test_tenants_do_not_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_HASH_KEY", "secret")
    found = set()
    for tenant in (None, "a", "b"):
        hashing.scope(tenant)
        found |= {hashing.hashed("x"), hashing.key_id()}
    hashing.scope(None)
    assert len(found) == 6


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "alpha", "b": ["beta", {"c": "gamma"}]}, ["alpha", "beta", "gamma"]),
        ({"a": True, "b": None, "c": "xy", "d": 12, "e": 123, "f": 1.5}, ["123", "1.5"]),
        (["same", "same"], ["same"]),
        ("alone", ["alone"]),
        (["x" * 600], []),
    ],
)
def test_leaves_are_the_distinct_scalars_in_order(value: Any, expected: list[str]) -> None:
    assert hashing.leaves(value) == [hashing.hashed(text) for text in expected]


def test_leaves_are_limited_and_survive_depth() -> None:
    deep: Any = "bottom"
    for _ in range(10_000):
        deep = [deep]
    assert len(hashing.leaves([f"value-{number}" for number in range(100)])) == 64
    assert hashing.leaves(deep) == []


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_leaves_and_sizes_take_any_json(value: Any) -> None:
    assert len(hashing.leaves(value)) <= 64
    assert sizes.json_bytes(value) > 0


def test_sizes_are_those_of_compact_json_in_utf8() -> None:
    assert sizes.json_bytes({"a": "ü", "b": [1, 2]}) == len('{"a":"ü","b":[1,2]}'.encode())
    assert [sizes.tokens(count) for count in (0, 1, 4, 4096)] == [0, 1, 1, 1024]


def test_what_json_does_not_know_is_named_by_its_type() -> None:
    assert sizes.encoded({"kind": Mapping, "what": object()}) == b'{"kind":"Mapping","what":"object"}'


def test_a_fault_of_ours_is_swallowed_and_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SPANWISE_RAISE", "0")

    @guarded
    def faulty() -> int:
        raise RuntimeError("ours")

    with caplog.at_level(logging.WARNING, "spanwise"):
        results = [faulty() for _ in range(3)]
    assert results == [None, None, None]
    assert len(caplog.records) == 1


def test_a_fault_of_ours_is_seen_in_our_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_RAISE", "1")
    with pytest.raises(RuntimeError, match="ours"), shield():
        raise RuntimeError("ours")


def test_cancellation_belongs_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_RAISE", "0")

    @guarded
    def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        cancelled()


PINNED = ("8c111ecba028cbe4", "3b0ff06d")
