-- The console's page of capacity.

-- name: ConsoleCapacity :many
-- Returns what each region can take, by mode, in the order of region and mode. It reads the whole fleet and all open sessions.
SELECT coalesce(o.region, '')::text AS region, coalesce(o.mode, '')::text AS mode, coalesce(o.refusal, '')::text AS refusal, o.live::int AS live, o.draining::int AS draining,
       o.starting::int AS starting, o.silent::int AS silent, o.ended::int AS ended, o.sessions_with_room::bigint AS sessions_with_room,
       o.largest_party::int AS largest_party, o.largest_session::int AS largest_session, coalesce(o.pool_app, '')::text AS pool_app,
       coalesce(o.pool_version, '')::text AS pool_version, coalesce(c.seats, 0)::bigint AS seats, coalesce(c.reserved_seats, 0)::bigint AS reserved_seats,
       coalesce(c.free_seats, 0)::bigint AS free_seats, coalesce(c.open_sessions, 0)::bigint AS open_sessions, coalesce(c.players, 0)::bigint AS players
FROM ops.placement_outlook o LEFT JOIN ops.capacity c ON c.region = o.region AND c.mode = o.mode
WHERE (@region::text = '' OR o.region = @region::text) AND (o.region, o.mode) > (@after_region::text, @after::text)
ORDER BY o.region, o.mode LIMIT @most;

-- name: ConsoleDemand :many
SELECT d.region, d.mode, d.source, coalesce(d.profile, '')::text AS profile, coalesce(d.seats, 0)::int AS seats, coalesce(d.party, 0)::int AS party, d.matches, d.players, d.since, d.expires_at,
       coalesce(d.universe, '')::text AS universe
FROM ops.demand d ORDER BY d.players DESC, d.region, d.mode LIMIT 500;
