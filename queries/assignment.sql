-- name: SettleTickets :many
-- Assigns those that wait. The others may be assigned already, or be gone: Reassign, with a snapshot of its own, sees what
-- was settled while this one waited for their rows.
WITH wanted AS (
    SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@assignments::bytea[]) AS assignment
), held AS MATERIALIZED ( -- one by one, by the whole key: what else looks good while the queue is short does not end when it is long
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

-- name: Reassign :many
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

-- name: HoldMatched :exec
SELECT FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
    SELECT FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.pending_at IS NOT NULL FOR NO KEY UPDATE) l;

-- name: ReleaseTickets :exec
-- Of tickets that this transaction holds, so that it sees which backfills they are of. Each is looked up by its key, whatever
-- the planner thinks of the table.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (SELECT unnest(@ids::text[]) AS id) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.pending_at IS NOT NULL OFFSET 0) l
), freed AS (
    DELETE FROM backfill_tickets b WHERE b.region = @region AND b.ticket_id = ANY (@ids::text[])
)
UPDATE tickets t SET pending_at = NULL, matched_in = NULL, tx = pg_current_xact_id() FROM held h WHERE t.region = h.region AND t.id = h.id;

-- name: MatchedTickets :many
-- A page of those that are in a match, void or not, in the order of their ids.
SELECT t.id FROM tickets t WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND t.pending_at IS NOT NULL ORDER BY t.id LIMIT sqlc.arg(page);

-- name: SettledNow :one
-- How far the feed of settled tickets can be read now. Another server, after a failover or a restore, counts transactions
-- of its own: its start tells it from the one before.
SELECT pg_current_snapshot()::text AS snapshot, pg_postmaster_start_time()::timestamptz AS server;

-- name: SettledLate :many
-- A page of what was settled by the transactions that were in progress in the snapshot @before and have committed since.
-- Each is looked up by itself, so that one that stays open for hours costs a lookup, not the scan of all that is younger.
SELECT s.id, s.assigned, s.assignment, s.settled_at, s.tx FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
    SELECT o.id, (o.body IS NOT NULL)::bool AS assigned, o.assignment, o.settled_at, o.tx
    FROM settled_tickets o WHERE o.region = @region AND o.tx = p.tx OFFSET 0) s
WHERE p.tx > @after::xid8
ORDER BY s.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: SettledSince :many
-- A page of what was settled by the transactions that began to write at @since or later, all of each transaction.
SELECT s.id, (s.body IS NOT NULL)::bool AS assigned, s.assignment, s.settled_at, s.tx FROM settled_tickets s
WHERE s.region = @region AND s.tx >= @since::xid8 ORDER BY s.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: TicketRegions :many
-- Directors that fetch in regions without tickets leave cycles, too.
SELECT ticket_regions()::text AS region UNION SELECT c.region FROM match_cycles c;

-- name: ForgetSettled :execrows
-- In the order of tx, which is that of settled_at but for moments.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id FROM (
        SELECT e.id FROM (SELECT x.id, x.settled_at FROM settled_tickets x WHERE x.region = @region ORDER BY x.tx LIMIT @batch) e
        WHERE e.settled_at < clock_timestamp() - sqlc.arg(keep)::interval ORDER BY e.id
    ) w CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM settled_tickets o WHERE o.region = @region AND o.id = w.id
          AND o.settled_at < clock_timestamp() - sqlc.arg(keep)::interval FOR UPDATE SKIP LOCKED) l
)
DELETE FROM settled_tickets s USING held h WHERE s.region = h.region AND s.id = h.id;
