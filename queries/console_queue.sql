-- The console's pages of the queue and of matches.

-- name: ConsoleProfiles :many
-- Returns the profiles of a universe, and the tickets that wait for each. It reads all queued tickets of players.
SELECT p.profile, p.live, p.shadow, p.retired_at, p.state::text AS state, coalesce(p.worker::text, '')::text AS worker,
       coalesce(p.paused_at, 'epoch')::timestamptz AS paused_at, coalesce(p.pause_reason, '')::text AS pause_reason,
       coalesce(t.tickets, 0)::bigint AS tickets, coalesce(t.players, 0)::bigint AS players, coalesce(t.waiting_for_server, 0)::bigint AS waiting_for_server,
       coalesce(t.oldest, '0')::interval AS oldest, coalesce(t.p50, '0')::interval AS p50, coalesce(t.p95, '0')::interval AS p95, coalesce(t.step, 0)::int AS step
FROM ops.profiles p LEFT JOIN ops.tickets_waiting t ON t.region = p.region AND t.profile = p.profile
WHERE p.region = @universe ORDER BY p.retired_at IS NOT NULL, p.profile LIMIT @most;

-- name: ConsoleQueue :many
SELECT q.region, q.tickets::bigint AS tickets, q.matched::bigint AS matched, coalesce(q.oldest_seconds, 0)::float8 AS oldest_seconds FROM ops.queue q ORDER BY q.region LIMIT 100;

-- name: ConsoleQueueWaits :many
-- Returns the waits of the last hour by minute, oldest first. Its cost grows with the tickets that left in that hour.
SELECT w.minute::timestamptz AS minute, w.profile::text AS profile, w.outcome, w.tickets::bigint AS tickets, coalesce(w.p50, '0')::interval AS p50,
       coalesce(w.p95, '0')::interval AS p95, coalesce(w.longest, '0')::interval AS longest
FROM ops.queue_waits w WHERE w.region = @universe AND (@profile::text = '' OR w.profile = @profile::text)
ORDER BY w.minute, w.profile, w.outcome LIMIT 10000;

-- name: ConsoleMatchMinutes :many
-- Returns measures of some matches of each minute of the last hour, oldest first.
SELECT m.minute::timestamptz AS minute, m.profile::text AS profile, m.version, m.measure::text AS measure, m.matches::bigint AS matches, m.mean::float8 AS mean, m.highest::float8 AS highest
FROM ops.match_minutes m WHERE m.region = @universe AND (@profile::text = '' OR m.profile = @profile::text)
ORDER BY m.measure, m.profile, m.version, m.minute LIMIT 10000;

-- name: ConsoleMatches :many
-- Returns the latest matches that play or are proposed, up to @most of each profile.
SELECT m.region, m.match, m.profile, m.version, m.state, coalesce(m.session, '')::text AS session, coalesce(m.mode, '')::text AS mode, m.tickets::int AS tickets,
       m.players::int AS players, m.connected::bigint AS connected, m.decided_at, m.deadline
FROM ops.profiles p CROSS JOIN LATERAL (
    SELECT * FROM ops.matches k WHERE k.universe = p.region AND k.profile = p.profile ORDER BY k.decided_at DESC LIMIT @most) m
WHERE p.region = @universe AND (@profile::text = '' OR p.profile = @profile::text)
ORDER BY m.decided_at DESC, m.match LIMIT @most;

-- name: ConsolePastMatches :many
-- Returns a page of committed matches, latest first, before (@before, @id), which an index finds for each profile. The inner limit is the
-- largest page, and a constant: for a parameter the planner would expect a tenth of the matches, and sort all. The index has the default collation, and names of profiles have "C".
SELECT m.match, m.profile, m.version, m.joined, coalesce(m.game_region, '')::text AS game_region, coalesce(m.mode, '')::text AS mode,
       coalesce(m.session, '')::text AS session, m.tickets::int AS tickets, m.players, m.decided_at, m.committed_at
FROM ops.profiles p CROSS JOIN LATERAL (
    SELECT * FROM ops.past_matches k WHERE k.region = p.region AND k.profile = p.profile COLLATE "default" AND k.committed_at <= @before::timestamptz
      AND (k.committed_at, k.match) < (@before::timestamptz, @id::uuid)
    ORDER BY k.committed_at DESC, k.match DESC LIMIT 501) m
WHERE p.region = @universe AND (@profile::text = '' OR p.profile = @profile::text)
ORDER BY m.committed_at DESC, m.match DESC LIMIT @most;

