"""The words and numbers of the decision guide, read once from ``guide.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule's words, priority (P0 to P6), source and thresholds."""

    rule: str
    title: str
    advice: str
    priority: str
    source: str
    must_still_hold: str
    verify: str
    not_when: str
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effect:
    """A measured change of a median: fractions, negative is faster, with the 95 % interval and its qualifier."""

    change: float
    low: float
    high: float
    qualifier: str


def rules() -> Mapping[str, Entry]:
    """All entries by rule id, in the order of the guide."""
    return _rules()


def entry(rule: str) -> Entry:
    """The entry of one rule; KeyError for an id that the guide does not know."""
    return _rules()[rule]


def limit(rule: str, name: str) -> float:
    """One threshold of one rule; KeyError when the guide has none of that name."""
    return _rules()[rule].limits[name]


def effect(name: str) -> Effect:
    """An effect that was measured elsewhere; KeyError for an unknown name."""
    row = _document()["effects"][name]
    return Effect(row["change"] / 100, row["low"] / 100, row["high"] / 100, row["qualifier"])


def effects() -> Mapping[str, Effect]:
    """All measured effects by name."""
    return {name: effect(name) for name in _document()["effects"]}


def constant(section: str, name: str) -> float:
    """A number that several rules share; KeyError for an unknown one."""
    value: float = _document()[section][name]
    return value


def notices() -> Mapping[str, str]:
    """Text of every notice by code."""
    found: Mapping[str, str] = _document()["notices"]
    return found


@cache
def _rules() -> Mapping[str, Entry]:
    return {rule: Entry(rule, **row) for rule, row in _document()["rules"].items()}


@cache
def _document() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__ or "").joinpath("guide.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    from spanwise_analyzer.rules.page import main

    main()
