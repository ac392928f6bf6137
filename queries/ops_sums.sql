-- Sums over views of schema ops, for pages that show more rows than a person reads. Lists are read by db/opsview.

-- name: FleetCounts :many
-- Counts game servers by region and state. It reads the whole fleet.
SELECT f.region, CASE WHEN f.status <> 'gone' AND NOT f.alive AND f.status <> 'starting' THEN 'silent' ELSE f.status END::text AS state, count(*)::int AS instances,
       sum(f.capacity)::bigint AS capacity, sum(f.reserved_seats)::bigint AS reserved_seats, sum(f.open_sessions)::bigint AS open_sessions,
       sum(f.players)::bigint AS players
FROM ops.fleet f GROUP BY 1, 2 ORDER BY 1, 2;

-- name: FleetModes :many
-- Reads the whole fleet.
SELECT DISTINCT m.mode::text AS mode FROM ops.fleet f CROSS JOIN LATERAL unnest(f.modes) AS m(mode) ORDER BY 1 LIMIT 1000;

-- name: DeploymentOutcomes :many
-- Sums up why deployments ended, over 24 hours.
SELECT o.app, o.version, o.provider, o.reason::text AS reason, sum(o.servers)::bigint AS servers, sum(o.were_ready)::bigint AS were_ready,
       max(coalesce(o.ready_p95, 0))::float8 AS slowest_p95, coalesce(max(o.last_error), '')::text AS last_error
FROM ops.deployment_outcomes o GROUP BY 1, 2, 3, 4 ORDER BY sum(o.servers) DESC, 1, 2, 3, 4 LIMIT 200;

-- name: MinuteSamples :many
-- Returns measures since some time, summed over regions or, with a region, of one, oldest first.
SELECT s.minute, s.measure, s.subject, sum(s.value)::float8 AS value
FROM ops.minute_samples s
WHERE s.minute > statement_timestamp() - sqlc.arg(minutes)::interval AND s.measure = ANY (@measures::text[]) AND (@region::text = '' OR s.region = @region::text)
GROUP BY s.minute, s.measure, s.subject ORDER BY s.minute, s.measure, s.subject LIMIT 20000;

-- name: RequestsByMinute :many
-- Sums up the requests of each of the last minutes, oldest first.
SELECT r.minute, sum(r.requests)::bigint AS requests, sum(r.refused)::bigint AS refused, sum(r.failed)::bigint AS failed
FROM ops.request_minutes r WHERE r.minute > statement_timestamp() - sqlc.arg(minutes)::interval GROUP BY r.minute ORDER BY r.minute;

-- name: RequestsByRoute :many
-- Sums up the requests of the last minutes by route, those with the most failures and refusals first.
SELECT r.route::text AS route, sum(r.requests)::bigint AS requests, sum(r.refused)::bigint AS refused, sum(r.failed)::bigint AS failed
FROM ops.request_minutes r WHERE r.minute > statement_timestamp() - sqlc.arg(minutes)::interval
GROUP BY r.route ORDER BY sum(r.failed) DESC, sum(r.refused) DESC, sum(r.requests) DESC, r.route LIMIT 200;

-- name: EventsUntil :one
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
