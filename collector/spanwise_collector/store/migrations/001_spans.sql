-- One row per commit: what a reader means by "up to batch n", and when it arrived.
CREATE TABLE batches (
    seq BIGINT NOT NULL,
    arrived_ns BIGINT NOT NULL,
    spans BIGINT NOT NULL
);

-- Resources and scopes are stored once by content: the serialized OTLP message, null where the sender set none.
CREATE TABLE resources (
    id BIGINT NOT NULL,
    body BLOB,
    schema_url VARCHAR NOT NULL
);

CREATE TABLE scopes (
    id BIGINT NOT NULL,
    body BLOB,
    schema_url VARCHAR NOT NULL
);

-- Every span as it came, redelivered ones too: appended only, ordered by seq, so a batch is found by its zone maps.
-- A primary key would cost more than everything else together; copies are told apart when they are read.
-- Times are raw and unsigned: compare them, never subtract them (UBIGINT 5 - 6 is an error); duration_ns is there.
CREATE TABLE spans (
    seq BIGINT NOT NULL,
    trace_id BLOB NOT NULL,
    span_id BLOB NOT NULL,
    parent_id BLOB NOT NULL,
    trace_state VARCHAR NOT NULL,
    flags UINTEGER NOT NULL,
    name VARCHAR NOT NULL,
    kind INTEGER NOT NULL,
    start_ns UBIGINT NOT NULL,
    end_ns UBIGINT NOT NULL,
    duration_ns BIGINT NOT NULL,
    status_code INTEGER,
    status_message VARCHAR,
    dropped_attributes UINTEGER NOT NULL,
    dropped_events UINTEGER NOT NULL,
    dropped_links UINTEGER NOT NULL,
    resource_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    attributes STRUCT("key" VARCHAR, "type" UTINYINT, "text" VARCHAR, body BLOB)[],
    events STRUCT(
        time_ns UBIGINT,
        name VARCHAR,
        attributes STRUCT("key" VARCHAR, "type" UTINYINT, "text" VARCHAR, body BLOB)[],
        dropped_attributes UINTEGER
    )[],
    links STRUCT(
        trace_id BLOB,
        span_id BLOB,
        trace_state VARCHAR,
        attributes STRUCT("key" VARCHAR, "type" UTINYINT, "text" VARCHAR, body BLOB)[],
        dropped_attributes UINTEGER,
        flags UINTEGER
    )[],
    service VARCHAR NOT NULL,
    conversation_id VARCHAR,
    operation VARCHAR,
    model VARCHAR,
    tool VARCHAR,
    agent VARCHAR,
    step VARCHAR,
    mcp_method VARCHAR,
    mcp_session VARCHAR,
    mcp_server VARCHAR,
    request_id VARCHAR,
    server_address VARCHAR,
    error_type VARCHAR,
    turn BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cached_tokens BIGINT
);

-- Which traces and conversations a batch touched, so that nobody scans spans to find out.
-- agentic: holds an agent, step, model or tool-call span; served: a tool call as an MCP server saw it.
CREATE TABLE touches (
    seq BIGINT NOT NULL,
    trace_id BLOB NOT NULL,
    conversation_id VARCHAR,
    start_ns UBIGINT NOT NULL,
    end_ns UBIGINT NOT NULL,
    spans BIGINT NOT NULL,
    agentic BOOLEAN NOT NULL,
    served BOOLEAN NOT NULL
);

-- MCP requests to join across traces: what clients sent, and what servers handled without a parent span. Where context
-- is propagated the second table is empty and joining costs nothing.
CREATE TABLE mcp_clients (
    seq BIGINT NOT NULL,
    trace_id BLOB NOT NULL,
    span_id BLOB NOT NULL,
    method VARCHAR NOT NULL,
    session VARCHAR,
    request_id VARCHAR NOT NULL,
    tool VARCHAR,
    address VARCHAR,
    server VARCHAR,
    service VARCHAR NOT NULL,
    start_ns UBIGINT NOT NULL,
    end_ns UBIGINT NOT NULL
);

CREATE TABLE mcp_servers (
    seq BIGINT NOT NULL,
    trace_id BLOB NOT NULL,
    span_id BLOB NOT NULL,
    method VARCHAR NOT NULL,
    session VARCHAR,
    request_id VARCHAR NOT NULL,
    tool VARCHAR,
    address VARCHAR,
    server VARCHAR,
    service VARCHAR NOT NULL,
    start_ns UBIGINT NOT NULL,
    end_ns UBIGINT NOT NULL
);
