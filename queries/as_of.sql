-- What was true at a time: the functions of migrations/00064_as_of.sql.

-- name: HistoryStarts :many
SELECT h.what::text AS what, h.since::timestamptz AS since FROM ops.history_starts h WHERE h.since IS NOT NULL ORDER BY h.what;

-- name: FleetAt :many
SELECT f.region::text AS region, f.instance::text AS instance, f.endpoint::text AS endpoint, f.status::text AS status, f.modes::text[] AS modes, f.labels::jsonb AS labels,
       coalesce(f.version, '')::text AS version, f.capacity::int AS capacity, coalesce(f.max_sessions, 0)::int AS max_sessions, f.sessions::int AS sessions, f.players::int AS players,
       f.reserved_seats::int AS reserved_seats, f.incarnation::uuid AS incarnation, f.registered_at::timestamptz AS registered_at, f.since::timestamptz AS since
FROM ops.fleet_at(sqlc.arg(at)::timestamptz) f WHERE @region::text = '' OR f.region = @region
ORDER BY f.region, f.instance LIMIT sqlc.arg(most);

-- name: SessionsAt :many
SELECT s.region::text AS region, s.session::text AS session, s.mode::text AS mode, s.instance::text AS instance, s.players::int AS players, s.connected::int AS connected,
       s.max_players::int AS max_players, s.opened_at::timestamptz AS opened_at, coalesce(s.closed_at, 'epoch')::timestamptz AS closed_at, coalesce(s.match, '00000000-0000-0000-0000-000000000000')::uuid AS match
FROM ops.sessions_at(sqlc.arg(at)::timestamptz) s WHERE @region::text = '' OR s.region = @region
ORDER BY s.region, s.session LIMIT sqlc.arg(most);

-- name: SeatsAt :many
SELECT t.region::text AS region, t.session::text AS session, coalesce(t.instance, '')::text AS instance, t.mode::text AS mode, t.player::text AS player, t.state::text AS state,
       t.party::uuid AS party, t.reserved_by::text AS reserved_by, t.reserved_at::timestamptz AS reserved_at, coalesce(t.connected_at, 'epoch')::timestamptz AS connected_at, coalesce(t.left_at, 'epoch')::timestamptz AS left_at,
       coalesce(t.match, '00000000-0000-0000-0000-000000000000')::uuid AS match, coalesce(t.team, '')::text AS team
FROM ops.seats_at(sqlc.arg(at)::timestamptz) t WHERE @region::text = '' OR t.region = @region
ORDER BY t.region, t.session, t.player LIMIT sqlc.arg(most);

-- name: KeysAt :many
SELECT k.kid::text AS kid, k.alg::text AS alg, k.state::text AS state, k.publish_at::timestamptz AS publish_at, k.sign_from::timestamptz AS sign_from,
       k.sign_until::timestamptz AS sign_until, k.verify_until::timestamptz AS verify_until, coalesce(k.tainted_at, 'epoch')::timestamptz AS tainted_at
FROM ops.keys_at(sqlc.arg(at)::timestamptz) k ORDER BY k.sign_from, k.kid LIMIT sqlc.arg(most);

-- name: PrunePastInstances :one
-- Deletes the oldest states of game servers, and notes from when on history is complete.
WITH gone AS (
    DELETE FROM instance_history h WHERE h.ctid = ANY (ARRAY(
        SELECT o.ctid FROM instance_history o WHERE o.until < now() - sqlc.arg(keep)::interval ORDER BY o.until LIMIT sqlc.arg(batch) FOR UPDATE SKIP LOCKED))
    RETURNING h.until
), noted AS (
    UPDATE history_starts s SET since = greatest(s.since, (SELECT max(g.until) FROM gone g)) WHERE s.history = 'instance_history'
)
SELECT count(*) FROM gone;

-- name: PrunePastKeys :one
WITH gone AS (
    DELETE FROM key_history h WHERE h.until < now() - sqlc.arg(keep)::interval RETURNING h.until
), noted AS (
    UPDATE history_starts s SET since = greatest(s.since, (SELECT max(g.until) FROM gone g)) WHERE s.history = 'key_history'
)
SELECT count(*) FROM gone;
