"""The support agent: one conversation, turn by turn, task by task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import spanwise
from spanwise_demo.agent.behaviour import Behaviour, Sessions
from spanwise_demo.agent.case import Case, Task, Turn
from spanwise_demo.agent.compose import compose
from spanwise_demo.agent.consult import consult, settle
from spanwise_demo.agent.examine import look, pages, read, understand
from spanwise_demo.agent.model import Model
from spanwise_demo.agent.papers import Papers
from spanwise_demo.agent.screening import screen
from spanwise_demo.agent.sessions import Address, Open, Session, session
from spanwise_demo.agent.toolbox import Toolbox
from spanwise_demo.agent.work import Done, Work

AGENT = "support"
_DEEDS = {
    Task.UNDERSTAND: understand,
    Task.LOOK_UP: consult,
    Task.PERMISSION: consult,
    Task.REVIEW: consult,
    Task.ARRANGE: consult,
    Task.SETTLE: settle,
    Task.SORT: compose,
    Task.WRITE: compose,
    Task.PROOFREAD: compose,
    Task.LOOK: look,
    Task.READ: read,
    Task.PAGES: pages,
    Task.SCREEN: screen,
}


@dataclass(slots=True)
class Support:
    """One conversation; ``kept`` are sessions that were open before, ``addresses`` are of servers still to open."""

    case: Case
    behaviour: Behaviour
    model: Model
    kept: Open
    addresses: Mapping[str, Address]
    history: list[dict[str, str]] = field(default_factory=list)
    remembered: dict[tuple[str, str], str] = field(default_factory=dict)

    async def serve(self) -> None:
        """Answers every turn of the case."""
        papers = Papers.of(self.case)
        async with AsyncExitStack() as stack:
            with spanwise.conversation(self.case.conversation_id, user=self.case.customer):
                opened: dict[str, Session] = {}
                for turn in self.case.turns:
                    with spanwise.turn(agent=AGENT):
                        await self._open_first(stack, opened)
                        async with self._for_task() as fresh:
                            await self._answer(turn, papers, {**self.kept, **opened, **fresh})

    async def _open_first(self, stack: AsyncExitStack, opened: dict[str, Session]) -> None:
        """Sessions that this agent opens when they are first needed, and keeps."""
        if self.behaviour.sessions is Sessions.EACH_TASK or opened:
            return
        mode = self.behaviour.protocol or "auto"
        for name, address in self.addresses.items():
            opened[name] = await stack.enter_async_context(session(address, mode))

    @asynccontextmanager
    async def _for_task(self) -> AsyncIterator[dict[str, Session]]:
        """Sessions that this agent opens for every task."""
        if self.behaviour.sessions is not Sessions.EACH_TASK:
            yield {}
            return
        async with AsyncExitStack() as stack:
            yield {name: await stack.enter_async_context(session(address)) for name, address in self.addresses.items()}

    async def _answer(self, turn: Turn, papers: Papers, open_: Open) -> None:
        if self.behaviour.relist:
            for each in open_.values():
                await each.relist()
        said = self.case.said(turn)
        toolbox = Toolbox(self.behaviour, open_, self.remembered)
        work = Work(self.case, self.behaviour, self.model, toolbox, papers, said, self.history[-2:])
        done = [await self._do(work, task) for task in turn.tasks]
        answer = next((each for each in reversed(done) if each.text), None)
        spanwise.outcome(all(each.passed for each in done), answer.consumed_tokens if answer else None)
        if answer is not None:
            self.history += [{"role": "user", "content": said}, {"role": "assistant", "content": answer.text}]

    async def _do(self, work: Work, task: Task) -> Done:
        if task is Task.SCREEN:  # what nobody marks has no step either
            return await screen(work, task)
        with spanwise.step(task.value, text_only=task is Task.READ) as step:
            done = await _DEEDS[task](work, task)
            step.output(passed=done.passed)
        return done
