"""Model calls of the ``openai`` SDK: one span per call, however it is made (docs/adr/0004-model-calls.md)."""

from __future__ import annotations


def install() -> None:
    """Trace model calls from now on; does nothing where it is already done. ImportError without the SDK."""
    from spanwise.openai import seams

    seams.install()


def uninstall() -> None:
    """Put the SDK's own functions back."""
    from spanwise.openai import seams

    seams.uninstall()
