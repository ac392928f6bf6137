-- Where clients measure latencies, and what is known of those of players.

-- name: KnownLatencies :many
-- Returns the latencies that counted for players within a day.
SELECT l.sub, l.latencies FROM player_latencies l
WHERE l.region = @region AND l.sub = ANY (@subs::text[]) AND l.measured_at > clock_timestamp() - interval '1 day';

-- name: RememberLatencies :exec
-- Rows are locked in the order of their keys. One that is younger than an hour stays as it is: a player who queues again and again must not move
-- its latencies by one jump each time.
INSERT INTO player_latencies AS l (region, sub, latencies)
SELECT @region, n.sub, n.latencies::jsonb
FROM (SELECT unnest(@subs::text[]) COLLATE "C" AS sub, unnest(@latencies::text[]) AS latencies) n
ORDER BY n.sub
ON CONFLICT (region, sub) DO UPDATE SET latencies = excluded.latencies, measured_at = excluded.measured_at
WHERE l.measured_at <= clock_timestamp() - interval '1 hour';

-- name: ForgetLatencies :execrows
DELETE FROM player_latencies l USING (
    SELECT k.region, k.sub FROM player_latencies k WHERE k.measured_at <= statement_timestamp() - interval '1 day'
    ORDER BY k.measured_at LIMIT @batch FOR UPDATE SKIP LOCKED) old
WHERE l.region = old.region AND l.sub = old.sub;
