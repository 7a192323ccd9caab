"""Loads OpenTelemetry's propagators, the standard two where ``OTEL_PROPAGATORS`` names one that is not there.

OpenTelemetry loads them when its module is imported, and then an unknown name is an error in whoever imports it first:
that shall not be us.
"""

from __future__ import annotations

import os
from importlib import import_module

from opentelemetry.environment_variables import OTEL_PROPAGATORS

from spanwise.safety import tell


def load() -> None:
    """Import the module, and tell what had to be left out for it. To be called before anything else imports it."""
    try:
        import_module("opentelemetry.propagate")
    except Exception as error:  # noqa: BLE001 - a propagator may fail as it likes
        _load_default(error)


def _load_default(error: Exception) -> None:
    given = os.environ.pop(OTEL_PROPAGATORS, "")
    try:
        import_module("opentelemetry.propagate")
    finally:
        os.environ[OTEL_PROPAGATORS] = given
    tell(f"{OTEL_PROPAGATORS}={given!r} cannot be used ({error}) tracecontext and baggage are used instead")
