-- Why requests of players were refused, for operators. Replicas write it a second later, outside of the requests: see internal/refusals.
--
-- A row stands for all refusals of a player in one hour, by one call and with one code, so that a client that tries again and again makes no
-- further rows. The region is not first: that of a refused request may not exist, and an operator looks for a player.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE player_refusals (
    sub        text COLLATE "C" NOT NULL,
    hour       timestamptz NOT NULL,
    call       text COLLATE "C" NOT NULL,
    code       text COLLATE "C" NOT NULL,
    region     text NOT NULL,
    mode       text NOT NULL,
    detail     text NOT NULL,
    request_id text NOT NULL,
    times      bigint NOT NULL,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (sub, hour, call, code),
    CONSTRAINT a_refusal_happened_at_least_once CHECK (times > 0),
    CONSTRAINT the_first_refusal_is_not_after_the_last CHECK (first_at <= last_at)
) PARTITION BY RANGE (hour);
CREATE TABLE player_refusals_default PARTITION OF player_refusals DEFAULT;
SELECT ensure_day_partitions('player_refusals', 7) FROM generate_series(0, 7); -- a day a call

CREATE VIEW ops.refusals AS
SELECT sub AS player, call, code, detail, nullif(region, '') AS region, nullif(mode, '') AS mode, times, first_at, last_at,
       nullif(request_id, '') AS request_id, hour
FROM player_refusals;
COMMENT ON VIEW ops.refusals IS 'Why requests of players were refused: a row for the refusals of a player in one hour, by one call and with one code. Replicas write it about a second later, and workers drop it after a week. While very many players are refused at a time, a replica records only some of them.';
COMMENT ON COLUMN ops.refusals.player IS 'The sub of the access token. Requests without a valid token are not recorded.';
COMMENT ON COLUMN ops.refusals.call IS 'What was called: a method and path of the API, ''bevygap'', or ''lobby'' and the type of the message.';
COMMENT ON COLUMN ops.refusals.code IS 'The code of the answer. For the API, /docs describes it.';
COMMENT ON COLUMN ops.refusals.detail IS 'What the latest answer said.';
COMMENT ON COLUMN ops.refusals.region IS 'The region that the latest request named; NULL: none.';
COMMENT ON COLUMN ops.refusals.mode IS 'The mode that the latest request named; NULL: none.';
COMMENT ON COLUMN ops.refusals.times IS 'How often, about: a statement whose answer was lost counts twice.';
COMMENT ON COLUMN ops.refusals.first_at IS 'When the first of them was refused.';
COMMENT ON COLUMN ops.refusals.last_at IS 'When the latest was refused.';
COMMENT ON COLUMN ops.refusals.request_id IS 'The request id of the latest, which finds it in the log; NULL: the call has none.';
COMMENT ON COLUMN ops.refusals.hour IS 'The hour in which they were refused, in UTC. The table is partitioned by it.';

-- As in 00017, for these tables as well.
CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, coalesce(sum(h.last_day - h.first_day + 1), 0)::bigint AS days, min(h.first_day) AS first_day, max(h.last_day) AS last_day,
       (SELECT min(e.day) - (statement_timestamp() AT TIME ZONE 'UTC')::date FROM (
            SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - 1 AS day
            UNION SELECT c.last_day FROM history_partitions(t.oid) c WHERE c.last_day >= (statement_timestamp() AT TIME ZONE 'UTC')::date) e
        WHERE NOT EXISTS (SELECT FROM history_partitions(t.oid) o WHERE e.day + 1 BETWEEN o.first_day AND o.last_day)) AS days_ahead,
       coalesce(pg_relation_size(p.partdefid), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.oid
LEFT JOIN history_partitions(t.oid) h ON true
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass, 'ticket_events'::regclass,
                'match_history'::regclass, 'ticket_history'::regclass, 'deployment_history'::regclass, 'player_refusals'::regclass)
GROUP BY t.oid, t.relname, p.partdefid;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, coalesce(sum(h.last_day - h.first_day + 1), 0)::bigint AS days, min(h.first_day) AS first_day, max(h.last_day) AS last_day,
       (SELECT min(e.day) - (statement_timestamp() AT TIME ZONE 'UTC')::date FROM (
            SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - 1 AS day
            UNION SELECT c.last_day FROM history_partitions(t.oid) c WHERE c.last_day >= (statement_timestamp() AT TIME ZONE 'UTC')::date) e
        WHERE NOT EXISTS (SELECT FROM history_partitions(t.oid) o WHERE e.day + 1 BETWEEN o.first_day AND o.last_day)) AS days_ahead,
       coalesce(pg_relation_size(p.partdefid), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.oid
LEFT JOIN history_partitions(t.oid) h ON true
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass, 'ticket_events'::regclass,
                'match_history'::regclass, 'ticket_history'::regclass)
GROUP BY t.oid, t.relname, p.partdefid;
DROP VIEW ops.refusals;
DROP TABLE player_refusals;
