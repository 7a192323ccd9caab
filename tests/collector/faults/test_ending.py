"""The server is told to end while it is sent spans, and shares its file with nobody."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.collector.faults.load import Load, loading, request
from tests.collector.faults.served import PATIENCE_S, Served, begin, held, serving, until

_HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"

_FINE = {"store": None, "memory": None, "draining": None}


def test_told_to_end_under_load_it_says_so_answers_what_it_took_and_ends_in_order(tmp_path: Path) -> None:
    db = tmp_path / "spans.db"
    with serving(db) as server, loading(server) as load:
        load.more()
        half = _Half(server, load)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.readiness() == (503, {**_FINE, "draining": "the server was told to end"}), "draining")
        assert half.finished() == 200
        assert server.process.wait(20) == 0
        load.stop()
    counts = load.counts(held(db))
    assert counts.missing == 0
    assert "Traceback" not in server.said


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    db = tmp_path / "spans.db"
    with serving(db) as server, loading(server) as load:
        load.more(5)
        half = _Half(server, load)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.readiness()[0] == 503, "draining")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(2) == -signal.SIGTERM
        half.close()
        load.stop()
    assert load.counts(held(db)).missing == 0


@pytest.mark.soak
def test_a_second_server_says_in_one_line_who_owns_the_file_and_the_first_goes_on(tmp_path: Path) -> None:
    db = tmp_path / "spans.db"
    with serving(db) as server, loading(server) as load:
        load.more(5)
        second = subprocess.run(server.command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        said = f"spanwise serve: {db} is in use by another process; one process owns the file\n"
        assert (second.returncode, second.stdout, second.stderr) == (1, "", said)
        with pytest.raises(duckdb.IOException, match="lock"):
            duckdb.connect(str(db), read_only=True)
        load.more(5)
        load.stop()
        server.kill()
    assert load.counts(held(db)).missing == 0


@pytest.mark.soak
def test_after_a_crash_another_process_may_take_the_file_first(tmp_path: Path) -> None:
    """Nothing is lost by it: the server says who has the file, and starts when it is free."""
    db = tmp_path / "spans.db"
    with serving(db, alone=True) as server, loading(server) as load:
        load.more(5)
        server.kill()
        with subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            refused = subprocess.run(server.command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            holder.communicate("")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
        load.server = begin(db, alone=True)
        load.more(5)
        load.stop()
    load.server.kill()
    assert load.counts(held(db)).missing == 0


class _Half:
    """A request of which the second half is still to come; it keeps the server from ending."""

    def __init__(self, server: Served, load: Load) -> None:
        self._load, self._number = load, load.number()
        self._body = request(self._number)
        self._connection = http.client.HTTPConnection(server.http, timeout=PATIENCE_S)
        self._connection.putrequest("POST", "/v1/traces")
        self._connection.putheader("Content-Type", "application/x-protobuf")
        self._connection.putheader("Content-Length", str(len(self._body)))
        self._connection.endheaders()
        self._connection.send(self._body[:100])

    def finished(self) -> int:
        """Send the other half; the status of the answer."""
        self._connection.send(self._body[100:])
        status = self._connection.getresponse().status
        self.close()
        if status == http.client.OK:
            self._load.acknowledged.add(self._number)
        return status

    def close(self) -> None:
        """Give it up."""
        self._connection.close()
