"""What a server that is started as a process should know of our settings, where the SDK keeps them from it."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.environment_variables import OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME

from spanwise.endpoint import variables

_PREFIXES = ("OTEL_", "SPANWISE_")
_OWN = frozenset({OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES})  # who somebody is
_SECRET = "_HEADERS"  # noqa: S105 - the end of the variables that hold credentials, and no credential


def environment(given: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """``given``, the server's, with the settings of telemetry in ``ours``, this process's, that it does not have.

    The SDK hands a server only what it needs to run; so its spans would go elsewhere than the client's. The
    client's name stays its own, and credentials for the collector are for the program to give away.
    """
    passed = {name: value for name, value in ours.items() if name.startswith(_PREFIXES) and _passes(name)}
    known = {**passed, **given}
    return {**variables(known), **known}


def _passes(name: str) -> bool:
    return name not in _OWN and not name.endswith(_SECRET)
