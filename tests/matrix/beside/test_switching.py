"""However and whenever it is switched on, everything is traced once; switched off, nothing is left."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.matrix.beside.conftest import environ_without_endpoint, execute

ONE_OF_EACH = {"model": 1, "tool": 1, "http": 2}  # the model call's request, and a plain one


def switched(way: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.matrix.beside.switching", way]
    ended = execute(command, environ_without_endpoint())
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def test_switched_on_twice_it_traces_once_and_switched_off_it_is_gone() -> None:
    assert {"counts": ONE_OF_EACH, "restored": True, "left": 0} == switched("twice")


def test_a_provider_that_is_there_is_used() -> None:
    assert {"counts": ONE_OF_EACH} == switched("provider-first")


def test_a_provider_that_comes_later_changes_nothing() -> None:
    assert {"counts": ONE_OF_EACH, "left": 0} == switched("provider-later")


def test_a_provider_for_us_alone_gets_all_of_ours_in_the_programs_trace() -> None:
    assert {"counts": ONE_OF_EACH, "left": 0, "connected": True} == switched("provider-beside")


def test_every_http_library_gets_one_span_a_request_and_sends_its_id() -> None:
    found = switched("http")
    assert (found["requests"], True) == (found["spans"], found["named"])
    assert found["requests"] >= 2


def test_the_conversation_stays_from_other_hosts_where_somebody_else_traces_http() -> None:
    assert {"told": [True], "kept": [False], "once": True} == switched("foreign-http")
