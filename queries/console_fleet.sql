-- The console's pages of game servers. Statements of the console read views of schema ops, and nothing else.

-- name: ConsoleFleet :many
-- Returns a page of game servers in the order of region and id, after (@after_region, @after). Empty filters select all; @status is ready,
-- draining, starting, silent (no lease holds) or gone.
SELECT f.region, f.instance, f.endpoint, f.status, f.alive::bool AS alive, f.modes, f.labels, coalesce(f.version, '')::text AS version, f.load,
       f.capacity, f.reserved_seats, f.available::int AS available, f.players::bigint AS players, f.open_sessions, f.max_sessions, f.reports_seats,
       f.last_heartbeat, extract(epoch FROM coalesce(f.lease_age, '0'))::float8 AS lease_age, f.registered_at, f.ended_at
FROM ops.fleet f
WHERE (f.region, f.instance) > (@after_region::text, @after::text)
  AND (@region::text = '' OR f.region = @region::text) AND (@mode::text = '' OR @mode::text = ANY (f.modes))
  AND (@prefix::text = '' OR starts_with(f.instance, @prefix::text))
  AND (@status::text = '' OR CASE WHEN f.status <> 'gone' AND NOT f.alive AND f.status <> 'starting' THEN 'silent' ELSE f.status END = @status::text)
ORDER BY f.region, f.instance LIMIT @most;

-- name: ConsoleFleetCounts :many
-- Counts game servers by region and state. It reads the whole fleet.
SELECT f.region, CASE WHEN f.status <> 'gone' AND NOT f.alive AND f.status <> 'starting' THEN 'silent' ELSE f.status END::text AS state, count(*)::int AS instances,
       sum(f.capacity)::bigint AS capacity, sum(f.reserved_seats)::bigint AS reserved_seats, sum(f.open_sessions)::bigint AS open_sessions
FROM ops.fleet f GROUP BY 1, 2 ORDER BY 1, 2;

-- name: ConsoleInstance :one
SELECT f.region, f.instance, f.endpoint, f.status, f.alive::bool AS alive, f.modes, f.labels, coalesce(f.version, '')::text AS version, f.load,
       f.capacity, f.reserved_seats, f.available::int AS available, f.players::bigint AS players, f.open_sessions, f.max_sessions, f.reports_seats,
       f.last_heartbeat, extract(epoch FROM coalesce(f.lease_age, '0'))::float8 AS lease_age, f.registered_at, f.ended_at
FROM ops.instance_regions r JOIN ops.fleet f ON f.region = r.region AND f.instance = r.instance
WHERE r.instance = @instance;

-- name: ConsoleRegions :many
SELECT region FROM ops.regions LIMIT 1000;

-- name: ConsoleModes :many
-- Reads the whole fleet.
SELECT DISTINCT m.mode::text AS mode FROM ops.fleet f CROSS JOIN LATERAL unnest(f.modes) AS m(mode) ORDER BY 1 LIMIT 1000;
