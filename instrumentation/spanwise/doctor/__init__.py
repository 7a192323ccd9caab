"""``spanwise doctor``: what is installed, what the environment decides, and whether a span arrives where it should."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from spanwise.doctor import choices, company, delivery, proof, versions
from spanwise.doctor.finding import Finding
from spanwise.endpoint import EXPORTER_VARIABLE, endpoint
from spanwise.installation import disabled

__all__ = ["Finding", "examine", "main"]


def main(arguments: Sequence[str]) -> int:
    """Print the findings. 0 if spans would arrive, 1 if not."""
    options = _parser().parse_args(arguments)
    failed = False
    found: list[Finding] = []
    for finding in examine(os.environ | ({proof.TOKEN: options.token} if options.token else {}), api=options.api):
        failed = failed or finding.ok is False
        if options.json:
            found.append(finding)
        else:
            sys.stdout.write(f"{finding}\n")
            sys.stdout.flush()  # the last ones take a while
    if options.json:
        sys.stdout.write(json.dumps({"ok": not failed, "findings": [asdict(finding) for finding in found]}) + "\n")
    return int(failed)


def examine(environ: Mapping[str, str], *, api: str | None = None) -> Iterator[Finding]:
    """What can be seen from outside the agent; ``api`` is where the server shows traces."""
    yield from versions.findings()
    yield from company.findings(environ)
    yield from choices.findings(environ)
    target = endpoint(None, environ)
    if target is None:
        yield Finding(
            ok=False,
            text=f"{EXPORTER_VARIABLE}=none: spans are not sent anywhere",
            remedy=f"unset {EXPORTER_VARIABLE}, unless the program names an endpoint itself",
        )
        return
    taken = delivery.finding(target, environ)
    yield taken
    if disabled(environ):
        yield Finding(None, "no test span was sent, since nothing is traced")
    elif taken.ok:
        yield from proof.findings(target, api, environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spanwise doctor",
        description="Show what is installed and what the environment decides, ask whether spans would be taken where "
        "the OTEL variables send them, send one test span there and show it back from the server. "
        "Run it with the Python and the environment of the agent. Exit code 0 if all is well, 1 if something fails.",
    )
    parser.add_argument(
        "--api", metavar="URL", help="page and API of the server (default: port 4320 of the endpoint's host)"
    )
    parser.add_argument("--token", help=f"what the server wants to be shown for reading (default: {proof.TOKEN})")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    return parser
