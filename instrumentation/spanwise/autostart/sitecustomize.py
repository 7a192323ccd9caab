"""Found first on the path by a Python that ``spanwise run`` starts: instruments it, then makes way."""
# ruff: noqa: INP001 - the interpreter finds it by its path

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = str(Path(__file__).parent)


def _make_way() -> None:
    # The environment may have a sitecustomize of its own; ours stood before it.
    rest = [entry for entry in sys.path if entry != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _start() -> None:
    # Programs start other Pythons, whose environment we are not in: they are none of our business.
    if importlib.util.find_spec("spanwise") is not None:
        import spanwise

        spanwise.instrument()
    elif os.environ.get("SPANWISE_RUN_PID") == str(os.getpid()):
        sys.stderr.write(f"spanwise run: spanwise is not installed for {sys.executable}; nothing is traced\n")


try:
    _make_way()
finally:
    _start()
