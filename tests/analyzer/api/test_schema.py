from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from tests.collector.conformance.workshop import schemathesis

_SECONDS: Final = os.environ.get("SPANWISE_FUZZ_SECONDS", "60")
_CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.mark.soak
def test_the_api_answers_anything_as_its_description_says(server: Any, conversation: Any, tmp_path: Path) -> None:
    """Never with an error of its own."""
    server.send(conversation("schema-1", "5c4e3a"))
    command = [schemathesis(), "run", f"{server.addresses['api']}/openapi.json", "--checks", ",".join(_CHECKS)]
    done = subprocess.run(
        [*command, "--max-time", _SECONDS, "--no-color"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stdout
    assert "Fuzzing" in done.stdout
