"""Where the commands read from: a running server over HTTP, or a file that no server has open."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, InvalidURL
from pathlib import Path
from ssl import SSLContext
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote, urlencode

from spanwise.doctor.delivery import trust
from spanwise_analyzer import download, listing, question
from spanwise_analyzer.books import Books
from spanwise_analyzer.database import opened
from spanwise_analyzer.download import ExportQuestion
from spanwise_analyzer.problem import MEDIA_TYPE, Unknown
from spanwise_analyzer.question import ListQuestion
from spanwise_analyzer.settings import ServeSettings
from spanwise_analyzer.shapes import dump
from spanwise_collector.store import Store

Document: TypeAlias = dict[str, Any]
_TIMEOUT_S = 60
_EXPORT_S = 900  # accounts of a large store may have to be computed before the first byte
_PART = 2**16


class Unavailable(Exception):
    """There is nothing to read from; the message says what to do."""


class Source(Protocol):
    """What a command may ask; answers are those of the HTTP API."""

    def conversations(self, **asked: Any) -> Document:
        """A page of the list; ``asked`` are its query parameters."""

    def conversation(self, conversation_id: str) -> Document | None:
        """The whole answer for one conversation, None if it is unknown."""

    def export(self, **asked: Any) -> Iterator[bytes]:
        """The bytes of a file; ``asked`` are the query parameters. Raises Unavailable, also in the midst of it."""


class ServerSource:
    """A running server."""

    def __init__(self, url: str, token: str = "", context: SSLContext | None = None) -> None:
        self._url = (url if "://" in url else f"http://{url}").rstrip("/")
        self._token = token
        self._context = context

    def conversations(self, **asked: Any) -> Document:
        """See Source."""
        found = self._get("/api/v1/conversations", asked)
        if found is None:  # the list always exists
            raise Unavailable(self._foreign())
        return found

    def conversation(self, conversation_id: str) -> Document | None:
        """See Source."""
        return self._get(f"/api/v1/conversations/{quote(conversation_id, safe='')}", {})

    def export(self, **asked: Any) -> Iterator[bytes]:
        """See Source."""
        try:
            with self._open("/api/v1/export", asked, timeout=_EXPORT_S) as answer:
                while part := answer.read(_PART):
                    yield part
        except urllib.error.HTTPError as error:
            raise Unavailable(f"{self._url} answered {error.code}: {_detail(error)}") from error
        except IncompleteRead as error:
            raise Unavailable(f"{self._url} broke off in the midst of the file; its log says why") from error
        except (OSError, ValueError, HTTPException) as error:
            raise Unavailable(self._unanswered(error)) from error

    def _open(self, path: str, asked: Mapping[str, Any], *, timeout: float = _TIMEOUT_S) -> Any:
        query = urlencode({name: value for name, value in asked.items() if value is not None}, doseq=True)
        request = urllib.request.Request(f"{self._url}{path}?{query}")  # noqa: S310 - the user's own address
        if self._token:  # not for whoever the server redirects to
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        return urllib.request.urlopen(request, timeout=timeout, context=self._context)  # noqa: S310 - as above

    def _get(self, path: str, asked: Mapping[str, Any]) -> Document | None:
        try:
            with self._open(path, asked) as answer:
                document: Document = json.load(answer)
                return document
        except urllib.error.HTTPError as error:
            self._check_unknown(error)
            return None
        except (OSError, ValueError, HTTPException) as error:
            raise Unavailable(self._unanswered(error)) from error

    def _check_unknown(self, error: urllib.error.HTTPError) -> None:
        """Raise Unavailable unless it is the API that says so and says that it does not know."""
        if error.code == HTTPStatus.UNAUTHORIZED:
            raise Unavailable(f"{self._url} wants a token; set SPANWISE_TOKEN or name one with --token") from error
        if error.code != HTTPStatus.NOT_FOUND:
            raise Unavailable(f"{self._url} answered {error.code}: {_detail(error)}") from error
        if error.headers.get_content_type() != MEDIA_TYPE:
            raise Unavailable(self._foreign()) from error

    def _foreign(self) -> str:
        return f"{self._url} is not a Spanwise API; is it the OTLP port? the API is on {_port()}"

    def _unanswered(self, error: Exception) -> str:
        if isinstance(error, HTTPException) and not isinstance(error, InvalidURL):
            return f"{self._url} does not speak HTTP; is it the gRPC port? the API is on {_port()}"
        return (
            f"no Spanwise server answers at {self._url} ({_reason(error)}); "
            "start one with `spanwise serve`, name another with --url, or read a file with --db"
        )


class FileSource:
    """A database file, opened by this process alone."""

    def __init__(self, store: Store) -> None:
        self._books = Books(store)

    def conversations(self, **asked: Any) -> Document:
        """See Source."""
        query = ListQuestion(**asked)
        reader = self._books.reader()
        page = reader.ledgers(question.selection(query), sort=query.sort, limit=query.limit, cursor=query.cursor)
        document: Document = json.loads(dump(listing.conversations(page)))
        return document

    def conversation(self, conversation_id: str) -> Document | None:
        """See Source."""
        found = self._books.answer(conversation_id)
        return None if found is None else json.loads(found)

    def export(self, **asked: Any) -> Iterator[bytes]:
        """See Source."""
        try:
            yield from download.stream(self._books, ExportQuestion(**asked))
        except Unknown as error:
            raise Unavailable(error.detail) from error


def options(parser: ArgumentParser, *, url: str, token: str) -> None:
    """Add ``--url`` and ``--db``, of which one may be given, and ``--token``."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--url", default=url, help=f"running server (default {url}; SPANWISE_URL)")
    chosen.add_argument("--db", type=Path, metavar="FILE", help="database file that no server has open")
    # The default is not shown: help ends up in logs.
    parser.add_argument("--token", default=token, help="what the server wants to be shown (default: SPANWISE_TOKEN)")


@contextmanager
def source(asked: Namespace) -> Iterator[Source]:
    """What the options name; raises Unavailable, DatabaseInUse or OSError when the file cannot be had."""
    if asked.db is None:
        yield ServerSource(asked.url, asked.token, _trust(asked.url))
        return
    if not asked.db.is_file():
        raise Unavailable(f"there is no file {asked.db}")
    store = opened(asked.db)
    try:
        yield FileSource(store)
    finally:
        store.close()


def _trust(url: str) -> SSLContext | None:
    """Whom to believe over TLS, and how to prove who asks: as the exporters do, by the OTLP variables."""
    if not url.startswith("https:"):
        return None
    try:
        return trust(os.environ)
    except OSError as error:
        raise Unavailable(f"the certificates that OTEL_EXPORTER_OTLP_* name cannot be used: {error}") from error


def _port() -> int:
    return ServeSettings().port


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return error.reason


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error))
