"""Extractions: the customer's message, photographs, the invoice, statements page by page."""

from __future__ import annotations

import asyncio
from typing import Any

import spanwise
from spanwise_demo.agent import papers, prompts
from spanwise_demo.agent.case import Task
from spanwise_demo.agent.forms import Damage, Invoice, Page, Request
from spanwise_demo.agent.work import Done, Work

_AT_A_TIME = 6


async def understand(work: Work, _: Task) -> Done:
    """What the customer wants."""
    found = await work.model.extract(Request, prompts.UNDERSTAND, work.said)
    return Done(found.order == work.case.order)


async def look(work: Work, _: Task) -> Done:
    """The damage on the photographs."""
    pictures = [_image(work, photo) for photo in work.papers.photos]
    await work.model.extract(Damage, prompts.LOOK, [_text(f"Order {work.case.order}"), *pictures])
    return Done(passed=True)


async def read(work: Work, _: Task) -> Done:
    """The numbers on the invoice, from the PDF or from the text in it."""
    found = await work.model.extract(Invoice, prompts.READ, [_invoice(work)])
    return Done((found.order, found.parcel) == (work.case.order, work.case.parcel))


async def pages(work: Work, _: Task) -> Done:
    """All pages of the statements, one request each."""
    asked = [work.model.extract(Page, prompts.PAGE, page) for page in work.papers.statements]
    if work.behaviour.pages_together:
        limit = asyncio.Semaphore(_AT_A_TIME)
        found = await asyncio.gather(*(_within(limit, request) for request in asked))
    else:
        found = [await request for request in asked]
    return Done(len(found) == work.case.pages)


async def _within(limit: asyncio.Semaphore, request: Any) -> Any:
    async with limit:
        return await request


def _invoice(work: Work) -> dict[str, Any]:
    pdf = work.papers.invoice
    if work.behaviour.send_pdf:
        url = papers.data_url("application/pdf", pdf)
        return {"type": "input_file", "filename": "invoice.pdf", "file_data": url}
    with spanwise.stage("prepare"):
        return _text(papers.extracted(pdf))


def _image(work: Work, photo: bytes) -> dict[str, Any]:
    url = papers.data_url("image/png", photo)
    return {"type": "input_image", "image_url": url, "detail": work.behaviour.image_detail}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}
