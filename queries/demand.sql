-- Who waits for a server that a pool could start. The rows of the director loop are written in loop.sql and match.sql.

-- name: PutWaiting :many
-- Records parties that wait, in modes that a pool serves, and returns these modes. A row that is written again keeps its since. It is
-- written only when half of its time is over, so that clients that ask each second cost one write in thirty. A mode with @at_most rows
-- takes no new ones.
WITH asked AS (
    SELECT unnest(@modes::text[]) COLLATE "C" AS mode, unnest(@keys::text[]) COLLATE "C" AS key, unnest(@party_keys::uuid[]) AS party_key,
           unnest(@sizes::int[]) AS size, unnest(@max_players::int[]) AS max_players, unnest(@addresses::text[]) AS address
), pooled AS MATERIALIZED (
    SELECT m.mode, m.app, m.version, (
        SELECT count(*) FROM (SELECT FROM demand d WHERE d.region = @region AND d.mode = m.mode LIMIT @at_most::int) r) < @at_most::int AS takes_more
    FROM pool_modes m WHERE m.region = @region AND m.mode = ANY (@modes::text[])
), put AS (
    INSERT INTO demand AS d (region, mode, key, source, party, max_players, party_key, matches, players, expires_at, address)
    SELECT @region, a.mode, a.key, @source, a.size, a.max_players, a.party_key, 1, a.size, now() + sqlc.arg(ttl)::interval, nullif(a.address, '')::inet
    FROM asked a JOIN pooled p ON p.mode = a.mode
    WHERE p.takes_more OR EXISTS (SELECT FROM demand o WHERE o.region = @region AND o.mode = a.mode AND o.key = a.key)
    ORDER BY a.mode, a.key
    ON CONFLICT (region, mode, key) DO UPDATE SET
        source = excluded.source, party = excluded.party, max_players = excluded.max_players, party_key = excluded.party_key,
        players = excluded.players, expires_at = excluded.expires_at, address = excluded.address, updated_at = now(),
        since = CASE WHEN d.expires_at < now() THEN now() ELSE d.since END
    WHERE d.expires_at < now() + sqlc.arg(ttl)::interval / 2
       OR (d.party_key, d.max_players) IS DISTINCT FROM (excluded.party_key, excluded.max_players)
    RETURNING 1
)
SELECT p.mode, EXISTS (SELECT FROM put) AS written, coalesce((l.last_plan ->> 'coming')::int, 0)::int AS starting,
       coalesce((l.last_plan ->> 'live')::int + (l.last_plan ->> 'coming')::int + coalesce((l.last_plan ->> 'draining')::int, 0)
           + coalesce((l.last_plan ->> 'ending')::int, 0) >= l.max_servers, l.max_servers = 0)::bool AS is_full,
       coalesce(l.paused_until > now(), false)::bool AS paused_by_operator,
       coalesce(greatest(l.paused_until, v.paused_until, (
           SELECT max(s.until) FROM start_pauses s WHERE s.region = @region AND s.app = p.app AND s.version = p.version)), 'epoch')::timestamptz AS paused_until
FROM pooled p
JOIN pools l ON l.region = @region AND l.app = p.app AND l.version = p.version
JOIN app_versions v ON v.app = p.app AND v.version = p.version;

-- name: EndWaiting :exec
-- Deletes rows of players who wait no longer. It skips rows that are being renewed: those lapse.
DELETE FROM demand d USING (
    SELECT h.mode, h.key FROM (SELECT unnest(@modes::text[]) COLLATE "C" AS mode, unnest(@keys::text[]) COLLATE "C" AS key ORDER BY 1, 2) w
    CROSS JOIN LATERAL (SELECT o.mode, o.key FROM demand o WHERE o.region = @region AND o.mode = w.mode AND o.key = w.key FOR UPDATE SKIP LOCKED) h) g
WHERE d.region = @region AND d.mode = g.mode AND d.key = g.key;

-- name: SweepDemand :execrows
DELETE FROM demand d USING (
    SELECT o.mode, o.key FROM demand o WHERE o.region = @region AND o.expires_at <= now()
    ORDER BY o.expires_at LIMIT @batch FOR UPDATE SKIP LOCKED) g
WHERE d.region = @region AND d.mode = g.mode AND d.key = g.key;

-- name: DemandRegions :many
-- The regions that have demand that lapses, read by one index lookup a region.
WITH RECURSIVE r AS (
    (SELECT d.region FROM demand d WHERE d.expires_at IS NOT NULL ORDER BY d.region LIMIT 1)
    UNION ALL
    SELECT (SELECT n.region FROM demand n WHERE n.expires_at IS NOT NULL AND n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL
)
SELECT r.region::text AS region FROM r WHERE r.region IS NOT NULL;

-- name: ModesOfPools :many
-- Of all regions, since a region comes from callers, who could name any number of them.
SELECT region, mode FROM pool_modes ORDER BY region, mode LIMIT 100000;
