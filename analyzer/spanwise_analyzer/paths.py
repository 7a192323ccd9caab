"""Ids in paths: a conversation may be called anything, with slashes and line breaks in it."""

from __future__ import annotations

from typing import Final

from starlette.convertors import PathConvertor, register_url_convertor


class AnythingConvertor(PathConvertor):
    """As Starlette's ``path``, whose dot matches no line break."""

    regex = r"[\s\S]*"


register_url_convertor("anything", AnythingConvertor())

CONVERSATION: Final = "{conversation_id:anything}"
