"""Who gets in by which token."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest

from spanwise_collector.receiver.access import Access, BadTokens, Right


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def test_without_tokens_everybody_may_do_everything() -> None:
    access = Access()
    assert not access.required
    assert access.allows(Right.READ, None)


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer one", True),
        ("bearer two", True),
        ("Bearer  one ", True),
        (basic("anybody", "two"), True),
        (None, False),
        ("", False),
        ("Bearer", False),
        ("Bearer ", False),
        ("Bearer on", False),
        ("Bearer one two", False),
        ("Bearer ONE", False),
        ("one", False),
        ("Token one", False),
        (basic("one", ""), False),
        ("Basic !!!", False),
        ("Basic /w==", False),
        ("Bearer \udcff", False),
    ],
)
def test_a_token_counts_in_the_forms_that_clients_send(authorization: str | None, *, expected: bool) -> None:
    assert expected is Access("one, two").allows(Right.READ, authorization)


def test_a_scope_gives_one_right_and_no_scope_both() -> None:
    access = Access("ingest:in read:out both other:thing")
    rights = {
        token: [right.value for right in Right if access.allows(right, f"Bearer {token}")]
        for token in ("in", "out", "both", "other:thing", "ingest:in")
    }
    assert {
        "in": ["ingest"],
        "out": ["read"],
        "both": ["ingest", "read"],
        "other:thing": ["ingest", "read"],
        "ingest:in": [],
    } == rights


def test_a_file_is_read_again_when_it_changes_and_what_is_broken_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    file.write_text("# ours\nread:alpha  \n\n")
    access = Access(file=str(file))
    allowed = [access.allows(Right.READ, "Bearer alpha")]
    file.write_text("alpha\nomega\n")
    allowed += [access.allows(Right.READ, f"Bearer {token}") for token in ("alpha", "omega")]
    file.write_text("# nobody\n")
    allowed.append(access.allows(Right.READ, "Bearer omega"))
    file.unlink()
    allowed.append(access.allows(Right.READ, "Bearer omega"))
    (tmp_path / "next").write_text("omega\n")
    (tmp_path / "next").replace(file)
    allowed += [access.allows(Right.READ, "Bearer omega"), not access.allows(Right.READ, "Bearer alpha")]
    assert [True] * 7 == allowed
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "holds no token; the tokens that were read before still count" in said
    assert not any(token in said for token in ("alpha", "omega"))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "holds no token"), ("read:\n", "line 1"), ("good\ntwo words\n", "line 2"), ("é\n", "line 1")],
)
def test_a_file_without_usable_tokens_is_refused_at_the_start(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "tokens").write_text(text, encoding="utf-8")
    with pytest.raises(BadTokens, match=words):
        Access(file=str(tmp_path / "tokens"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTokens, match=r"nowhere cannot be read: No such file"):
        Access(file=str(tmp_path / "nowhere"))


def test_many_refusals_are_one_line_without_what_was_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    access = Access("secret")
    for number in range(50):
        assert not access.allows(Right.INGEST, f"Bearer guess-{number}")
        access.refuse(Right.INGEST, "HTTP")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert "no valid ingest token" in lines[0]
    assert not any(word in lines[0] for word in ("guess", "secret"))
