"""``POST /api/v1/query``: what SQL may read, and that it may do nothing else."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import duckdb
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from spanwise_collector.store import Busy, Exhausted, QueryLimits, Store
from spanwise_collector.store.views import MACROS, VIEWS

LIMIT_S = 30


class Answer(NamedTuple):
    """What came back."""

    status: int
    media_type: str
    json: Any

    @property
    def rows(self) -> list[list[Any]]:
        """Of a query that was answered."""
        assert self.status == 200, self.json
        found: list[list[Any]] = self.json["rows"]
        return found


Ask: TypeAlias = Callable[..., Answer]


def asked(running: Any, document: Any, **headers: str) -> Answer:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    given = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(running.addresses["api"] + "/api/v1/query", body, given)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:  # noqa: S310
            return Answer(answer.status, answer.headers.get_content_type(), json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers.get_content_type(), json.load(error))


@pytest.fixture(scope="module")
def running(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start(tmp_path_factory.mktemp("sql") / "spans and 'quotes'.duckdb", SPANWISE_SQL="1")


@pytest.fixture
def ask(running: Any) -> Ask:
    def send(sql: str, **more: Any) -> Answer:
        return asked(running, {"sql": sql, **more})

    return send


def test_without_being_wanted_there_is_no_sql(server: Any) -> None:
    assert asked(server, {"sql": "SELECT 1"}).status == 404


def test_a_query_answers_columns_types_and_rows(ask: Ask) -> None:
    found = ask("SELECT 1 AS one, 'a' AS text, NULL AS nothing, [1, 2] AS list, {'x': true} AS pair")
    columns = [(column["name"], column["type"]) for column in found.json["columns"]]
    assert [("one", "INTEGER"), ("text", "VARCHAR"), ("nothing", '"NULL"')] == columns[:3]
    assert ([[1, "a", None, [1, 2], {"x": True}]], False) == (found.rows, found.json["truncated"])


def test_values_that_json_would_change_come_as_text(ask: Ask) -> None:
    found = ask(
        "SELECT 9007199254740991, 9007199254740992, -9007199254740993, 'nan'::DOUBLE, 'infinity'::DOUBLE,"
        " 1.5::DECIMAL(3, 1), '\\x01\\xFF'::BLOB, TIMESTAMP '2026-11-30 20:00:00.5', DATE '2026-11-30', INTERVAL 1 DAY"
    )
    expected = [9007199254740991, "9007199254740992", "-9007199254740993", "nan", "inf", "1.5", "01ff"]
    assert [*expected, "2026-11-30T20:00:00.500000", "2026-11-30", "1 day, 0:00:00"] == found.rows[0]


def test_views_say_what_the_api_says(ask: Ask, running: Any, conversation: Callable[..., Any]) -> None:
    running.send(conversation("sql-1", "51a1"))
    running.send(conversation("sql-1", "51a1"))  # delivered again
    said = running.get("/api/v1/conversations/sql-1").json
    mine = {"parameters": {"id": "sql-1"}}
    stages = ask("SELECT stage, duration_ns FROM stages WHERE conversation_id = $id ORDER BY 2 DESC, 1", **mine)
    assert {row["stage"]: row["ms"] for row in said["stages"]} == {stage: ns / 1e6 for stage, ns in stages.rows}
    (row,) = ask(
        "SELECT active_ns, turns, service, started FROM conversations WHERE conversation_id = $id", **mine
    ).rows
    assert [said["active_ms"] * 1e6, 1, "shop"] == row[:3]
    assert said["started_at"].startswith(row[3])
    assert [[1000.0]] == ask("SELECT sum(duration_ns) / 1e6 FROM segments WHERE conversation_id = $id", **mine).rows
    trace = {"parameters": {"id": "51a1".zfill(32)}}
    assert [[6]] == ask("SELECT count(*) FROM copies WHERE trace_id = $id", **trace).rows
    spans = ask("SELECT name, kind, parent_id, model FROM spans WHERE trace_id = $id ORDER BY span_id", **trace)
    root = "1".zfill(16)
    assert [
        ["invoke_agent support", "internal", None, None],
        ["chat small", "client", root, "small"],
        ["tools/call lookup", "client", root, None],
    ] == spans.rows
    assert ask("SELECT max(seq), sum(spans) FROM batches").rows[0][0] >= 2


def test_an_attribute_whose_type_varies_is_found_by_its_text(
    ask: Ask, running: Any, conversation: Callable[..., Any]
) -> None:
    def sent(number: int, **attributes: Any) -> None:
        built = conversation("retries", f"4e74{number}", service="retries")
        del built.scope_spans[0].spans[1:]
        for key, value in attributes.items():
            kind = {int: "int_value", str: "string_value", bool: "bool_value"}[type(value)]
            built.scope_spans[0].spans[0].attributes.add(key=key, value=AnyValue(**{kind: value}))
        running.send(built)

    def count(condition: str) -> int:
        (row,) = ask(f"FROM spans SELECT count(*) WHERE service = 'retries' AND {condition}").rows
        return int(row[0])

    values: list[dict[str, Any]] = [{"retry": 3}, {"retry": "3"}, {"retry": "many"}, {}]
    for number, attributes in enumerate(values, start=1):
        sent(number, **attributes)
    three, many = "attr(attributes, 'retry') = '3'", "attr(attributes, 'retry') = 'many'"
    assert [2, 1, 3] == [count(each) for each in (three, many, "has_attr(attributes, 'retry')")]
    assert [2, 2, 1] == [
        count(each)
        for each in (
            "attr_number(attributes, 'retry') > 2",
            "attr_type(attributes, 'retry') = 'string'",
            "NOT has_attr(attributes, 'retry')",
        )
    ]
    sent(5, retry=True)
    assert [2, 1, 4, 1] == [
        count(each) for each in (three, many, "has_attr(attributes, 'retry')", "attr(attributes, 'retry') = 'true'")
    ]
    refused = ask("SELECT count(*) FROM spans WHERE attr(attributes, 'retry') = 3")
    assert (422, True) == (refused.status, "Could not convert string 'many'" in refused.json["detail"])


FORBIDDEN = [
    "SELECT * FROM '{file}'",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_version()",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('spans')",
    "SELECT * FROM json_execute_serialized_sql('x')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM ledgers",
    "SELECT * FROM main.spans",
    "SELECT * FROM temp.spans",
    "SELECT * FROM system.main.duckdb_tables",
    "SELECT * FROM (DESCRIBE spans)",
    "SHOW TABLES",
    "SUMMARIZE spans",
    "SELECT getenv('HOME')",
    "SELECT current_setting('threads')",
    "SELECT main.attr(attributes, 'x') FROM spans",
    "SELECT system.main.upper('a')",
    "SELECT nextval('x')",
    "SELECT txid_current()",
    "SELECT write_log('x')",
    "SELECT repeat('x', 2000000000)",
    "SELECT replace('a', 'a', 'b')",
    "SELECT range(100000000000)",
    "SELECT list_transform([1], lambda x: x)",
    "SELECT 'x'::regclass",
    "COPY spans TO '{file}'",
    "COPY (SELECT 1) TO '{file}'",
    "EXPORT DATABASE '{file}'",
    "ATTACH '{file}' AS other",
    "DETACH other",
    "USE other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET threads = 1",
    "RESET threads",
    "CALL pragma_version()",
    "CREATE TABLE x (a INT)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "DROP TABLE spans",
    "INSERT INTO spans VALUES (1)",
    "UPDATE spans SET name = ''",
    "DELETE FROM spans",
    "TRUNCATE spans",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "COMMIT",
    "EXPLAIN SELECT 1",
    "PREPARE x AS SELECT 1",
    "EXECUTE x",
    "WITH gone AS (DELETE FROM spans RETURNING *) SELECT * FROM gone",
    "WITH gone AS (INSERT INTO batches VALUES (1, 1, 1) RETURNING *) SELECT * FROM gone",
    'WITH "{file}" AS (SELECT * FROM "{file}") SELECT * FROM "{file}"',
    "WITH later AS (SELECT * FROM ledgers), ledgers AS (SELECT 1) SELECT * FROM later",
    "SELECT * FROM (WITH ledgers AS (SELECT 1) SELECT 1), ledgers",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE spans",
    "SELECT 1 /* ; */ ; -- \nDELETE FROM spans",
    "SELECT 1) UNION (SELECT 2",
    "",
    ";",
    "-- nothing",
    "SELECT '\ud800'",
    "SELECT " + "[" * 5000 + "]" * 5000,
    "SELECT 1 FROM range(1)" + ", range(1)" * 60,
    "SELECT " + "1 + " * 2000 + "1",
]


@pytest.mark.parametrize("sql", FORBIDDEN, ids=lambda sql: ascii(sql[:40]))
def test_nothing_but_a_select_over_the_views_is_run(ask: Ask, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\nswordfish\n")
    found = ask(sql.format(file=file) if "{file}" in sql else sql)
    assert (422, "application/problem+json") == (found.status, found.media_type)
    assert "swordfish" not in json.dumps(found.json)
    assert ["secret.csv"] == [each.name for each in tmp_path.iterdir()]
    assert file.read_text() == "a\nswordfish\n"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH ledgers AS (FROM ledgers) FROM ledgers",
        "WITH RECURSIVE ledgers AS (FROM ledgers) FROM ledgers",
        "WITH later AS (FROM ledgers), ledgers AS (SELECT 1) FROM later",
        "FROM (WITH ledgers AS (SELECT 1) FROM ledgers), ledgers",
    ],
)
def test_a_name_behind_with_stands_for_its_query_only_where_it_does_for_the_engine(ask: Ask, sql: str) -> None:
    assert "there is no table 'ledgers'" in ask(sql).json["detail"]
    assert [[1]] == ask("WITH ledgers AS (SELECT 1), b AS (FROM ledgers) FROM b").rows
    assert [[3]] == ask(
        "WITH RECURSIVE t AS (SELECT 1 a UNION ALL SELECT a + 1 FROM t WHERE a < 3) SELECT max(a) FROM t"
    ).rows


def test_a_statement_that_slips_through_is_stopped_by_the_engine(store: Store, tmp_path: Path) -> None:
    """The second wall: everything that ``permit`` refuses, run on the very cursor that queries get."""
    from spanwise_collector.store import query

    (tmp_path / "secret.csv").write_text("a\nswordfish\n")
    forbidden = {
        f"FROM '{tmp_path / 'secret.csv'}'": "disabled by configuration",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'": "disabled by configuration",
        f"ATTACH '{tmp_path / 'x.db'}'": "disabled by configuration",
        "INSTALL httpfs": "disabled",
        "WITH x AS (DELETE FROM spanwise.main.batches RETURNING *) FROM x": "read-only",
    }
    for sql, words in forbidden.items():
        with store._database.cursors.fresh() as cursor:
            query._prepare(cursor)
            with pytest.raises(duckdb.Error, match=words):
                cursor.execute(sql)
    assert ["secret.csv"] == [each.name for each in tmp_path.iterdir() if not each.name.startswith("spans.db")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(tmp_path / "spans.db")
    yield found
    found.close()


BOMBS = [
    ("SELECT count(*) FROM range(1000000) a, range(1000000) b", "over 0.5 s"),
    ("WITH RECURSIVE t AS (SELECT 1 a UNION ALL SELECT a + 1 FROM t) SELECT max(a) FROM t", "over 0.5 s"),
    ("WITH RECURSIVE t AS (SELECT 'a' s UNION ALL SELECT s || s FROM t) SELECT max(len(s)) FROM t", "over 32 MiB"),
    ("SELECT list(a.range) FROM range(100000) a, range(1000)", "over 32 MiB"),
    ("SELECT a.range FROM range(100000) a, range(1000) b ORDER BY a.range * b.range DESC", "over 32 MiB"),
    ("SELECT count(DISTINCT a.range * 100000 + b.range) FROM range(100000) a, range(1000) b", "over 32 MiB"),
    ("SELECT s || s || s FROM (SELECT string_agg('x', '') s FROM range(1000000))", "the first row is over"),
]


@pytest.mark.parametrize(("sql", "words"), BOMBS)
def test_a_query_that_takes_too_much_ends_and_the_next_one_is_answered(store: Store, sql: str, words: str) -> None:
    limits = QueryLimits(seconds=0.5 if "over 0.5" in words else 20, memory_bytes=32 * 2**20, answer_bytes=2**20)
    queries = store.queries(limits)
    with pytest.raises(Exhausted, match=words):
        queries.run(sql, {}, limit=10)
    assert [(1,)] == queries.run("SELECT 1", {}, limit=10).rows
    queries.close()


def test_spans_are_taken_in_while_a_query_runs_and_one_query_too_many_is_told_so(
    store: Store, conversation: Callable[..., Any]
) -> None:
    queries = store.queries(QueryLimits(seconds=1.5, concurrent=1, patience_s=0.1))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(queries.run, BOMBS[0][0], {}, limit=1)
        while queries._free.acquire(blocking=False):  # until it runs
            queries._free.release()
        taken = [
            store.submit(ExportTraceServiceRequest(resource_spans=[conversation("c", "1")]).SerializeToString())
            for _ in range(20)
        ]
        assert [3] * 20 == [each.result(LIMIT_S).spans for each in taken]
        with pytest.raises(Busy, match="1 queries are running already"):
            queries.run("SELECT 1", {}, limit=1)
        assert not slow.done()
        with pytest.raises(Exhausted):
            slow.result(LIMIT_S)
    queries.close()


def test_the_page_about_sql_names_every_column_and_macro(ask: Ask) -> None:
    page = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| `([a-z_ ]+)` \|$", page, re.MULTILINE))
    assert set(told) == VIEWS - {"copies"}
    for view, columns in told.items():
        assert columns.split() == [column["name"] for column in ask(f"FROM {view}", limit=1).json["columns"]]
    assert all(f"| `{name}(attributes, 'retry')` |" in page for name in MACROS)


def test_the_limit_cuts_and_says_so(ask: Ask) -> None:
    cut, whole = ask("SELECT * FROM range(5)", limit=4), ask("SELECT * FROM range(5)", limit=5)
    assert ([[0], [1], [2], [3]], True) == (cut.rows, cut.json["truncated"])
    assert (5, False) == (len(whole.rows), whole.json["truncated"])


def test_parameters_are_values_and_never_sql(ask: Ask) -> None:
    evil = "'; DROP TABLE spans; --"
    values = {"text": evil, "whole": 2**62, "half": 0.5, "yes": True, "none": None}
    found = ask("SELECT $text, $whole, $half, $yes, $none", parameters=values)
    assert [[evil, str(2**62), 0.5, True, None]] == found.rows


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("SELECT 1 FROM from", "sql: line 1, column 15: syntax error"),
        ("SELECT 'é',\n  nope FROM spans", 'sql: line 2, column 3: Binder Error: Referenced column "nope" not found'),
        ("SELECT\n\n  getenv('A')", "sql: line 3, column 3: the function getenv is not allowed"),
        ("SELECT 'é', x FROM nowhere", "sql: line 1, column 20: there is no table 'nowhere'; there are batches,"),
        ("SELECT " + "1, " * 300 + "nope FROM spans", "sql: line 1, column 908: Binder Error"),
        ("SELECT $missing", "sql: Invalid Input Error: Values were not provided"),
    ],
)
def test_an_error_names_its_place(ask: Ask, sql: str, where: str) -> None:
    found = ask(sql)
    assert (422, "sql") == (found.status, found.json["errors"][0]["parameter"])
    assert found.json["detail"].startswith(where)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[",
        {},
        {"sql": 1},
        {"sql": "SELECT 1", "more": 1},
        {"sql": "SELECT 1", "limit": 0},
        {"sql": "SELECT 1", "limit": 10_001},
        {"sql": "x" * 16_385},
        {"sql": "SELECT 1", "parameters": {"a b": 1}},
        {"sql": "SELECT 1", "parameters": {"a": [1]}},
        {"sql": "SELECT $a", "parameters": {"a": 2**200}},
        {"sql": "SELECT $a", "parameters": {"a": "\ud800"}},
        {"sql": "SELECT $a", "parameters": {}},
        {"sql": "SELECT 1", "parameters": {"a": 1}},
    ],
    ids=lambda document: ascii(document)[:50],
)
def test_a_question_that_cannot_be_meant_is_a_problem(running: Any, document: Any) -> None:
    found = asked(running, document)
    assert (422, "application/problem+json") == (found.status, found.media_type)


def test_a_page_of_another_origin_cannot_ask(running: Any) -> None:
    foreign = {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}
    assert [403] * 3 == [asked(running, {"sql": "SELECT 1"}, **headers).status for headers in foreign]
    assert asked(running, {"sql": "SELECT 1"}, Origin=running.addresses["api"]).status == 200
