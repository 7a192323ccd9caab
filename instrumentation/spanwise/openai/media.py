"""Images and files in a request: how many, how detailed, how big."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.openai.pdf import pages
from spanwise.openai.reading import field, items, text

_DETAILS = ("low", "auto", "high", "original")  # from cheap to costly
_DEFAULT_DETAIL = "auto"
_IMAGES = ("image_url", "input_image", "computer_screenshot")
_FILES = ("file", "input_file")
_PDF = "application/pdf"
_LOW_TOKENS, _TILED_TOKENS = 85, 765  # a low-detail image, and one of four tiles: only an order of magnitude


@dataclass(frozen=True, slots=True)
class Image:
    """One image part. ``size`` is 0 where the service fetches the image itself."""

    detail: str
    size: int
    encoded: int  # characters that it takes in the request

    @property
    def tokens(self) -> int:
        """About what the image costs."""
        return _LOW_TOKENS if self.detail == _DETAILS[0] else _TILED_TOKENS


@dataclass(frozen=True, slots=True)
class File:
    """One file part."""

    mime: str
    size: int
    encoded: int
    pages: int | None = None  # None where they cannot be counted


@dataclass(frozen=True, slots=True)
class Media:
    """All images and files of some messages."""

    images: tuple[Image, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def encoded(self) -> int:
        """Characters of the request that are media and no text."""
        return sum(image.encoded for image in self.images) + sum(file.encoded for file in self.files)

    @property
    def tokens(self) -> int:
        """About what the images cost; files are not estimated."""
        return sum(image.tokens for image in self.images)

    def attributes(self) -> dict[str, AttributeValue]:
        """Counts, bytes, the most costly detail and the type of file."""
        return self._of_images() | self._of_files()

    def _of_images(self) -> dict[str, AttributeValue]:
        if not self.images:
            return {semconv.IMAGE_COUNT: 0}
        return {
            semconv.IMAGE_COUNT: len(self.images),
            semconv.IMAGE_BYTES: sum(image.size for image in self.images),
            semconv.IMAGE_DETAIL: max((image.detail for image in self.images), key=_rank),
        }

    def _of_files(self) -> dict[str, AttributeValue]:
        if not self.files:
            return {semconv.FILE_COUNT: 0}
        found: dict[str, AttributeValue] = {
            semconv.FILE_COUNT: len(self.files),
            semconv.FILE_BYTES: sum(file.size for file in self.files),
        }
        counted = [file.pages for file in self.files if file.pages is not None]
        if counted:
            found[semconv.FILE_PAGES] = sum(counted)
        mimes = [file.mime for file in self.files if file.mime]
        return found | ({semconv.FILE_MIME: _PDF if _PDF in mimes else mimes[0]} if mimes else {})


def media(messages: Iterable[Any]) -> Media:
    """The images and files in ``messages``, of chat completions or of the Responses API."""
    images: list[Image] = []
    files: list[File] = []
    for part in _parts(messages):
        kind = text(part, "type")
        if kind in _IMAGES:
            images.append(_image(part))
        elif kind in _FILES:
            files.append(_file(field(part, "file") or part))
    return Media(tuple(images), tuple(files))


def _parts(messages: Iterable[Any]) -> Iterator[Any]:
    for message in messages:
        yield from items(message, "content")
        yield from items(message, "output")
        if text(message, "output", "type"):
            yield field(message, "output")


def _image(part: Any) -> Image:
    # Chat completions nest the URL and its detail, the Responses API does not.
    url = text(part, "image_url") or text(part, "image_url", "url")
    detail = text(part, "detail") or text(part, "image_url", "detail")
    return Image(detail or _DEFAULT_DETAIL, _decoded(url), len(url) if url.startswith("data:") else 0)


def _file(part: Any) -> File:
    data = text(part, "file_data")
    name = text(part, "filename") or text(part, "file_url")
    mime = _mime(data) or mimetypes.guess_type(name.split("?", 1)[0])[0] or ""
    size = _decoded(data) if data.startswith("data:") else len(data) * 3 // 4
    return File(mime, size, len(data), pages(data) if mime == _PDF else None)


def _mime(url: str) -> str:
    return url[5:80].split(",", 1)[0].split(";", 1)[0] if url.startswith("data:") else ""


def _decoded(url: str) -> int:
    """Bytes behind a data: URL, 0 for any other."""
    if not url.startswith("data:"):
        return 0
    head = url[:200].find(",")
    payload = len(url) - head - 1
    return payload * 3 // 4 - url[-2:].count("=") if ";base64" in url[: head + 1] else payload


def _rank(detail: str) -> int:
    return _DETAILS.index(detail) if detail in _DETAILS else len(_DETAILS)
