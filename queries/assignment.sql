-- name: SettleTickets :many
-- Assigns those of the tickets that are queued, and returns their ids. The others are assigned or deleted already, perhaps
-- while this statement waited for their rows: ReassignTickets, which has a newer snapshot, finds them.
WITH wanted AS (
    SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@assignments::bytea[]) AS assignment
), held AS MATERIALIZED ( -- looked up by primary key: other plans never finish on a long queue
    SELECT l.region, l.id, w.assignment FROM (SELECT w.id, w.assignment FROM wanted w ORDER BY w.id) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @region AND o.id = w.id
          AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp()) FOR UPDATE) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.body
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @region AND b.ticket_id IN (SELECT g.id FROM gone g)
)
INSERT INTO settled_tickets (region, id, body, assignment)
SELECT @region, g.id, g.body, h.assignment FROM gone g JOIN held h ON h.id = g.id
RETURNING id;

-- name: ReassignTickets :many
-- Replaces the assignments of tickets that are assigned already, which restarts the time for which they are kept.
WITH wanted AS (
    SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@assignments::bytea[]) AS assignment
), held AS MATERIALIZED (
    SELECT l.region, l.id, w.assignment FROM (SELECT w.id, w.assignment FROM wanted w ORDER BY w.id) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM settled_tickets o WHERE o.region = @region AND o.id = w.id AND o.body IS NOT NULL
          AND o.settled_at > clock_timestamp() - sqlc.arg(assigned_for)::interval FOR NO KEY UPDATE) l
)
UPDATE settled_tickets s SET assignment = h.assignment, settled_at = clock_timestamp(), tx = pg_current_xact_id()
FROM held h WHERE s.region = h.region AND s.id = h.id
RETURNING s.id;

-- name: LockMatchedTickets :exec
-- Locks those of the tickets that are in a match.
SELECT FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
    SELECT FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.pending_at IS NOT NULL FOR NO KEY UPDATE) l;

-- name: ReleaseTickets :exec
-- Returns tickets from their matches and backfills to the queue. An earlier statement of the transaction has locked them, so
-- that this one sees the latest backfill of each. OFFSET 0 makes the planner look up each by primary key.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (SELECT unnest(@ids::text[]) AS id) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.pending_at IS NOT NULL OFFSET 0) l
), freed AS (
    DELETE FROM backfill_tickets b WHERE b.region = @region AND b.ticket_id = ANY (@ids::text[])
)
UPDATE tickets t SET pending_at = NULL, matched_in = NULL, tx = pg_current_xact_id() FROM held h WHERE t.region = h.region AND t.id = h.id;

-- name: MatchedTickets :many
-- A page of the tickets that are in a match, even if its time has passed, in the order of their ids.
SELECT t.id FROM tickets t WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND t.pending_at IS NOT NULL ORDER BY t.id LIMIT sqlc.arg(page);

-- name: CurrentSnapshot :one
-- How far the feed of settled tickets can be read now, and when the server started. After a failover or a restore another
-- server numbers the transactions; its start time distinguishes it.
SELECT pg_current_snapshot()::text AS snapshot, pg_postmaster_start_time()::timestamptz AS server;

-- name: SettledLate :many
-- A page of the tickets that were settled by transactions that the snapshot @before lists as in progress and that have
-- committed since. Each transaction is looked up by itself: one that stays open for hours costs one lookup, not a scan of all
-- rows after it.
SELECT s.id, s.assigned, s.assignment, s.settled_at, s.tx FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
    SELECT o.id, (o.body IS NOT NULL)::bool AS assigned, o.assignment, o.settled_at, o.tx
    FROM settled_tickets o WHERE o.region = @region AND o.tx = p.tx OFFSET 0) s
WHERE p.tx > @after::xid8
ORDER BY s.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: SettledSince :many
-- A page of the tickets that were settled by transactions with the number @since or a higher one. A page has all rows of each
-- of its transactions.
SELECT s.id, (s.body IS NOT NULL)::bool AS assigned, s.assignment, s.settled_at, s.tx FROM settled_tickets s
WHERE s.region = @region AND s.tx >= @since::xid8 ORDER BY s.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: TicketRegions :many
-- Includes regions that have only cycles: FetchMatches runs a cycle even where there are no tickets.
SELECT ticket_regions()::text AS region UNION SELECT c.region FROM match_cycles c;

-- name: ForgetSettled :execrows
-- Deletes settled tickets after their time. It reads them in the order of tx, which has an index; the order of settled_at
-- differs from it by moments.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (
        SELECT e.id FROM (SELECT x.id, x.settled_at FROM settled_tickets x WHERE x.region = @region ORDER BY x.tx LIMIT @batch) e
        WHERE e.settled_at < clock_timestamp() - sqlc.arg(keep)::interval ORDER BY e.id
    ) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM settled_tickets o WHERE o.region = @region AND o.id = w.id
          AND o.settled_at < clock_timestamp() - sqlc.arg(keep)::interval FOR UPDATE SKIP LOCKED) l
)
DELETE FROM settled_tickets s USING held h WHERE s.region = h.region AND s.id = h.id;
