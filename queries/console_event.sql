-- The console's page of events.

-- name: ConsoleEventsBefore :many
-- Reads @scan events before (@tx, @id), latest first, and returns those that the filters select, and the last one that it read: page on from
-- there. So a filter that selects few events costs no more than one that selects all. @kinds selects by prefix; empty filters select all.
WITH read AS MATERIALIZED (
    SELECT e.tx, e.id, e.at, e.region, e.kind, e.actor, e.instance, e.session, e.detail FROM ops.events e
    WHERE (e.tx, e.id) < (@tx::xid8, @id::uuid) ORDER BY e.tx DESC, e.id DESC LIMIT @scan
)
SELECT r.tx, r.id, r.at, r.region, r.kind, r.actor, coalesce(r.instance, '')::text AS instance, coalesce(r.session, '')::text AS session, r.detail::jsonb AS detail,
       f.selected::bool AS selected, (SELECT count(*) FROM read)::int AS scanned
FROM read r CROSS JOIN LATERAL (
    SELECT ((@kinds::text = '' OR starts_with(r.kind, @kinds::text)) AND (@region::text = '' OR r.region = @region::text)
       AND (@actor::text = '' OR r.actor = @actor::text) AND (@session::text = '' OR r.session = @session::text)) IS TRUE AS selected) f
WHERE f.selected OR (r.tx, r.id) = (SELECT b.tx, b.id FROM read b ORDER BY b.tx, b.id LIMIT 1)
ORDER BY r.tx DESC, r.id DESC LIMIT @most;

-- name: ConsoleEventsOfInstance :many
-- As ConsoleEventsBefore, for the events of a game server or agent, and of its sessions, which an index finds.
WITH read AS MATERIALIZED (
    SELECT e.tx, e.id, e.at, e.region, e.kind, e.actor, e.instance, e.session, e.detail FROM ops.events e
    WHERE e.instance = @instance::text AND (e.tx, e.id) < (@tx::xid8, @id::uuid) ORDER BY e.tx DESC, e.id DESC LIMIT @scan
)
SELECT r.tx, r.id, r.at, r.region, r.kind, r.actor, coalesce(r.instance, '')::text AS instance, coalesce(r.session, '')::text AS session, r.detail::jsonb AS detail,
       f.selected::bool AS selected, (SELECT count(*) FROM read)::int AS scanned
FROM read r CROSS JOIN LATERAL (
    SELECT ((@kinds::text = '' OR starts_with(r.kind, @kinds::text)) AND (@region::text = '' OR r.region = @region::text)
       AND (@actor::text = '' OR r.actor = @actor::text) AND (@session::text = '' OR r.session = @session::text)) IS TRUE AS selected) f
WHERE f.selected OR (r.tx, r.id) = (SELECT b.tx, b.id FROM read b ORDER BY b.tx, b.id LIMIT 1)
ORDER BY r.tx DESC, r.id DESC LIMIT @most;

-- name: ConsoleEventsAfter :many
-- Returns events after a cursor, in the order of the feed, for the live tail.
SELECT e.tx, e.id, e.at, e.region, e.kind, e.actor, coalesce(e.instance, '')::text AS instance, coalesce(e.session, '')::text AS session, e.detail::jsonb AS detail
FROM ops.event_feed e WHERE (e.tx, e.id) > (@tx::xid8, @id::uuid) ORDER BY e.tx, e.id LIMIT @most;

-- name: ConsoleFeedEnd :one
-- Returns the cursor after the latest event that the feed shows; no row where it shows none.
SELECT e.tx, e.id FROM ops.events e WHERE e.tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY e.tx DESC, e.id DESC LIMIT 1;

-- name: ConsoleEventsUntil :one
-- Finds the transaction before which events are older than @until, by halving: no index has their times, but those of transactions in their
-- order nearly ascend. Each step reads one event.
WITH RECURSIVE search AS (
    SELECT coalesce((SELECT e.tx FROM ops.events e ORDER BY e.tx, e.id LIMIT 1)::text::bigint, 0) AS low,
           coalesce((SELECT e.tx FROM ops.events e ORDER BY e.tx DESC, e.id DESC LIMIT 1)::text::bigint, 0) + 1 AS high
    UNION ALL
    SELECT CASE WHEN p.older THEN m.middle + 1 ELSE m.low END, CASE WHEN p.older THEN m.high ELSE m.middle END
    FROM (SELECT s.low, s.high, (s.low + s.high) / 2 AS middle FROM search s WHERE s.low < s.high) m
    CROSS JOIN LATERAL (SELECT coalesce((SELECT e.at < @until::timestamptz FROM ops.events e WHERE e.tx >= m.middle::text::xid8 ORDER BY e.tx, e.id LIMIT 1), false) AS older) p
)
SELECT max(low)::text::xid8 AS tx FROM search;
