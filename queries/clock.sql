-- name: Pulse :execrows
-- Says that heartbeats could be heard just now. A fleet of three or more that is silent altogether is more likely cut
-- off from us than dead, so silence is no pulse; one or two servers that fall silent are more likely dead. Servers send a
-- heartbeat each third of a lease: silence shows after less than half of one, and a gap in the pulse of a third begins
-- the time anew in which they have to be heard. So nobody who was heard before an outage is past its lease in it.
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
