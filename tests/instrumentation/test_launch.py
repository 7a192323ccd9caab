"""A program that nobody touched, started as programs are started: what it is, what it sends, how it ends."""

from __future__ import annotations

import importlib
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.instrumentation.model import ModelServer
    from tests.matrix.frameworks.sink import Seen, Sink

PATIENCE = 30.0  # s, for a program with its imports
# Asks the model once, inside of a turn; says so only at its end.
AGENT = """
    import sys
    import openai
    import spanwise

    def ask():
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"):
            answer = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        return answer.choices[0].message.content

    if __name__ == "__main__":
        print(ask(), *sys.argv[1:])
"""
EXPECTED = ["chat m", "invoke_agent shop"]


@pytest.fixture
def sink() -> Sink:
    made: Sink = importlib.import_module("tests.matrix.frameworks.sink").Sink()
    return made


@pytest.fixture
def environ(model: ModelServer, sink: Sink) -> Iterator[dict[str, str]]:
    """The environment of the program: a model that answers, and a place for its spans."""
    from tests.instrumentation.model import Reply, completion

    model.replies = [Reply(completion("hello"))]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "OPENAI_"))}
    with sink.serving() as collector:
        yield kept | {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "SPANWISE_RAISE": "1",
        }


Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def start(environ: dict[str, str], tmp_path: Path) -> Start:
    """Runs a command to its end in a folder that holds the agent."""
    write(tmp_path / "agent.py", AGENT)

    def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environ | more,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run


def write(path: Path, code: str) -> Path:
    path.write_text(textwrap.dedent(code).lstrip())
    return path


SPANWISE = (sys.executable, "-m", "spanwise.command", "run", "--")
PYTHON = sys.executable


def ours(spans: list[Seen]) -> list[str]:
    return sorted(span.name for span in spans if span.scope == "spanwise")


def test_a_script_is_traced(start: Start, sink: Sink) -> None:
    done = start(*SPANWISE, PYTHON, "agent.py", "--x")
    assert (done.stdout, done.stderr, done.returncode) == ("hello --x\n", "", 0)
    assert ours(sink.spans) == EXPECTED


def test_a_module_is_traced(start: Start, sink: Sink) -> None:
    assert start(*SPANWISE, PYTHON, "-m", "agent").stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


def test_a_script_that_names_its_own_python_is_traced(start: Start, sink: Sink, tmp_path: Path) -> None:
    script = write(tmp_path / "agent-script", f"#!{PYTHON}\n{textwrap.dedent(AGENT)}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert start(*SPANWISE, str(script)).stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


def test_a_python_that_the_program_starts_is_traced_too(start: Start, sink: Sink, tmp_path: Path) -> None:
    write(tmp_path / "outer.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'agent.py'], check=True)\n")
    assert start(*SPANWISE, PYTHON, "outer.py").stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A Python in whose environment there is nothing."""
    venv.create(tmp_path / "bare", symlinks=True)
    return str(tmp_path / "bare" / "bin" / "python")


def test_a_python_without_us_that_the_program_starts_is_left_alone(
    start: Start, sink: Sink, tmp_path: Path, bare: str
) -> None:
    write(tmp_path / "outer.py", f"import subprocess\nsubprocess.run([{bare!r}, '-c', 'print(1)'], check=True)\n")
    done = start(*SPANWISE, PYTHON, "outer.py")
    assert (done.stdout, done.stderr, sink.spans) == ("1\n", "", [])


def test_a_python_without_us_is_told_and_runs(start: Start, bare: str) -> None:
    done = start(*SPANWISE, bare, "-c", "print(1)")
    assert (done.stdout, done.returncode) == ("1\n", 0)
    assert done.stderr == f"spanwise run: spanwise is not installed for {bare}; nothing is traced\n"


def test_run_inside_of_run_is_one_instrumentation(start: Start, sink: Sink) -> None:
    assert start(*SPANWISE, *SPANWISE, PYTHON, "agent.py").stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


def test_the_two_lines_under_run_are_one_instrumentation(start: Start, sink: Sink, tmp_path: Path) -> None:
    write(tmp_path / "both.py", "import spanwise\nspanwise.instrument()\nimport agent\nprint(agent.ask())\n")
    assert start(*SPANWISE, PYTHON, "both.py").stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


def test_the_path_of_the_program_is_kept(start: Start, sink: Sink, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    write(tmp_path / "library" / "mine.py", "WORD = 'found'\n")
    write(tmp_path / "uses.py", "import mine, agent\nprint(mine.WORD, agent.ask())\n")
    path = os.pathsep.join(part for part in ("library", os.environ.get("PYTHONPATH")) if part)
    assert start(*SPANWISE, PYTHON, "uses.py", PYTHONPATH=path).stdout == "found hello\n"
    assert ours(sink.spans) == EXPECTED


def test_the_way_a_program_ends_is_its_own(start: Start) -> None:
    failed = start(*SPANWISE, PYTHON, "-c", "raise ValueError('mine')")
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "ValueError: mine")
    assert start(*SPANWISE, PYTHON, "-c", "raise SystemExit(7)").returncode == 7
    killed = start(*SPANWISE, PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_program_itself(
    environ: dict[str, str], tmp_path: Path, sink: Sink, number: signal.Signals
) -> None:
    code = """
        import signal, sys, time, spanwise

        def leave(number, frame):
            sys.exit(40 + number)

        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
        with spanwise.step("wait"):
            print("ready", flush=True)
            time.sleep(60)
    """
    write(tmp_path / "waits.py", code)
    command = [*SPANWISE, PYTHON, "waits.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        assert running.wait(PATIENCE) == 40 + number
    assert ours(sink.spans) == ["agent.step.wait"]


APPLICATION = """
    import agent

    async def app(scope, receive, send):
        if scope["type"] == "http":
            body = agent.ask().encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})
"""


def test_a_web_server_is_traced_in_its_worker(environ: dict[str, str], tmp_path: Path, sink: Sink) -> None:
    write(tmp_path / "agent.py", AGENT)
    write(tmp_path / "web.py", APPLICATION)
    server = Path(PYTHON).with_name("uvicorn")
    command = [*SPANWISE, str(server), "web:app", "--port", "0", "--lifespan", "off"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        line = next(line for line in running.stderr if "running on" in line)
        url = line.split("running on ")[1].split(" ")[0]
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - the server started above
            assert answer.read() == b"hello"
        # It ends by the signal itself, so that nothing can be sent at its end.
        wait_for(lambda: len(ours(sink.spans)) == len(EXPECTED))
        running.terminate()
        running.wait(PATIENCE)
    assert ours(sink.spans) == EXPECTED


# --- opentelemetry-instrument -------------------------------------------------------------------------------------
AUTO = str(Path(PYTHON).with_name("opentelemetry-instrument"))


@pytest.fixture
def auto(start: Start) -> Start:
    """Runs a command under ``opentelemetry-instrument``, with the package that makes its provider."""
    if find_spec("opentelemetry.distro") is None:
        pytest.skip("opentelemetry-distro is not installed")

    def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
        # It sends by gRPC unless it is told otherwise.
        chosen = {"OTEL_SERVICE_NAME": "auto", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        return start(AUTO, *command, **chosen, **more)

    return run


def test_the_standard_launcher_finds_us(auto: Start, sink: Sink) -> None:
    done = auto(PYTHON, "agent.py")
    assert (done.stdout, done.returncode) == ("hello\n", 0), done.stderr
    assert ours(sink.spans) == EXPECTED
    assert {span.service for span in sink.spans} == {"auto"}
    assert {span.attributes["gen_ai.conversation.id"] for span in sink.spans} == {"c-1"}
    (call,) = [span for span in sink.spans if span.name == "chat m"]
    assert call.attributes["gen_ai.usage.input_tokens"] == 10


def test_the_standard_launcher_leaves_out_what_it_is_told(auto: Start, sink: Sink) -> None:
    assert auto(PYTHON, "agent.py", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="spanwise-openai").stdout == "hello\n"
    # The marks are the program's own calls and need no instrumentor.
    assert ours(sink.spans) == ["invoke_agent shop"]


def test_the_two_lines_under_the_standard_launcher_are_one_instrumentation(
    auto: Start, sink: Sink, tmp_path: Path
) -> None:
    write(tmp_path / "both.py", "import spanwise\nspanwise.instrument()\nimport agent\nprint(agent.ask())\n")
    assert auto(PYTHON, "both.py").stdout == "hello\n"
    assert ours(sink.spans) == EXPECTED


def test_the_standard_launcher_without_a_provider_is_told(start: Start, sink: Sink, tmp_path: Path) -> None:
    # As it is where opentelemetry-distro is not installed.
    code = """
        from spanwise.instrumentor import OpenAIInstrumentor
        OpenAIInstrumentor().instrument()
        import agent
        print(agent.ask())
    """
    write(tmp_path / "bare.py", code)
    done = start(PYTHON, "bare.py")
    assert (done.stdout, ours(sink.spans)) == ("hello\n", [])
    assert "no tracer provider" in done.stderr


def test_a_disabled_sdk_is_left_alone(start: Start, sink: Sink) -> None:
    assert start(*SPANWISE, PYTHON, "agent.py", OTEL_SDK_DISABLED="true").stdout == "hello\n"
    assert sink.spans == []


def test_a_bad_endpoint_is_named_once_and_the_program_goes_on(start: Start, sink: Sink, tmp_path: Path) -> None:
    code = "import spanwise\nspanwise.instrument()\nimport agent\nprint(agent.ask(), agent.ask())\n"
    write(tmp_path / "both.py", code)
    done = start(PYTHON, "both.py", OTEL_EXPORTER_OTLP_ENDPOINT="127.0.0.1:4318")
    assert (done.stdout, done.returncode) == ("hello hello\n", 0)
    said = (
        "spanwise: no spans are sent: the endpoint '127.0.0.1:4318/v1/traces' does not begin with http:// or https://"
    )
    assert done.stderr.splitlines() == [said]


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.01)
    return pytest.fail("it did not happen in time")


# --- when instrument is called ------------------------------------------------------------------------------------
WHEN = {
    "after-the-imports": "import agent, openai\nimport spanwise\nspanwise.instrument()\nprint(agent.ask())\n",
    "in-a-thread": """
        import threading, spanwise
        thread = threading.Thread(target=spanwise.instrument)
        thread.start()
        thread.join()
        import agent
        print(agent.ask())
    """,
    "in-a-running-loop": """
        import asyncio, spanwise

        async def cell():
            spanwise.instrument()
            spanwise.instrument()
            import agent
            print(await asyncio.to_thread(agent.ask))

        asyncio.run(cell())
    """,
    "before-a-fork": """
        import os, spanwise
        spanwise.instrument()
        import agent
        child = os.fork()
        if not child:
            print(agent.ask(), flush=True)
            raise SystemExit
        os.waitpid(child, 0)
    """,
    "in-a-child-of-fork": """
        import os, openai
        import agent
        child = os.fork()
        if not child:
            import spanwise
            spanwise.instrument()
            print(agent.ask(), flush=True)
            raise SystemExit
        os.waitpid(child, 0)
    """,
    "after-the-client": """
        import openai, spanwise
        client = openai.OpenAI()
        client.chat.completions.with_raw_response  # it keeps what it was made with
        spanwise.instrument()
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"):
            raw = client.chat.completions.with_raw_response.create(model="m", messages=[])
        print(raw.parse().choices[0].message.content)
    """,
}


@pytest.mark.parametrize("when", WHEN)
def test_it_does_not_matter_when_instrument_is_called(start: Start, sink: Sink, tmp_path: Path, when: str) -> None:
    write(tmp_path / "late.py", WHEN[when])
    done = start(PYTHON, "-W", "ignore", "late.py")
    assert (done.stdout, done.returncode) == ("hello\n", 0), done.stderr
    assert ours(sink.spans) == EXPECTED


def test_a_keyword_that_does_not_exist_is_pythons_own_error() -> None:
    import spanwise

    with pytest.raises(TypeError, match="capture_contents"):
        spanwise.instrument(capture_contents=True)  # type: ignore[call-arg] # which is the mistake


@pytest.mark.parametrize(("left_out", "gone"), [("openai", "chat m"), ("httpx", "POST"), ("mcp", None)])
def test_a_part_can_be_left_out(start: Start, sink: Sink, tmp_path: Path, left_out: str, gone: str | None) -> None:
    write(
        tmp_path / "part.py",
        f"import spanwise\nspanwise.instrument({left_out}=False)\nimport agent\nprint(agent.ask())\n",
    )
    assert start(PYTHON, "part.py").stdout == "hello\n"
    everything = {"chat m", "invoke_agent shop", "POST"}
    assert {span.name for span in sink.spans} == everything - {gone}


def test_excluded_addresses_make_no_spans(start: Start, sink: Sink) -> None:
    assert start(*SPANWISE, PYTHON, "agent.py", OTEL_PYTHON_HTTPX_EXCLUDED_URLS="chat/completions").stdout == "hello\n"
    assert [span.name for span in sink.spans if span.name == "POST"] == []
    assert ours(sink.spans) == EXPECTED
