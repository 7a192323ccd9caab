from __future__ import annotations

import gzip
import random

import pytest

from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.receiver.body import TooLarge, decompressed


def test_members_are_joined_wherever_their_bounds_lie() -> None:
    """Of sizes around the piece that is unpacked at once."""
    chance = random.Random(1)  # noqa: S311  # any bytes that do not compress
    parts = [chance.randbytes(size) for size in (0, 1, 65_500, 65_536, 70_000, 200_000, 3)]
    packed = b"".join(map(gzip.compress, parts))
    plain = b"".join(parts)
    assert plain == decompressed(packed, "gzip", len(plain))
    with pytest.raises(TooLarge):
        decompressed(packed, "gzip", len(plain) - 1)
    with pytest.raises(Malformed, match="cut off"):
        decompressed(packed[:-1], "gzip", len(plain))


def test_a_thousand_members_pass_and_more_are_refused() -> None:
    assert decompressed(gzip.compress(b"a") * 1_000, "gzip", 1_000) == b"a" * 1_000
    with pytest.raises(Malformed, match="over 1000 members"):
        decompressed(gzip.compress(b"") * 1_001, "gzip", 1_000)


def test_an_empty_body_is_empty() -> None:
    assert decompressed(b"", "gzip", 10) == b""
