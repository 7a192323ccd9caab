-- What SQL from outside may read (docs/sql.md). Made anew on the cursor of each query, so the file knows nothing of it.
-- A time may lie beyond what a timestamp holds; then the timestamp is null and only the number of nanoseconds is there.

CREATE TEMP VIEW copies AS
SELECT
    seq,
    lower(hex(trace_id)) AS trace_id,
    lower(hex(span_id)) AS span_id,
    nullif(nullif(lower(hex(parent_id)), ''), '0000000000000000') AS parent_id,
    name,
    ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'][coalesce(kind, 0) + 1] AS kind,
    ['unset', 'ok', 'error'][coalesce(status_code, 0) + 1] AS status,
    status_message,
    make_timestamp_ns(try_cast(start_ns AS BIGINT)) AS started,
    start_ns,
    end_ns,
    duration_ns,
    service,
    conversation_id,
    turn,
    operation,
    model,
    tool,
    agent,
    step,
    mcp_method,
    mcp_server,
    error_type,
    input_tokens,
    output_tokens,
    cached_tokens,
    attributes
FROM {file}.spans;

-- Of a span that was delivered more than once the most complete copy counts, as everywhere else.
CREATE TEMP VIEW spans AS
SELECT * FROM copies
QUALIFY row_number() OVER (
    PARTITION BY trace_id, span_id ORDER BY end_ns DESC, start_ns, len(attributes) DESC, seq DESC
) = 1;

CREATE TEMP VIEW conversations AS
SELECT
    conversation_id,
    service,
    agent,
    make_timestamp_ns(started_ns) AS started,
    started_ns,
    ended_ns,
    active_ns,
    turns,
    status,
    dominant_stage,
    dominant_ns,
    recommendation,
    models,
    tools,
    servers
FROM {file}.ledgers;

CREATE TEMP VIEW segments AS
SELECT
    ledger.conversation_id,
    segment.turn,
    nullif(segment.trace_id, '') AS trace_id,
    nullif(segment.span_id, '') AS span_id,
    segment.stage,
    make_timestamp_ns(segment.start_ns) AS started,
    segment.start_ns,
    segment.ns AS duration_ns,
    segment.model,
    segment.tool,
    segment.server,
    segment.agent,
    coalesce(segment.service, ledger.service) AS service
FROM {file}.segments AS segment JOIN {file}.ledgers AS ledger ON ledger.id = segment.ledger;

CREATE TEMP VIEW stages AS
SELECT conversation_id, stage, sum(duration_ns)::BIGINT AS duration_ns, count(*) AS segments
FROM segments
GROUP BY conversation_id, stage;

CREATE TEMP VIEW batches AS
SELECT seq, make_timestamp_ns(arrived_ns) AS arrived, arrived_ns, spans FROM {file}.batches;

-- Of a repeated key the last one counts. The text is the same whether 3 was sent as a number or as a string.
CREATE TEMP MACRO attr(attributes, wanted) AS
list_filter(attributes, lambda one: one.key = wanted)[-1].text;

CREATE TEMP MACRO attr_number(attributes, wanted) AS
try_cast(list_filter(attributes, lambda one: one.key = wanted)[-1].text AS DOUBLE);

CREATE TEMP MACRO has_attr(attributes, wanted) AS
len(list_filter(attributes, lambda one: one.key = wanted)) > 0;

CREATE TEMP MACRO attr_type(attributes, wanted) AS
['none', 'string', 'bool', 'int', 'double', 'array', 'map', 'bytes'][
    list_filter(attributes, lambda one: one.key = wanted)[-1].type + 1
];
