"""What every test may ask for: a real program by name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

os.environ.setdefault("SPANWISE_RAISE", "1")


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Path of a program; without it the test is skipped by name, or fails where everything is required."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path:
            return path
        if os.environ.get("SPANWISE_REQUIRE_ALL") == "1":
            pytest.fail(f"{name} is not installed, and SPANWISE_REQUIRE_ALL=1 wants every test to run")
        pytest.skip(f"{name} is not installed")

    return find
