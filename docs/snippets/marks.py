"""What only the agent knows, each mark once."""

import spanwise

spanwise.instrument(service_name="support-agent")


@spanwise.tool(read_only=True, idempotent=True)  # a tool that the application runs itself
def exchange_rate(currency: str) -> float:
    """What one euro is worth."""
    return {"SEK": 11.2}.get(currency, 1.0)


@spanwise.stage("prepare")  # work of a declared stage: text extraction, image scaling
def extract_text(pages: list[bytes]) -> list[str]:
    """The text of each page."""
    return [page.decode() for page in pages]


@spanwise.step("summarise")  # a step of the agent; generators and coroutines are marked alike
def summarise(texts: list[str]) -> str:
    """The first words of everything."""
    return " ".join(text.split()[0] for text in texts)


def answer(pages: list[bytes]) -> str:
    """One turn: the question of a person, and everything until the answer."""
    with spanwise.conversation("c-43", user="u-7"), spanwise.turn():
        with spanwise.step("read", text_only=True, pages=len(pages)) as step:
            texts = extract_text(pages)
            step.output(texts=texts)
        with spanwise.stage("user.wait"):  # a person decides; not the agent's time
            currency = "SEK"
        found = f"{summarise(texts)} {exchange_rate(currency)}"
        spanwise.outcome(passed=True, consumed_tokens=2)
    return found


with spanwise.experiment("e-7", arm="text", fixture="invoice-3", round=1, position=2, seed=42):
    print(answer([b"Total due", b"Paid by card"]))
