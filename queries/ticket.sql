-- name: CreatePlainTickets :exec
-- Inserts tickets without a TTL and without a player, all or none. It fails when an id is in use, which is rare; CreateTickets
-- then inserts the others. ON CONFLICT, which looks for duplicates before each row, would cost a fifth of the insert.
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body)
SELECT @region, r.id, r.created, (@terms::uuid[])[r.terms_from:r.terms_to], (@double_keys::uuid[])[r.doubles_from:r.doubles_to],
       (@doubles::float8[])[r.doubles_from:r.doubles_to], r.body
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@bodies::bytea[]) AS body,
             unnest(@terms_from::int[]) AS terms_from, unnest(@terms_to::int[]) AS terms_to,
             unnest(@doubles_from::int[]) AS doubles_from, unnest(@doubles_to::int[]) AS doubles_to) r;

-- name: CreateTickets :many
-- Inserts tickets of any kind, and returns the ids of those inserted. A ticket whose id is in use, or whose player has a ticket,
-- is left out.
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body, expires_at, kept_alive, player)
SELECT @region, r.id, r.created, (@terms::uuid[])[r.terms_from:r.terms_to], (@double_keys::uuid[])[r.doubles_from:r.doubles_to],
       (@doubles::float8[])[r.doubles_from:r.doubles_to], r.body, now() + nullif(r.ttl, '0'), CASE WHEN r.keep_alive THEN nullif(r.ttl, '0') END, nullif(r.player, '')
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@bodies::bytea[]) AS body,
             unnest(@terms_from::int[]) AS terms_from, unnest(@terms_to::int[]) AS terms_to,
             unnest(@doubles_from::int[]) AS doubles_from, unnest(@doubles_to::int[]) AS doubles_to,
             unnest(@ttls::interval[]) AS ttl, unnest(@keep_alive::bool[]) AS keep_alive, unnest(@players::text[]) AS player) r
ORDER BY r.player, r.id -- an insert waits for an uncommitted ticket of the same player: in one order, so that none deadlock
ON CONFLICT DO NOTHING
RETURNING id;

-- name: QueryByTerms :many
-- Reads a small pool with strings or tags by their index, in no order, up to the row with which the rows reach @most bytes; the
-- pool may then have more. A row counts 32 bytes and its body. The first two ranges are written out: a loop over them takes
-- longer than everything else.
SELECT q.id, q.body FROM (
    SELECT t.id, (CASE WHEN @bodies::bool THEN t.body END)::bytea AS body,
           sum(32 + CASE WHEN @bodies::bool THEN octet_length(t.body) ELSE 0 END) OVER (ROWS UNBOUNDED PRECEDING) AS upto
    FROM tickets t
    WHERE t.region = @region AND t.terms @> @terms::uuid[] AND t.created > @created_after AND t.created < @created_before AND t.paused_at IS NULL
      AND (t.pending_at IS NULL OR t.pending_at <= statement_timestamp() - sqlc.arg(pending_for)::interval)
      AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
      AND t.double_keys @> @present::uuid[]
      AND (sqlc.narg(key1)::uuid IS NULL OR t.doubles[array_position(t.double_keys, sqlc.narg(key1)::uuid)] BETWEEN @low1::float8 AND @high1::float8)
      AND (sqlc.narg(key2)::uuid IS NULL OR t.doubles[array_position(t.double_keys, sqlc.narg(key2)::uuid)] BETWEEN @low2::float8 AND @high2::float8)
      AND (cardinality(@range_keys::uuid[]) = 0 OR NOT EXISTS (
        SELECT FROM (SELECT unnest(@range_keys::uuid[]) AS key, unnest(@lows::float8[]) AS low, unnest(@highs::float8[]) AS high) r
        WHERE NOT coalesce(t.doubles[array_position(t.double_keys, r.key)] BETWEEN r.low AND r.high, false)))
    LIMIT sqlc.arg(rows)::bigint
) q WHERE q.upto - 32 - coalesce(octet_length(q.body), 0) < sqlc.arg(most)::bigint;

-- name: QueryInOrder :many
-- Reads any pool in the order of the primary key, after the id @after, up to the row with which the rows reach @most bytes, which
-- are counted as in QueryByTerms. The condition on terms is phrased so that the planner does not choose their index: it would
-- find and sort all of a large pool for each part of it.
SELECT q.id, q.body FROM (
    SELECT t.id, (CASE WHEN @bodies::bool THEN t.body END)::bytea AS body,
           sum(32 + CASE WHEN @bodies::bool THEN octet_length(t.body) ELSE 0 END) OVER (ORDER BY t.id ROWS UNBOUNDED PRECEDING) AS upto
    FROM tickets t
    WHERE t.region = @region AND t.id > @after AND t.created > @created_after AND t.created < @created_before AND t.paused_at IS NULL
      AND (cardinality(@terms::uuid[]) = 0 OR t.terms @> @terms::uuid[])
      AND (t.pending_at IS NULL OR t.pending_at <= statement_timestamp() - sqlc.arg(pending_for)::interval)
      AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
      AND t.double_keys @> @present::uuid[]
      AND (sqlc.narg(key1)::uuid IS NULL OR t.doubles[array_position(t.double_keys, sqlc.narg(key1)::uuid)] BETWEEN @low1::float8 AND @high1::float8)
      AND (sqlc.narg(key2)::uuid IS NULL OR t.doubles[array_position(t.double_keys, sqlc.narg(key2)::uuid)] BETWEEN @low2::float8 AND @high2::float8)
      AND (cardinality(@range_keys::uuid[]) = 0 OR NOT EXISTS (
        SELECT FROM (SELECT unnest(@range_keys::uuid[]) AS key, unnest(@lows::float8[]) AS low, unnest(@highs::float8[]) AS high) r
        WHERE NOT coalesce(t.doubles[array_position(t.double_keys, r.key)] BETWEEN r.low AND r.high, false)))
    ORDER BY t.id LIMIT sqlc.arg(rows)::bigint
) q WHERE q.upto - 32 - coalesce(octet_length(q.body), 0) < sqlc.arg(most)::bigint ORDER BY q.id;

-- name: GetTickets :many
SELECT t.id, t.body, NULL::bytea AS assignment, NULL::timestamptz AS settled_at, coalesce(t.kept_alive, '0')::interval AS kept_alive FROM tickets t
WHERE t.region = @region AND t.id = ANY (@ids::text[]) AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
UNION ALL
SELECT s.id, s.body, s.assignment, s.settled_at, '0'::interval FROM settled_tickets s
WHERE s.region = @region AND s.id = ANY (@ids::text[]) AND s.body IS NOT NULL
  AND s.settled_at > statement_timestamp() - sqlc.arg(assigned_for)::interval;

-- name: DeleteQueued :many
WITH held AS MATERIALIZED ( -- looked up by primary key: other plans never finish on a long queue
    SELECT l.region, l.id FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @region AND o.id = w.id FOR UPDATE) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @region AND b.ticket_id IN (SELECT g.id FROM gone g)
)
INSERT INTO settled_tickets (region, id) SELECT @region, g.id FROM gone g ORDER BY g.id
ON CONFLICT (region, id) DO NOTHING
RETURNING id;

-- name: DeleteAssigned :exec
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM settled_tickets o WHERE o.region = @region AND o.id = w.id AND o.body IS NOT NULL FOR UPDATE) l
)
UPDATE settled_tickets s SET body = NULL, assignment = NULL, settled_at = clock_timestamp(), tx = pg_current_xact_id()
FROM held h WHERE s.region = h.region AND s.id = h.id;

-- name: CancelTicket :one
-- Decides under the row's lock, as AcceptMatches does: either the ticket is deleted, or it is in a match.
WITH held AS (
    SELECT t.id, (t.pending_at > clock_timestamp() - sqlc.arg(pending_for)::interval) AS pending, t.matched_in FROM tickets t
    WHERE t.region = @region AND t.id = @id FOR UPDATE
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = @region AND t.id = h.id AND h.pending IS NOT TRUE RETURNING t.id
), settled AS (
    INSERT INTO settled_tickets (region, id) SELECT @region, g.id FROM gone g
)
SELECT (h.pending IS NOT TRUE)::bool AS cancelled, h.matched_in FROM held h;

-- name: ExpiredTickets :many
-- Finds tickets by the index on expires_at, which no comparison with clock_timestamp() can use; then locks each by primary key.
-- A player's lease expires only if its ticket could be kept alive during all of it: replicas have served, and Postgres has run.
SELECT l.id FROM (
    SELECT e.id FROM (
        SELECT o.id FROM tickets o WHERE o.region = @region AND o.expires_at <= statement_timestamp()
          AND (o.ends_at IS NULL OR o.ends_at <= statement_timestamp() OR EXISTS (
            SELECT FROM fleet_clock c WHERE c.pulse_at > greatest(pg_postmaster_start_time(), statement_timestamp() - c.lease_ttl)
              AND c.steady_since <= statement_timestamp() - o.kept_alive))
          AND (o.ends_at IS NULL OR o.matched_in IS NULL OR ( -- players that are asked whether they accept a match may answer
            SELECT m.state FROM matches m WHERE m.region = o.region -- its value, because the planner may read all of matches for EXISTS
              AND m.id = CASE WHEN octet_length(o.matched_in) = 20 THEN encode(substring(o.matched_in FROM 5), 'hex')::uuid END) IS DISTINCT FROM 'proposed')
        ORDER BY o.expires_at LIMIT @batch) e
    ORDER BY e.id
) w CROSS JOIN LATERAL (
    SELECT t.id FROM tickets t WHERE t.region = @region AND t.id = w.id AND coalesce(t.expires_at <= clock_timestamp(), false) FOR UPDATE SKIP LOCKED) l;

-- name: KeepAlive :exec
-- The condition on expires_at is phrased so that the planner does not choose the index of tickets that expire. A player's
-- ticket whose lease ended while nobody could keep it alive becomes a candidate again.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.kept_alive IS NOT NULL
          AND coalesce(coalesce(o.ends_at, o.expires_at) > clock_timestamp(), false)
        FOR NO KEY UPDATE) l
)
UPDATE tickets t SET expires_at = least(clock_timestamp() + t.kept_alive, t.ends_at),
       tx = CASE WHEN t.expires_at > clock_timestamp() THEN t.tx ELSE pg_current_xact_id() END
FROM held h WHERE t.region = h.region AND t.id = h.id;

-- name: CountTickets :one
SELECT count(*) FROM tickets t
WHERE t.region = @region AND t.terms @> @terms::uuid[] AND t.created > @created_after AND t.created < @created_before AND t.paused_at IS NULL
  AND (t.pending_at IS NULL OR t.pending_at <= statement_timestamp() - sqlc.arg(pending_for)::interval)
  AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
  AND t.double_keys @> @present::uuid[]
  AND NOT EXISTS (
    SELECT FROM (SELECT unnest(@range_keys::uuid[]) AS key, unnest(@lows::float8[]) AS low, unnest(@highs::float8[]) AS high) r
    WHERE NOT coalesce(t.doubles[array_position(t.double_keys, r.key)] BETWEEN r.low AND r.high, false));

-- name: LockTicket :one
SELECT t.created, coalesce(t.pending_at > clock_timestamp() - sqlc.arg(pending_for)::interval, false)::bool AS pending FROM tickets t
WHERE t.region = @region AND t.id = @id AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()) FOR NO KEY UPDATE;

-- name: PutTicket :exec
UPDATE tickets t SET terms = @terms, double_keys = @double_keys, doubles = @doubles, body = @body, tx = pg_current_xact_id() WHERE t.region = @region AND t.id = @id;

-- name: PlayersWaiting :many
-- Which of these players have a live ticket.
SELECT t.player::text AS player FROM tickets t WHERE t.region = @region AND t.player = ANY (@players::text[]);

-- name: ExpiredOfPlayers :many
-- Expired tickets of these players, which the unique index counts until they are deleted.
SELECT t.id FROM tickets t WHERE t.region = @region AND t.player = ANY (@players::text[]) AND coalesce(t.expires_at <= clock_timestamp(), false);
