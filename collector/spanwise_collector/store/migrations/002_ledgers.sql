-- The analyzer's account of each conversation, a cache that can always be computed again.
-- id grows with every save, so replacing a conversation finds its segments by their zone maps.
CREATE TABLE ledgers (
    id BIGINT NOT NULL,
    conversation_id VARCHAR NOT NULL,
    trace_id BLOB, -- set where the id looks like one
    seq BIGINT NOT NULL,
    service VARCHAR NOT NULL,
    agent VARCHAR,
    started_ns BIGINT NOT NULL,
    ended_ns BIGINT NOT NULL,
    active_ns BIGINT NOT NULL,
    turns INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    dominant_stage VARCHAR,
    dominant_ns BIGINT NOT NULL,
    recommendation VARCHAR,
    models VARCHAR[] NOT NULL,
    tools VARCHAR[] NOT NULL,
    servers VARCHAR[] NOT NULL,
    answer BLOB NOT NULL
);

CREATE TABLE segments (
    ledger BIGINT NOT NULL,
    turn INTEGER,
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL,
    ns BIGINT NOT NULL,
    model VARCHAR,
    tool VARCHAR,
    server VARCHAR,
    agent VARCHAR,
    service VARCHAR
);
