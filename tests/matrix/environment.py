"""Builds the environment of a row with uv, once: it is used again until what it should hold changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uv
from tests.matrix.row import HERE, Row, tools

ROOT = HERE.parents[1]
HOME = ROOT / ".matrix"
_SHOWN = 3
_PREFIX = "opentelemetry-"
_STAMP = "built-from"
_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"


class NotBuilt(Exception):
    """An environment could not be put together; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A built environment, and the versions that it turned out to hold."""

    row: Row
    python: Path
    version: str
    packages: dict[str, str]

    @property
    def described(self) -> str:
        """The Python it runs, and the one that the row asked for where there is none on this machine."""
        return (
            self.version if self.version.startswith(f"{self.row.python}.") else f"{self.version} (no {self.row.python})"
        )

    @property
    def sdks(self) -> str:
        """The versions of both SDKs and of the neighbour, where the row has one."""
        shown = _SHOWN if "beside" in self.row.suites else _SHOWN - 1
        found = [name for name in self.row.distributions if name in self.packages][:shown]
        return ", ".join(f"{name.removeprefix(_PREFIX)} {self.packages[name]}" for name in found)


def build(row: Row) -> Environment:
    """The row's environment, made if it is not there yet."""
    folder = HOME / row.name
    interpreter = _interpreter(row.python)
    wanted = _fingerprint(row, interpreter)
    stamp = folder / _STAMP
    if not stamp.exists() or stamp.read_text() != wanted:
        _uv(row, "venv", "--quiet", "--clear", "--python", interpreter, str(folder))
        checkout = f"{ROOT}[{row.extra}]" if row.extra else str(ROOT)
        python = str(_python(folder))
        _uv(row, "pip", "install", "--quiet", "--python", python, "--editable", checkout, *row.requirements, *tools())
        stamp.write_text(wanted)
    return Environment(row, _python(folder), _run(str(_python(folder)), "-c", _VERSION), _packages(row, folder))


def _packages(row: Row, folder: Path) -> dict[str, str]:
    listed = _uv(row, "pip", "list", "--format", "json", "--python", str(_python(folder)))
    return {package["name"]: package["version"] for package in json.loads(listed)}


def _fingerprint(row: Row, interpreter: str) -> str:
    parts = [interpreter, repr(row.requirements), row.extra, repr(tools()), (ROOT / "pyproject.toml").read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _uv(row: Row, *arguments: str) -> str:
    # It must neither download interpreters nor take settings or the environment of whatever it is called from.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment |= {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    command = [uv.find_uv_bin(), *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        asked = ", ".join(row.requirements)
        raise NotBuilt(f"row {row.name} ({asked}): uv {arguments[0]} failed\n{ended.stderr.strip()}")
    return ended.stdout


def _interpreter(version: str) -> str:
    """A Python of this version that works, else the running one."""
    works = (path for path in _candidates(version) if _run(path, "-c", _VERSION).startswith(f"{version}."))
    return next(works, sys.executable)


def _candidates(version: str) -> Iterator[str]:
    """Where interpreters are found: the path, and pyenv, whose commands on the path work for one version only."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python")))


def _run(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else ""


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
