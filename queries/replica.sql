-- name: BeginReplica :exec
INSERT INTO replicas (region, id, face) VALUES (@region, @id, @face);

-- name: RenewReplica :execrows
-- A renewal that is a third of a lease late, or the first since Postgres started, resets steady_since: no lease expires until some replica has
-- been steady for a whole lease. An ended replica is not renewed.
UPDATE replicas r SET
    seen_at = clock_timestamp(),
    steady_since = CASE WHEN r.seen_at < clock_timestamp() - c.lease_ttl / 3 OR r.seen_at <= pg_postmaster_start_time()
                        THEN clock_timestamp() ELSE r.steady_since END,
    heard_since = clock_timestamp() - sqlc.arg(silence)::interval
FROM fleet_clock c
WHERE r.region = @region AND r.id = @id AND r.ended_at IS NULL;

-- name: LockReplicas :many
-- Locks the replicas of a region's orchestrator that have not ended. live means recently renewed, and therefore able to take over agents.
SELECT r.id, (r.seen_at > clock_timestamp() - c.lease_ttl / 3)::bool AS live
FROM replicas r CROSS JOIN fleet_clock c
WHERE r.region = @region AND r.face = 'orchestrator' AND r.ended_at IS NULL
ORDER BY r.id FOR UPDATE OF r;

-- name: EndReplica :exec
-- If no other replica of the orchestrator is live, the agents of replicas that ended earlier leave as well.
UPDATE replicas r SET ended_at = coalesce(r.ended_at, clock_timestamp()), rows_until = clock_timestamp() + sqlc.arg(keep)::interval
WHERE r.region = @region AND (r.id = @id AND r.ended_at IS NULL
    OR @alone::bool AND r.face = 'orchestrator' AND r.ended_at IS NOT NULL AND r.rows_until > clock_timestamp());

-- name: EndExpiredReplicas :many
-- Ends replicas of a face whose lease has expired, and returns them. Their agents leave, and their sessions are suspended, at once.
UPDATE replicas r SET ended_at = clock_timestamp(), rows_until = r.seen_at
WHERE r.region = @region AND r.id IN (
    SELECT e.id FROM replicas e
    WHERE e.region = @region AND e.face = @face AND e.ended_at IS NULL AND e.seen_at <= (SELECT replica_horizon(sqlc.arg(region), sqlc.arg(face)))
    ORDER BY e.id FOR UPDATE SKIP LOCKED)
RETURNING r.id;

-- name: AgentsToEnd :many
-- Returns agents whose replica has ended and whose time to join another replica is over. That time is compared with the newest renewal of a
-- steady replica, so that agents that could not join elsewhere during an outage stay. If no replica could take them over, it is compared with
-- the clock. The result is not ordered: the statement waits for no lock, and sorting would read agents of other replicas.
SELECT s.agent_id, (s.rooms + s.reserved)::int AS rooms FROM agent_states s
WHERE s.region = @region AND s.left_at IS NULL AND s.replica = ANY (ARRAY(
    SELECT r.id FROM replicas r
    WHERE r.region = @region AND r.face = 'orchestrator' AND r.ended_at IS NOT NULL AND r.rows_until <= CASE
        WHEN EXISTS (SELECT FROM replicas o WHERE o.region = @region AND o.face = 'orchestrator' AND o.ended_at IS NULL)
        THEN (SELECT replica_horizon(sqlc.arg(region))) + (SELECT c.lease_ttl FROM fleet_clock c) ELSE clock_timestamp() END))
LIMIT sqlc.arg(most)::bigint
FOR UPDATE OF s SKIP LOCKED;

-- name: ForgetReplicas :execrows
-- Deletes replicas of a face that ended ten minutes ago and own no agents and no sessions.
DELETE FROM replicas r
WHERE r.region = @region AND r.face = @face AND r.ended_at < clock_timestamp() - interval '10 minutes'
  AND NOT EXISTS (SELECT FROM agent_states s WHERE s.region = r.region AND s.replica = r.id AND s.left_at IS NULL)
  AND NOT EXISTS (SELECT FROM realtime_sessions s WHERE s.region = r.region AND s.owner = r.id);

-- name: OwnAgents :many
-- Returns the agents of a replica that changed in transaction @since or a later one, including agents that left.
SELECT s.agent_id, agent_status(s)::text AS status, s.owes_reply, s.doubted, (s.left_at IS NOT NULL)::bool AS has_left
FROM agent_states s
WHERE s.region = @region AND s.tx >= sqlc.arg(since)::xid8 AND s.replica = @replica;

-- name: AllOwnAgents :many
-- The agents of a replica that have not left.
SELECT s.agent_id, agent_status(s)::text AS status, s.owes_reply, s.doubted, (s.left_at IS NOT NULL)::bool AS has_left
FROM agent_states s
WHERE s.region = @region AND s.replica = @replica AND s.left_at IS NULL;

-- name: OldestTransaction :one
-- Every transaction with a lower number has ended.
SELECT pg_snapshot_xmin(pg_current_snapshot())::xid8 AS horizon;

-- name: AgentRegions :many
SELECT r.region::text AS region, (NOT EXISTS (SELECT FROM agent_states s WHERE s.region = r.region)
    AND NOT EXISTS (SELECT FROM commands c WHERE c.region = r.region))::bool AS has_only_replicas
FROM agent_regions() AS r(region) ORDER BY 1;
