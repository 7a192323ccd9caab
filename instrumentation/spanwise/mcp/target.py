"""What a connection leads to: kind of transport, a name for people, an address without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from urllib.parse import SplitResult, urlsplit

_LAUNCHERS = frozenset({"node", "npx", "uvx", "uv", "bun", "bunx", "deno", "docker", "sh", "bash", "py"})
_VERBS = frozenset({"run", "exec", "tool"})
_MAX_SEGMENT = 24  # a longer part of a path is more often a secret than a word
_PORTS = {"http": 80, "https": 443}


class Transport(StrEnum):
    """The values of ``spanwise.mcp.transport``."""

    STDIO = "stdio"
    HTTP = "http"
    IN_PROCESS = "in-process"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a connection leads; ``transport`` is None for one that the caller brought along."""

    transport: Transport | None = None
    name: str = ""
    url: str = ""  # without user, password, query and fragment
    address: str = ""
    port: int | None = None


def command(program: str, arguments: Sequence[str]) -> Target:
    """The target of a server that is started as a process."""
    return Target(Transport.STDIO, _program(program, arguments))


def url(text: str) -> Target:
    """The target of a server behind a URL; an unreadable one gives a target without address."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return Target(Transport.HTTP)
    host = parts.hostname or ""
    return Target(Transport.HTTP, host, _bare(parts, port), host, port or _PORTS.get(parts.scheme))


def in_process(name: str) -> Target:
    """The target of a server object in this very process."""
    return Target(Transport.IN_PROCESS, name)


def _program(program: str, arguments: Sequence[str]) -> str:
    name = PurePath(program.replace("\\", "/")).name
    plain = name.removesuffix(".exe")
    if plain not in _LAUNCHERS and not plain.startswith("python"):
        return name
    if "-m" in arguments[:-1]:
        return arguments[arguments.index("-m") + 1]
    return next((PurePath(word).name for word in arguments if _names_program(word)), name)


def _names_program(word: str) -> bool:
    # Inline code (python -c "...") is no name.
    return not word.startswith("-") and word not in _VERBS and not any(letter.isspace() for letter in word)


def _bare(parts: SplitResult, port: int | None) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    path = "/".join("..." if len(segment) > _MAX_SEGMENT else segment for segment in parts.path.split("/"))
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}"
