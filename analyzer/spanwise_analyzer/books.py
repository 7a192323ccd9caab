"""Keeps every conversation's ledger up to date with the spans that are committed."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from spanwise_analyzer import filing, outlived
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.shapes import dump
from spanwise_analyzer.statement import statement
from spanwise_collector.span import Span
from spanwise_collector.store import LedgerRow, Overloaded, Reader, Store

_LOCKS = 64
_CHUNK = 32
_STEP = 8  # batches
_PAUSE_S = 0.25
_DUTY = 4  # a background round of t seconds is followed by 4 t of rest, so that ingest keeps most of the machine

_NEAR = 64  # batches; as many are accounted for while somebody waits
_NEAR_S = 10.0
_FAR_S = 0.1  # under more load than can be accounted for, an answer that lacks the newest is better than none

log = logging.getLogger(__name__)


class Books:
    """Ledgers computed once and stored.

    A read of one conversation computes it first if it is stale. One of many waits until all are up to date, but where
    spans come faster than they can be accounted for it answers without the newest: ``behind`` says how far.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._seen = 0
        self._round = threading.Lock()
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._closing = threading.Event()
        self._wanted = threading.Event()
        self._progress = threading.Condition()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._keep, name="spanwise-books", daemon=True)

    def start(self) -> None:
        """Keep the ledgers up to date in the background too, so that reads find little to do."""
        self._thread.start()

    def close(self) -> None:
        """Stop the background work; idempotent."""
        self._closing.set()
        self._wanted.set()
        with self._progress:
            self._progress.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def reader(self) -> Reader:
        """A reader of the calling thread, after all conversations have been brought up to date, or after the wait."""
        self.refresh()
        return self.store.reader()

    def behind(self) -> int:
        """How many committed batches are not accounted for."""
        return max(0, self.store.reader().seq() - self._seen)

    def answer(self, conversation_id: str) -> bytes | None:
        """The API's answer as JSON, from all spans committed by now; None if no such conversation is known."""
        reader = self.store.reader()
        if not reader.has(conversation_id):
            return None
        found = self._fresh(reader, conversation_id)
        if found is None:
            with self._locks[hash(conversation_id) % _LOCKS]:
                found = self._fresh(reader, conversation_id) or self._computed(reader, conversation_id)
        # Asked last: where retention came in between, not all of the spans may have been read.
        frozen = self._frozen(reader, conversation_id)
        return found if frozen is None else outlived.marked(frozen)

    def ledger(self, conversation_id: str) -> Ledger | None:
        """The ledger itself, computed anew; None if no such conversation is known, or its raw spans are gone."""
        if self.gone(conversation_id):
            return None
        spans = self.store.reader().spans(conversation_id)
        return account(conversation_id, spans) if spans else None

    def gone(self, conversation_id: str) -> bool:
        """Whether spans of this conversation are deleted, so that only its answer is left."""
        return self._frozen(self.store.reader(), conversation_id) is not None

    def accounted(self) -> int:
        """The batch up to which every conversation has been computed."""
        return self._seen

    def refresh(self) -> None:
        """Have every conversation computed that was touched since the last round; at once if nothing was."""
        target = self.store.reader().seq()
        if self._seen >= target:
            return
        if self._thread.is_alive():
            self._await(target)
        else:
            self._round_up(target)

    def _await(self, target: int) -> None:
        patience_s = _NEAR_S if target - self._seen <= _NEAR else _FAR_S
        with self._progress:
            self._failure = None
            self._wanted.set()
            self._progress.wait_for(lambda: self._seen >= target or self._failure or self._closing.is_set(), patience_s)
            if self._failure:
                raise self._failure

    def _round_up(self, target: int) -> None:
        with self._round:
            if self._seen < target:
                self._catch_up(self.store.reader(), target)

    def _catch_up(self, reader: Reader, target: int) -> None:
        # In steps, so that what is done counts; what one step computed is fresh for all later ones.
        while self._seen < target and not self._closing.is_set():
            upto = min(self._seen + _STEP, target)
            if not self._stepped(reader, upto, target):
                return
            self._advance(upto)

    def _advance(self, upto: int) -> None:
        with self._progress:
            self._seen = upto
            self._progress.notify_all()

    def _stepped(self, reader: Reader, upto: int, target: int) -> bool:
        """Whether every conversation that the batches up to this one touched is accounted for; not at the end."""
        self.store.retire_ledgers(after=self._seen, upto=upto).result()
        touched = reader.changed(self._seen, upto)
        for start in range(0, len(touched), _CHUNK):
            if self._closing.is_set():
                return False
            self._keep_all(self._rows(reader, touched[start : start + _CHUNK], upto, target))
        return True

    def _keep_all(self, rows: Sequence[LedgerRow]) -> None:
        """Save together; if that fails, singly: one account that cannot be stored must not hide all others."""
        try:
            self._save(rows)
        except Overloaded:
            raise  # none can be stored now; this round is done again
        except Exception:
            if len(rows) == 1:
                log.exception("the account of conversation %r could not be stored", rows[0].conversation_id)
                return
            for row in rows:
                self._keep_all([row])

    def _rows(self, reader: Reader, conversation_ids: Sequence[str], upto: int, seq: int) -> list[LedgerRow]:
        """Accounts of those conversations that have none which holds up to this batch."""
        kept = {
            stored.conversation_id
            for stored in reader.ledgers_of(conversation_ids)
            if stored.frozen or (stored.seq >= upto and stored.answer.endswith(_seal()))
        }
        spans = reader.gathered([each for each in conversation_ids if each not in kept])
        if empty := [name for name, found in spans.items() if not found]:  # their spans moved to other conversations
            self.store.forget_ledgers(empty).result()
        rows = (_computed(name, found, seq) for name, found in spans.items())
        return [row for row in rows if row]

    def _frozen(self, reader: Reader, conversation_id: str) -> bytes | None:
        stored = reader.ledger(conversation_id)
        return stored.answer if stored and stored.frozen else None

    def _fresh(self, reader: Reader, conversation_id: str) -> bytes | None:
        stored = reader.ledger(conversation_id)
        if stored is None or stored.frozen:
            return stored.answer if stored else None
        sound = stored.answer.endswith(_seal()) and stored.seq >= reader.conversation_seq(conversation_id)
        return stored.answer if sound else None

    def _computed(self, reader: Reader, conversation_id: str) -> bytes | None:
        row = compute(reader, conversation_id, seq=reader.seq())
        self._save([row] if row else [])
        return row.answer if row else None

    def _save(self, rows: Sequence[LedgerRow]) -> None:
        if rows:
            self.store.save_ledgers(rows).result()

    def _keep(self) -> None:
        rest = 0.0
        while not self._closing.is_set():
            self._wanted.wait(_PAUSE_S + rest)
            self._wanted.clear()
            began = time.monotonic()
            try:
                self._round_up(self.store.reader().seq())
            except Exception as error:
                log.exception("the ledgers could not be brought up to date")
                self._fail(error)
            rest = _DUTY * (time.monotonic() - began)

    def _fail(self, error: Exception) -> None:
        with self._progress:
            self._failure = error
            self._progress.notify_all()


def compute(reader: Reader, conversation_id: str, *, seq: int) -> LedgerRow | None:
    """Account for one conversation; ``seq`` was read before, so every batch up to it is in the spans."""
    return _row(conversation_id, reader.spans(conversation_id), seq)


def _computed(conversation_id: str, spans: Sequence[Span], seq: int) -> LedgerRow | None:
    # One conversation that cannot be computed must not hide all others; asked for by id it answers with the error.
    try:
        return _row(conversation_id, spans, seq)
    except Exception:
        log.exception("conversation %r could not be computed", conversation_id)
        return None


def _row(conversation_id: str, spans: Sequence[Span], seq: int) -> LedgerRow | None:
    if not spans:
        return None
    ledger = account(conversation_id, spans)
    said = statement(ledger, edition=edition())
    first = said.recommendations[0].rule if said.recommendations else None
    return filing.row(ledger, dump(said), seq=seq, recommendation=first)


@cache
def edition() -> str:
    """Names the code and the rules that compute an answer: one computed by others is stale."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(path for path in here.rglob("*") if path.suffix in {".py", ".toml"}):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _seal() -> bytes:
    # The edition is the last field of the answer, so no parsing is needed to know it.
    return f'"edition":"{edition()}"}}'.encode()
