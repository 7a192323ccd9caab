"""Texts without tools: sorting, writing and proofreading, with the shop's handbook where the case needs it."""

from __future__ import annotations

import itertools
import time

from spanwise_demo.agent import prompts
from spanwise_demo.agent.case import Task
from spanwise_demo.agent.work import Done, Work

_WORDS = {Task.SORT: 12, Task.WRITE: 55, Task.PROOFREAD: 20}
_numbers = itertools.count(1)


async def compose(work: Work, task: Task) -> Done:
    """One text; of a long one the customer's page shows only as many words as a brief one has."""
    brief = _WORDS[task]
    length = work.behaviour.detailed_words if task is Task.WRITE else None
    instructions = [prompts.text(task.value, length, brief=brief)]
    if work.case.reference_words:
        instructions.insert(0, prompts.reference(work.case.reference_words))
    place = 0 if work.behaviour.marker_first else len(instructions)
    instructions.insert(place, f"Request {next(_numbers)} of {time.time_ns()}.")
    said = await work.model.round(work.opening(*instructions))
    words = said.text.split()
    used = len(" ".join(words[:brief])) / max(len(said.text), 1)
    return Done(bool(words), " ".join(words[:brief]), said.tokens and round(said.tokens * used))
