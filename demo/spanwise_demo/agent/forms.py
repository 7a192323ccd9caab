"""What the model's extractions must look like."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

OrderNumber = Annotated[str, Field(pattern=r"^R-\d{6}$")]


class Request(BaseModel):
    """What the customer wants, and for which order."""

    intent: Literal["return", "question", "complaint"]
    order: OrderNumber


class Damage(BaseModel):
    """What the photographs show."""

    kind: Literal["torn", "broken", "stained", "none"]
    severe: bool


class Invoice(BaseModel):
    """What the invoice says in words."""

    order: OrderNumber
    parcel: Annotated[str, Field(pattern=r"^TRK\d{8}$")]


class Page(BaseModel):
    """What one page of the statements is about."""

    topic: Literal["delivery", "payment", "complaint"]
    summary: str
