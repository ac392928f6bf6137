-- name: EventHorizon :one
-- Every transaction below the horizon has ended, so no further event of them can appear. The server's start time distinguishes servers,
-- because another server may number transactions differently.
SELECT pg_snapshot_xmin(pg_current_snapshot())::xid8 AS horizon, pg_postmaster_start_time()::timestamptz AS server;

-- name: AgentEventsAfter :many
-- Returns a page of the events of agents and rooms after (@tx, @id), in log order. The page ends after @bytes of stored details; found also
-- counts the events that were left out for this reason. "at" is the start of the transaction; its bounds restrict the scan to two of thirty
-- partitions. The planner must never choose the primary key (region, at, id), here and below: the region is compared as an expression, and tx has
-- two bounds whose values the planner cannot see. Otherwise a plan made beside a writing transaction left open takes all events of "at".
SELECT p.tx, p.id, p.kind, p.detail, p.found FROM (
    SELECT e.tx, e.id, e.kind, e.detail, count(*) OVER () AS found,
           sum(pg_column_size(e.detail)) OVER (ORDER BY e.tx, e.id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - pg_column_size(e.detail) AS before
    FROM (
        SELECT o.tx, o.id, o.kind, o.detail FROM events o
        WHERE (o.tx, o.id) > (@tx::xid8, @id::uuid) AND o.tx >= @tx AND o.tx < (SELECT pg_snapshot_xmin(pg_current_snapshot()))
          AND o.region || '' = @region::text AND o.kind = ANY (@kinds::text[]) AND o.at > now() - sqlc.arg(reach)::interval AND o.at < now() + interval '1 hour'
        ORDER BY o.tx, o.id LIMIT @page
    ) e
) p WHERE p.before < @bytes::bigint ORDER BY p.tx, p.id;

-- name: AgentEventsHeld :one
-- Returns whether there are committed events that AgentEventsAfter does not return yet, because an older transaction has not ended. The order
-- makes the planner read events in log order and stop at the first.
SELECT count(*) > 0 AS held FROM (
    SELECT FROM events o WHERE o.tx >= (SELECT pg_snapshot_xmin(pg_current_snapshot())) AND o.tx < (SELECT pg_snapshot_xmax(pg_current_snapshot()))
      AND o.region || '' = @region::text AND o.kind = ANY (@kinds::text[])
      AND o.at > now() - sqlc.arg(reach)::interval AND o.at < now() + interval '1 hour'
    ORDER BY o.tx, o.id LIMIT 1
) p;

-- name: AgentEvent :many
-- Returns one event, if it is not older than @reach.
SELECT o.tx, o.id, o.kind, o.detail FROM events o
WHERE o.tx = @tx::xid8 AND o.id = @id::uuid AND o.region || '' = @region::text AND o.kind = ANY (@kinds::text[])
  AND o.at > now() - sqlc.arg(reach)::interval AND o.at < now() + interval '1 hour';
