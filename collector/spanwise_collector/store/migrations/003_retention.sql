-- What outlives the raw spans. frozen: spans of this conversation are gone, so its answer is the last one: it is never
-- computed again, and its segments have become hours.
ALTER TABLE ledgers ADD COLUMN frozen BOOLEAN DEFAULT false;

-- Active time of frozen conversations by the UTC hour in which a segment started (hours since 1970), a histogram: one row
-- per bucket of ns per conversation. Appended to and condensed later, so several rows of one key add up.
-- level says which of stage, model, tool and server the row is *not* told apart by (their GROUPING); those are null.
-- A conversation counts once per hour, service, agent and group of its level.
CREATE TABLE hours (
    hour BIGINT NOT NULL,
    level UTINYINT NOT NULL,
    stage VARCHAR,
    model VARCHAR,
    tool VARCHAR,
    server VARCHAR,
    service VARCHAR,
    agent VARCHAR,
    bucket SMALLINT NOT NULL,
    conversations BIGINT NOT NULL,
    segments BIGINT NOT NULL,
    ns HUGEINT NOT NULL
);
