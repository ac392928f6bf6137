-- name: Pulse :execrows
-- Records that replicas can receive heartbeats now; see lease_horizon() in the schema. When no instance of three or more has
-- sent one lately, the fleet is more likely cut off than dead, so nothing is recorded. One or two silent instances are more
-- likely dead. Instances send a heartbeat each third of a lease, so silence shows within 9/20 of a lease; a gap of a third
-- of a lease between two records restarts steady_since, after which the fleet has a whole lease to send heartbeats. So no lease
-- that was live before an outage expires during it.
UPDATE fleet_clock SET
    steady_since = CASE
        WHEN pulse_at > greatest(statement_timestamp() - lease_ttl / 3, pg_postmaster_start_time()) THEN steady_since
        ELSE statement_timestamp() END,
    pulse_at = statement_timestamp(),
    lease_ttl = sqlc.arg(ttl)::interval
WHERE (pulse_at < statement_timestamp() - lease_ttl / 20 OR lease_ttl <> sqlc.arg(ttl)::interval)
  AND ((SELECT count(*) FROM (SELECT 1 FROM instance_leases LIMIT 3) fleet) < 3
    OR EXISTS (SELECT 1 FROM instance_leases WHERE heartbeat_at > statement_timestamp() - sqlc.arg(ttl)::interval * 9 / 20));

-- name: ClockReading :one
SELECT clock_timestamp()::timestamptz AS now;
