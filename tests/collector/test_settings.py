from __future__ import annotations

import pytest

from spanwise_collector.settings import ReceiverSettings


def test_variables_set_and_arguments_override() -> None:
    environ = {"SPANWISE_OTLP_HTTP_PORT": "1", "SPANWISE_HOST": "::1", "UNRELATED": "x"}
    settings = ReceiverSettings.from_environ(environ, otlp_http_port=2, otlp_grpc_port=None)
    assert (settings.host, settings.otlp_http_port, settings.otlp_grpc_port) == ("::1", 2, 4317)


def test_a_bad_value_is_named() -> None:
    with pytest.raises(ValueError, match="SPANWISE_OTLP_GRPC_PORT='many'"):
        ReceiverSettings.from_environ({"SPANWISE_OTLP_GRPC_PORT": "many"})


def test_a_limit_below_zero_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="SPANWISE_MAX_EVENTS=-1"):
        ReceiverSettings.from_environ({"SPANWISE_MAX_EVENTS": "-1"})
