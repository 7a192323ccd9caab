from __future__ import annotations

from spanwise_demo.agent.case import Case
from spanwise_demo.agent.papers import extracted, invoice, photos
from spanwise_demo.model import pdf
from spanwise_demo.model.ask import Ask, Message, Part, Tool
from spanwise_demo.model.prefix import PrefixCache
from spanwise_demo.model.prompt import prompt, tokens
from spanwise_demo.picture import photograph, scan

_CASE = Case("c-1", "R-123456", "C-12345", "TRK12345678", turns=(), photos=1, pages=4)


def _ask(*parts: Part, tools: tuple[Tool, ...] = ()) -> Ask:
    return Ask("m", [Message("user", parts)], tools)


def test_about_four_bytes_make_a_token() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde", "ä" * 500)] == [0, 1, 1, 2, 250]


def test_tool_definitions_are_part_of_the_prompt_and_stand_first() -> None:
    tool = Tool("get_order", "Look up an order.", {"type": "object"})
    content = prompt(_ask(Part("text", "hello"), tools=(tool,))).content
    assert content.index(b"get_order") < content.index(b"hello")


def test_an_image_costs_more_tokens_at_high_detail_than_at_low() -> None:
    photo = photos(_CASE)[0]
    low, high = (prompt(_ask(Part("image", data=photo, detail=detail))) for detail in ("low", "high"))
    assert (low.tokens - 2, low.tiles, high.tokens - 2, high.tiles) == (85, 0, 85 + 170 * 6, 6)


def test_an_image_of_unknown_form_counts_one_tile() -> None:
    assert prompt(_ask(Part("image", data=b"?", detail="high"))).tiles == 1


def test_a_pdf_costs_its_words_and_its_pages() -> None:
    data = invoice(_CASE)
    seen = prompt(_ask(Part("file", pdf.words(data), data)))
    plain = prompt(_ask(Part("text", pdf.words(data))))
    assert (seen.pdf_pages, seen.tokens - plain.tokens) == (4, 4 * 255)


def test_the_words_in_a_pdf_are_those_that_the_agent_extracts() -> None:
    data = invoice(_CASE)
    assert extracted(data) == pdf.words(data)
    assert "Invoice for order R-123456, parcel TRK12345678." in pdf.words(data)


def test_pictures_are_valid_png_of_their_size() -> None:
    for made in (photograph(30, 20, seed="a"), scan(30, 20, seed="a")):
        assert made[:8] == b"\x89PNG\r\n\x1a\n"
        assert made[16:24] == (30).to_bytes(4) + (20).to_bytes(4)


def test_noise_does_not_compress_and_stripes_do() -> None:
    assert len(photograph(64, 64, seed="a")) > 64 * 64 * 3
    assert len(scan(64, 64, seed="a")) < 64 * 64


def test_a_prompt_is_cached_up_to_its_first_difference_in_steps_of_128_tokens() -> None:
    cache = PrefixCache()
    shared = bytes(4 * 1400)
    assert cache.hit(shared + b"first") == 0
    assert cache.hit(shared + b"other") == 1024 + 2 * 128


def test_a_difference_at_the_beginning_leaves_nothing_to_reuse() -> None:
    cache = PrefixCache()
    assert [cache.hit(marker + bytes(4 * 4000)) for marker in (b"one", b"two")] == [0, 0]


def test_a_prompt_below_1024_tokens_is_never_cached() -> None:
    cache = PrefixCache()
    assert [cache.hit(bytes(4 * 1023)) for _ in range(2)] == [0, 0]
