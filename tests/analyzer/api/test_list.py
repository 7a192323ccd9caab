"""Many conversations asked for over HTTP: pages, filters, attribution, recommendations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MS = 1_000_000
COUNT = 7


@pytest.fixture(scope="module")
def shop(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of its own, with seven conversations of growing length, a minute apart."""
    return start(tmp_path_factory.mktemp("list") / "spans.duckdb")


@pytest.fixture
def filled(shop: Any, conversation: Callable[..., Any]) -> Any:
    """The same spans may be sent again and again: nothing is counted twice."""
    for number in range(1, COUNT + 1):
        service = "shop" if number % 2 else "depot"
        shop.send(conversation(f"c-{number}", f"{number}", at_ms=60_000.0 * number, slow=number, service=service))
    return shop


def ids(found: Any) -> list[str]:
    return [row["conversation_id"] for row in found["conversations"]]


def test_the_newest_conversation_comes_first(filled: Any) -> None:
    found = filled.get("/api/v1/conversations").json
    assert ids(found) == ["c-7", "c-6", "c-5", "c-4", "c-3", "c-2", "c-1"]
    assert found["next_cursor"] is None


def test_a_row_says_what_the_whole_answer_says(filled: Any) -> None:
    row = filled.get("/api/v1/conversations?limit=1").json["conversations"][0]
    said = filled.get(f"/api/v1/conversations/{row['conversation_id']}").json
    first = said["recommendations"][0]["rule"] if said["recommendations"] else None
    assert (7000.0, said["dominant"], said["started_at"], 1, first) == (
        row["active_ms"],
        row["dominant"],
        row["started_at"],
        row["turns"],
        row["recommendation"],
    )


@pytest.mark.parametrize("sort", ["started", "active"])
def test_pages_hold_every_conversation_once(filled: Any, sort: str) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        found = filled.get(f"/api/v1/conversations?limit=3&sort={sort}" + (f"&cursor={cursor}" if cursor else "")).json
        seen += ids(found)
        cursor = found["next_cursor"]
    assert [f"c-{number}" for number in range(COUNT, 0, -1)] == seen


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("service=depot", ["c-6", "c-4", "c-2"]),
        ("agent=support&min_active_ms=6000", ["c-7", "c-6"]),
        ("stage=model.call", [f"c-{number}" for number in range(COUNT, 0, -1)]),
        ("stage=mcp.list", []),
        ("model=small&tool=lookup&server=orders&status=ok&limit=1", ["c-7"]),
        ("model=large", []),
        ("since=2023-11-14T22:19:20Z", ["c-7", "c-6"]),
        ("until=2023-11-14T22:15:20Z", ["c-1"]),
        ("since=-1h", []),
    ],
)
def test_filters_hold_together(filled: Any, query: str, expected: list[str]) -> None:
    assert expected == ids(filled.get(f"/api/v1/conversations?{query}").json)


@pytest.mark.parametrize("group_by", ["stage", "model", "tool", "server", "service", "agent", "stage,service"])
def test_attribution_groups_tile_the_active_time(filled: Any, group_by: str) -> None:
    found = filled.get(f"/api/v1/attribution?group_by={group_by}").json
    total = sum(range(1, COUNT + 1)) * 1000
    assert group_by.split(",") == found["group_by"]
    assert total * MS == round(found["active_ms"] * MS) == sum(round(row["ms"] * MS) for row in found["groups"])
    assert pytest.approx(sum(row["share"] for row in found["groups"])) == 1.0


def test_attribution_by_stage_gives_sums_and_percentiles_of_conversations(filled: Any) -> None:
    found = filled.get("/api/v1/attribution?group_by=stage&since=2023-11-14T22:00:00Z").json
    rows = {row["stage"]: row for row in found["groups"]}
    model = rows["model.call"]
    assert (
        model["ms"],
        model["share"],
        model["p50_ms"],
        model["conversations"],
        model["segments"],
    ) == (16800.0, 0.6, 2400.0, 7, 7)
    assert {stage: row["group"] for stage, row in rows.items()} == {
        "model.call": "model",
        "mcp.opaque": "tools",
        "agent.overhead": "agent",
    }


def test_recommendations_count_the_conversations_they_hold_for(filled: Any) -> None:
    found = filled.get("/api/v1/recommendations").json
    said = [filled.get(f"/api/v1/conversations/c-{number}").json for number in range(1, COUNT + 1)]
    held: dict[str, int] = {}
    for rule in (advice["rule"] for answer in said for advice in answer["recommendations"]):
        held[rule] = held.get(rule, 0) + 1
    assert found["conversations"] == COUNT
    assert held == {row["rule"]: row["conversations"] for row in found["recommendations"]}


def test_stored_ledgers_survive_a_restart(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    first = start(tmp_path / "spans.duckdb")
    first.send(conversation("again", "a"))
    before = first.get("/api/v1/conversations/again").body
    assert first.end() == 0
    second = start(tmp_path / "spans.duckdb")
    assert ids(second.get("/api/v1/conversations").json) == ["again"]
    assert before == second.get("/api/v1/conversations/again").body
