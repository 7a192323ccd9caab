"""What the server may be told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanwise_analyzer.settings import ServeSettings, url


def test_without_variables_everything_is_on_loopback_with_the_known_ports() -> None:
    found = ServeSettings.from_environ({})
    ports = (found.otlp_grpc_port, found.otlp_http_port, found.port)
    assert (found.host, ports, found.sql, found.require_token) == ("127.0.0.1", (4317, 4318, 4320), False, False)


def test_variables_are_read_by_type() -> None:
    found = ServeSettings.from_environ({"SPANWISE_DB": "x.duckdb", "SPANWISE_PORT": "0", "SPANWISE_SQL": "yes"})
    assert (found.db, found.port, found.sql) == (Path("x.duckdb"), 0, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPANWISE_PORT", "many"),
        ("SPANWISE_DRAIN_SECONDS", "soon"),
        ("SPANWISE_SQL", "perhaps"),
        ("SPANWISE_RETENTION_BYTES", "1GB"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name}='{value}'"):
        ServeSettings.from_environ({name: value})


def test_a_port_beyond_the_last_is_refused() -> None:
    with pytest.raises(ValueError, match="port=65536"):
        ServeSettings(port=65536)


def test_commands_ask_the_server_that_the_environment_names() -> None:
    assert url({}) == "http://127.0.0.1:4320"
    assert url({"SPANWISE_URL": "http://127.0.0.1:9"}) == "http://127.0.0.1:9"


@pytest.mark.parametrize("name", ["retention_days", "retention_bytes", "aggregate_days"])
def test_an_amount_below_nothing_is_refused(name: str) -> None:
    amount: dict[str, Any] = {name: -1}
    with pytest.raises(ValueError, match=f"{name}=-1"):
        replace(ServeSettings(), **amount)


def test_several_targets_are_set_apart_by_commas_or_spaces() -> None:
    found = ServeSettings.from_environ({"SPANWISE_FORWARD": "http://a, grpc://b:1 http://c"})
    assert found.forward == ("http://a", "grpc://b:1", "http://c")
