"""Real programs from registries, installed once and used again until what they are made from changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
import uv

SENDERS: Final = Path(__file__).parent / "senders"
SCENARIO: Final = SENDERS / "scenario.json"
_HOME: Final = Path(__file__).parents[3] / ".matrix" / "programs"
_STAMP: Final = "made-from"


def javascript(program: Callable[[str], str]) -> list[str]:
    """Command of the JavaScript sender."""
    node, npm = program("node"), program("npm")
    install = [npm, "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
    return [node, str(_made("javascript", [install]) / "send.mjs")]


def python_json() -> list[str]:
    """Command of the Python sender with the JSON exporter, which needs other versions than the project's own."""
    folder = _made("python", _environment("opentelemetry-exporter-otlp-json-http==0.66b1"))
    return [str(folder / "venv" / "bin" / "python"), str(folder / "send.py")]


def schemathesis() -> str:
    """The command that tries an API out by its description."""
    return str(_made("schemathesis", _environment("schemathesis==4.32.5")) / "venv" / "bin" / "schemathesis")


def _environment(requirement: str) -> list[list[str]]:
    command = uv.find_uv_bin()
    return [
        [command, "venv", "--quiet", "--clear", "venv"],
        [command, "pip", "install", "--quiet", "--python", "venv", requirement],
    ]


def otelcol(program: Callable[[str], str]) -> str:
    """A Collector with OTLP in, batches, and OTLP out, built from its Go modules."""
    go = program("go")
    return str(_made("otelcol", [[go, "mod", "tidy"], [go, "build", "-o", "otelcol", "."]]) / "otelcol")


def _made(name: str, steps: Sequence[Sequence[str]]) -> Path:
    source, folder = SENDERS / name, _HOME / name
    sources = sorted(path for path in source.glob("*") if path.is_file())
    parts = [*(path.read_bytes() for path in sources), *(part.encode() for step in steps for part in step)]
    wanted = hashlib.sha256(b"\0".join(parts)).hexdigest()
    stamp = folder / _STAMP
    if not stamp.exists() or stamp.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sources:
            shutil.copy(path, folder)
        for step in steps:
            _run(name, step, folder)
        stamp.write_text(wanted)
    return folder


def _run(name: str, step: Sequence[str], folder: Path) -> None:
    environment = {key: text for key, text in os.environ.items() if key != "VIRTUAL_ENV"} | {
        "UV_PYTHON_DOWNLOADS": "never"
    }
    ended = subprocess.run(step, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        absent = f"{name} cannot be made here: {Path(step[0]).name} said {ended.stderr.strip()[-500:]}"
        if os.environ.get("SPANWISE_REQUIRE_ALL") == "1":
            pytest.fail(absent)
        pytest.skip(absent)
