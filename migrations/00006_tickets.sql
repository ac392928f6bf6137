-- Tickets: the queue, the settled ones, backfills, and the cycles in which replicas agree on matches.
--
-- Every transaction locks rows in this order, and within a table in the order of the primary key: match_cycles, backfills,
-- tickets, settled_tickets, backfill_tickets, match_proposals.

-- +goose Up

-- The queue. A row is deleted when its ticket is assigned, deleted or expired, so the table stays as small as the queue. Most
-- rows are updated once, when they are matched (pending_at), together with all rows of their page. So half of each page is
-- left free, which makes these HOT updates.
CREATE TABLE tickets (
    region      text NOT NULL,
    id          text COLLATE "C" NOT NULL,
    created     bigint NOT NULL,      -- create_time, nanoseconds since 1970
    terms       uuid[] NOT NULL,      -- a hash of each tag, and of each string with its name
    double_keys uuid[] NOT NULL,      -- a hash of each double's name
    doubles     float8[] NOT NULL,
    body        bytea NOT NULL,       -- openmatch.Ticket, without assignment
    pending_at  timestamptz,          -- when it was matched; once pending_for has passed, the ticket is free again
    matched_in  bytea,                -- the cycle's id, 16 bytes, and the match_id of that match
    expires_at  timestamptz,          -- null: never
    kept_alive  interval,             -- how long after a keep-alive it expires; null: keep-alives do not change expires_at
    player      text,                 -- may have one live ticket; null: no limit
    PRIMARY KEY (region, id)
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
ALTER TABLE tickets ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX tickets_by_term ON tickets USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 512);
CREATE UNIQUE INDEX a_player_has_one_live_ticket ON tickets (region, player) WHERE player IS NOT NULL;
CREATE INDEX tickets_to_expire ON tickets (expires_at) WHERE expires_at IS NOT NULL;

-- Settled tickets: assigned ones, and the ids of deleted ones, both until assigned_for has passed.
CREATE TABLE settled_tickets (
    region      text NOT NULL,
    id          text COLLATE "C" NOT NULL,
    body        bytea,                -- null: deleted
    assignment  bytea,                -- openmatch.Assignment
    settled_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    tx          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (region, id),
    CONSTRAINT an_assigned_ticket_is_whole CHECK ((body IS NULL) = (assignment IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE settled_tickets ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX settled_tickets_in_commit_order ON settled_tickets (region, tx);

CREATE TABLE backfills (
    region      text NOT NULL,
    id          text COLLATE "C" NOT NULL,
    created     bigint NOT NULL,
    generation  bigint NOT NULL,
    terms       uuid[] NOT NULL,
    double_keys uuid[] NOT NULL,
    doubles     float8[] NOT NULL,
    body        bytea NOT NULL,       -- openmatch.Backfill, without generation
    acked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, id),
    CONSTRAINT a_backfill_counts_its_changes CHECK (generation >= 1)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE backfills ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX backfills_by_term ON backfills USING gin (terms);

-- A ticket is matched into one backfill at a time.
CREATE TABLE backfill_tickets (
    region      text NOT NULL,
    ticket_id   text COLLATE "C" NOT NULL,
    backfill_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (region, ticket_id)
);
CREATE INDEX tickets_of_backfill ON backfill_tickets (region, backfill_id);

-- The state that replicas share during a cycle. It is unlogged: a crash of Postgres ends all calls, so nobody needs it then.
CREATE UNLOGGED TABLE match_cycles (
    region           text NOT NULL,
    id               uuid NOT NULL,
    owner            uuid NOT NULL,
    lease_until      timestamptz NOT NULL,
    state            text NOT NULL DEFAULT 'registering',
    registers_until  timestamptz NOT NULL,
    collects_until   timestamptz NOT NULL,
    failure          text,
    ended_at         timestamptz,
    PRIMARY KEY (region, id),
    CONSTRAINT a_cycle_registers_collects_evaluates_and_ends CHECK (state IN ('registering', 'collecting', 'evaluating', 'ended'))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX one_cycle_runs_at_a_time ON match_cycles (region) WHERE state <> 'ended';

CREATE UNLOGGED TABLE match_callers (
    region    text NOT NULL,
    cycle     uuid NOT NULL,
    id        uuid NOT NULL,
    replica   uuid NOT NULL,
    seen_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    proposing boolean NOT NULL DEFAULT true,
    PRIMARY KEY (region, cycle, id)
) WITH (fillfactor = 50);

-- Proposals of callers whose replica does not own the cycle.
CREATE UNLOGGED TABLE match_proposals (
    region    text NOT NULL,
    cycle     uuid NOT NULL,
    caller    uuid NOT NULL,
    seq       integer NOT NULL,       -- the caller's first is 1
    match_id  bytea NOT NULL,         -- bytea, since a client's string may contain bytes that text rejects
    score     float8,
    tickets   bytea NOT NULL,         -- ids, each with its length before it
    backfill  bytea,                  -- id, generation and body of its openmatch.Backfill, where there is one
    match     bytea,                  -- openmatch.Match, only for a custom evaluator
    accepted  boolean,                -- null: not decided yet
    created_backfill text,            -- the id of the backfill that was created for it
    backfill_created bigint,
    PRIMARY KEY (region, cycle, caller, seq)
) WITH (fillfactor = 70);

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals']::regclass[]
$$;

-- The regions that have tickets or backfills. Each step finds the next region by an index, however many tickets there are.
CREATE FUNCTION ticket_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    (WITH RECURSIVE r AS (
        (SELECT region FROM tickets ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM settled_tickets ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM settled_tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM backfills ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM backfills n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;

CREATE VIEW ops.queue AS
SELECT region, count(*) AS tickets, count(*) FILTER (WHERE pending_at IS NOT NULL) AS matched,
       coalesce(extract(epoch FROM clock_timestamp()) - min(created) / 1e9, 0)::float8 AS oldest_seconds
FROM tickets GROUP BY region;
COMMENT ON VIEW ops.queue IS 'Tickets that wait, how many of them are in a match that was proposed to a director, and the age of the oldest.';

CREATE VIEW ops.assignments AS
SELECT region, count(*) FILTER (WHERE body IS NOT NULL) AS assigned, count(*) FILTER (WHERE body IS NULL) AS deleted
FROM settled_tickets GROUP BY region;
COMMENT ON VIEW ops.assignments IS 'Tickets that wait no more and are still remembered: assigned ones, and the ids of those that were deleted.';

CREATE VIEW ops.backfills AS
SELECT b.region, b.id AS backfill, b.generation, b.acked_at, count(k.ticket_id) AS tickets
FROM backfills b LEFT JOIN backfill_tickets k ON k.region = b.region AND k.backfill_id = b.id
GROUP BY b.region, b.id, b.generation, b.acked_at;
COMMENT ON VIEW ops.backfills IS 'Game servers that look for more players, when they were last heard of, and how many tickets wait for them.';

CREATE VIEW ops.match_cycles AS
SELECT c.region, c.id AS cycle, c.owner AS replica, c.state, c.lease_until, c.registers_until, c.collects_until, c.ended_at, c.failure,
       (SELECT count(*) FROM match_callers k WHERE k.region = c.region AND k.cycle = c.id) AS callers
FROM match_cycles c;
COMMENT ON VIEW ops.match_cycles IS 'The cycle of FetchMatches that runs, which replica owns it, and those that ended in the last half minute.';

CREATE VIEW ops.invariant_ticket_in_two_places AS
SELECT t.region, t.id AS ticket FROM tickets t JOIN settled_tickets s ON s.region = t.region AND s.id = t.id;
COMMENT ON VIEW ops.invariant_ticket_in_two_places IS 'Tickets that are both queued and settled.';

CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places;

COMMENT ON COLUMN ops.queue.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.assignments.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.backfills.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.match_cycles.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.invariant_ticket_in_two_places.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.queue.tickets IS 'How many wait, matched ones too.';
COMMENT ON COLUMN ops.queue.matched IS 'How many of them are in a match: assigned soon, or free again after a while.';
COMMENT ON COLUMN ops.queue.oldest_seconds IS 'How long the oldest has waited.';
COMMENT ON COLUMN ops.assignments.assigned IS 'Tickets whose players can still ask where to play.';
COMMENT ON COLUMN ops.assignments.deleted IS 'Tickets that were taken out, remembered for as long.';
COMMENT ON COLUMN ops.backfills.backfill IS 'Its id.';
COMMENT ON COLUMN ops.backfills.generation IS 'Counts its changes.';
COMMENT ON COLUMN ops.backfills.acked_at IS 'When its game was last heard of.';
COMMENT ON COLUMN ops.backfills.tickets IS 'How many were matched into it since.';
COMMENT ON COLUMN ops.match_cycles.cycle IS 'Its id.';
COMMENT ON COLUMN ops.match_cycles.replica IS 'Which replica runs it.';
COMMENT ON COLUMN ops.match_cycles.state IS 'registering, collecting, evaluating, ended.';
COMMENT ON COLUMN ops.match_cycles.lease_until IS 'Another replica takes it over if its owner is not heard of until then.';
COMMENT ON COLUMN ops.match_cycles.registers_until IS 'Callers join until then.';
COMMENT ON COLUMN ops.match_cycles.collects_until IS 'Match functions are cut off then.';
COMMENT ON COLUMN ops.match_cycles.ended_at IS 'When it ended.';
COMMENT ON COLUMN ops.match_cycles.failure IS 'Why it failed for all of its callers.';
COMMENT ON COLUMN ops.match_cycles.callers IS 'How many joined.';
COMMENT ON COLUMN ops.invariant_ticket_in_two_places.ticket IS 'Its id.';

-- +goose Down
CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key;
DROP FUNCTION IF EXISTS ticket_regions;
DROP VIEW IF EXISTS ops.invariant_ticket_in_two_places, ops.match_cycles, ops.backfills, ops.assignments, ops.queue;
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys']::regclass[]
$$;
DROP TABLE match_proposals, match_callers, match_cycles, backfill_tickets, backfills, settled_tickets, tickets;
