"""The decision guide as a page for people, made from the same data that the rules read."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.book import Effect, Entry

_HEAD = """# Decision guide

Made from `analyzer/spanwise_analyzer/rules/guide.toml` by `python -m spanwise_analyzer.rules.book`: edit that file.

The order of advice: define what a correct answer is, measure each stage, remove avoidable work, reuse work and
connections, remove serial waits and extra model rounds, limit tools, and only then use platform options.

Kinds of saving: *exact* by replay or arithmetic on the conversation's own spans, *modelled* from own calls with a
range, *external* from measurements made elsewhere (a range from zero, ranked with zero), *none* where no latency is
claimed.
A missing attribute never satisfies a condition. An upper bound under the noise floor keeps a rule silent."""


def page() -> str:
    """The whole page as Markdown."""
    parts = [_HEAD, *(_rule(entry) for entry in book.rules().values()), _effects(), _notices()]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def _rule(entry: Entry) -> str:
    lines = [f"## `{entry.rule}`: {entry.title}", "", entry.advice, "", f"- Priority: {entry.priority}"]
    lines += [f"- Source: {entry.source}", f"- Must still hold: {entry.must_still_hold}"]
    lines += [f"- Verify: {entry.verify}", f"- Not when: {entry.not_when}"]
    return "\n".join([*lines, *_limits(entry)])


def _limits(entry: Entry) -> Iterator[str]:
    if entry.limits:
        yield "- Limits: " + ", ".join(f"{name} {value:g}" for name, value in entry.limits.items())


def _effects() -> str:
    head = ["## Effects measured elsewhere", "", "| effect | change of the median | 95 % interval | qualifier |"]
    return "\n".join([*head, "|---|---|---|---|", *(_effect(*row) for row in book.effects().items())])


def _effect(name: str, found: Effect) -> str:
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f} %"
    return f"| {name} | {100 * found.change:+.1f} % | {interval} | {found.qualifier} |"


def _notices() -> str:
    return "## Notices\n\n" + "\n".join(f"- `{code}`: {text}" for code, text in book.notices().items())
