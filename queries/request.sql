-- How many requests replicas answered, refused and failed: ops.request_minutes.

-- name: CountRequests :exec
-- Adds the requests of a replica to those of the present minute, in the order of the key, so that two replicas do not deadlock.
INSERT INTO request_minutes AS m (minute, route, requests, refused, failed)
SELECT date_trunc('minute', now()), n.route, n.requests, n.refused, n.failed
FROM (SELECT unnest(@routes::text[]) COLLATE "C" AS route, unnest(@requests::bigint[]) AS requests, unnest(@refused::bigint[]) AS refused,
             unnest(@failed::bigint[]) AS failed) n
ORDER BY n.route
ON CONFLICT (minute, route) DO UPDATE SET
    requests = m.requests + excluded.requests, refused = m.refused + excluded.refused, failed = m.failed + excluded.failed;

-- name: DropRequestMinutes :execrows
DELETE FROM request_minutes WHERE minute < now() - interval '6 hours';
