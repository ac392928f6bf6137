-- The console's page of deployments and pools.

-- name: ConsolePools :many
SELECT p.region, p.app, p.version, p.provider, p.modes::text[] AS modes, p.state::text AS state, p.servers::bigint AS servers, p.starting::bigint AS starting,
       p.ready::bigint AS ready, p.busy::bigint AS busy, p.ending::bigint AS ending, p.waiting_players::bigint AS waiting_players, p.min, p.max, p.buffer::text AS buffer,
       p.max_starting, p.empty_ttl, coalesce(p.paused_until, 'epoch')::timestamptz AS paused_until, coalesce(p.pause_reason, '')::text AS pause_reason,
       coalesce(p.plan, '')::text AS plan, coalesce(p.planned_at, 'epoch')::timestamptz AS planned_at,
       coalesce((SELECT w.workers FROM ops.providers w WHERE w.provider = p.provider), 0)::bigint AS workers
FROM ops.pools p ORDER BY p.region, p.app, p.version LIMIT @most;

-- name: ConsoleDeployments :many
-- Returns a page of deployments in the order of region and id, after (@after_region, @after).
SELECT d.region, d.deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, coalesce(d.ref, '')::text AS ref, d.tag, coalesce(d.location, '')::text AS location,
       coalesce(d.endpoint, '')::text AS endpoint, d.open_sessions::int AS open_sessions, d.reserved_seats::int AS reserved_seats, d.created_at, d.attempts, d.intent_at,
       d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at, d.next_at, d.boots, coalesce(d.reason, '')::text AS reason,
       coalesce(d.last_error, '')::text AS last_error, coalesce(d.claimed_ref, '')::text AS claimed_ref,
       coalesce(d.refused, '')::text AS refused, d.refused_at
FROM ops.deployments d
WHERE (d.region, d.deployment) > (@after_region::text, @after::uuid)
  AND (@region::text = '' OR d.region = @region::text) AND (@app::text = '' OR d.app = @app::text) AND (@phase::text = '' OR d.phase = @phase::text)
ORDER BY d.region, d.deployment LIMIT @most;

-- name: ConsoleDeployment :one
SELECT d.region, d.deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, coalesce(d.ref, '')::text AS ref, d.tag, coalesce(d.location, '')::text AS location,
       coalesce(d.endpoint, '')::text AS endpoint, d.open_sessions::int AS open_sessions, d.reserved_seats::int AS reserved_seats, d.created_at, d.attempts, d.intent_at,
       d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at, d.next_at, d.boots, coalesce(d.reason, '')::text AS reason,
       coalesce(d.last_error, '')::text AS last_error, coalesce(d.claimed_ref, '')::text AS claimed_ref,
       coalesce(d.refused, '')::text AS refused, d.refused_at
FROM ops.deployments d WHERE d.deployment = @deployment LIMIT 1;

-- name: ConsoleProviders :many
SELECT b.provider, b.class, b.tokens, b.refilled_at, coalesce(b.blocked_until, 'epoch')::timestamptz AS blocked_until, b.blocked::bool AS blocked
FROM ops.provider_budgets b ORDER BY b.provider, b.class LIMIT 200;

-- name: ConsoleDeploymentOutcomes :many
-- Sums up why deployments ended, over 24 hours.
SELECT o.app, o.version, o.provider, o.reason::text AS reason, sum(o.servers)::bigint AS servers, sum(o.were_ready)::bigint AS were_ready,
       max(coalesce(o.ready_p95, 0))::float8 AS slowest_p95, coalesce(max(o.last_error), '')::text AS last_error
FROM ops.deployment_outcomes o GROUP BY 1, 2, 3, 4 ORDER BY sum(o.servers) DESC, 1, 2, 3, 4 LIMIT 200;
