"""Every error of the API is a problem document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/conversations/nobody", 404),
        ("/api/v1/conversations/nobody/timeline", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/conversations?limit=0", 422),
        ("/api/v1/conversations?sort=upwards", 422),
        ("/api/v1/conversations?since=yesterday", 422),
        ("/api/v1/conversations?until=2023-02-30T00:00:00Z", 422),
        ("/api/v1/conversations?stage=model.thinking", 422),
        ("/api/v1/conversations?min_active_ms=nan", 422),
        ("/api/v1/conversations?cursor=made-up", 422),
        ("/api/v1/conversations?colour=blue", 422),
        ("/api/v1/attribution?group_by=weather", 422),
        ("/api/v1/recommendations?since=-1y", 422),
    ],
)
def test_an_error_says_what_is_wrong_in_problem_details(server: Any, path: str, status: int) -> None:
    answer = server.get(path)
    said = answer.json
    assert (status, "application/problem+json") == (answer.status, answer.media_type)
    assert (status, "about:blank") == (said["status"], said["type"])
    assert said["title"]
    assert said["detail"]


def test_a_wrong_method_is_refused_with_the_right_ones_named(server: Any) -> None:
    answer = server.get("/api/v1/conversations", method="DELETE")
    assert (answer.status, answer.media_type) == (405, "application/problem+json")


def test_the_parameter_at_fault_is_named(server: Any) -> None:
    said = server.get("/api/v1/conversations?limit=many&since=-1h").json
    assert [item["parameter"] for item in said["errors"]] == ["limit"]


def test_error_answers_are_described_as_problems(server: Any) -> None:
    paths = server.get("/openapi.json").json["paths"]
    answers = paths["/api/v1/conversations/{conversation_id}"]["get"]["responses"]
    assert list(answers["404"]["content"]) == ["application/problem+json"]
    assert list(answers["200"]["content"]) == ["application/json"]


@pytest.mark.parametrize("cursor", ["garbage", "%FF", "bnVsbA==", "W10=", "W0luZmluaXR5LCJ4Il0=", "W1tb"])
@pytest.mark.parametrize("path", ["/", "/api/v1/conversations"])
def test_a_cursor_that_no_list_gave_is_the_askers_mistake(server: Any, path: str, cursor: str) -> None:
    answer = server.get(f"{path}?cursor={cursor}")
    assert (422, "application/problem+json") == (answer.status, answer.media_type)


def test_an_id_may_hold_line_breaks(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("two\nlines", "e0d7"))
    for path in ("/api/v1/conversations/two%0Alines", "/api/v1/conversations/two%0Alines/timeline"):
        assert "two\nlines" == server.get(path).json["conversation_id"]
    assert 200 == server.get("/conversations/two%0Alines").status


def test_an_id_may_end_like_another_path(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("ends", "e0d5"))
    server.send(conversation("ends/timeline", "e0d6"))
    answer = server.get("/api/v1/conversations/ends%2Ftimeline").json
    assert "ends/timeline" == answer["conversation_id"]
    assert answer["stages"]
