-- Reads of a replay, in pages, so that a week of a large title takes no more memory than an hour.

-- name: ReplayTickets :many
-- Returns a page of the tickets that may have been candidates of a profile and were in the queue between two times, by creation. The
-- match of a ticket was committed when the ticket left, so left_at selects the partition of the match.
SELECT h.id, h.created, coalesce(h.seen_at, h.created)::timestamptz AS seen_at, h.left_at,
       coalesce(h.left_seen_at, 'epoch')::timestamptz AS left_seen_at, h.profiles, h.party, h.attributes, h.latencies, h.outcome,
       coalesce(h.profile, '')::text AS profile, coalesce(m.id, '00000000-0000-0000-0000-000000000000')::uuid AS match_id,
       coalesce(m.version, 0)::int AS version, coalesce(m.seed, 0)::bigint AS seed, coalesce(m.decided_at, 'epoch')::timestamptz AS decided_at,
       coalesce(m.joined, false)::bool AS joined, coalesce(cardinality(m.tickets), 0)::int AS tickets,
       coalesce(m.tickets[1] = h.id, false)::bool AS first,
       coalesce((SELECT t->>'name' FROM jsonb_array_elements(m.why->'teams') t WHERE t->'tickets' ? h.id LIMIT 1), '')::text AS team
FROM (
    SELECT * FROM ticket_history t
    WHERE t.region = @region AND t.left_at >= sqlc.arg(since)::timestamptz AND t.created < sqlc.arg(until)::timestamptz
      AND (t.created, t.id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::text)
      AND (t.profiles = '{}' OR sqlc.arg(profile)::text = ANY (t.profiles))
    ORDER BY t.created, t.id LIMIT sqlc.arg(page)) h
LEFT JOIN match_history m ON m.region = h.region AND m.id = h.match_id AND m.committed_at = h.left_at
ORDER BY h.created, h.id;

-- name: ReplayMatches :many
-- Returns a page of the matches that a profile made, by commit time, without those of newcomers of open matches.
SELECT m.id, m.version, m.players, coalesce(m.game_region, '')::text AS game_region, m.why, m.committed_at FROM match_history m
WHERE m.region = @region AND m.profile = @profile AND NOT m.joined
  AND m.committed_at >= sqlc.arg(since)::timestamptz AND m.committed_at < sqlc.arg(until)::timestamptz
  AND (m.committed_at, m.id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
ORDER BY m.committed_at, m.id LIMIT sqlc.arg(page);

-- name: ReplayVersions :many
-- Returns the versions of a profile that made matches, with the seeds of the workers that decided.
SELECT m.version, m.seed, count(*)::int AS matches FROM match_history m
WHERE m.region = @region AND m.profile = @profile AND m.committed_at >= sqlc.arg(since)::timestamptz AND m.committed_at < sqlc.arg(until)::timestamptz
GROUP BY m.version, m.seed ORDER BY count(*) DESC, m.version, m.seed LIMIT 1000;

-- name: ReplayRegions :many
-- Returns the game regions in which matches of a profile were or could have been played.
SELECT r.name FROM (
    SELECT m.game_region::text AS name FROM match_history m
    WHERE m.region = @region AND m.profile = @profile AND m.committed_at >= sqlc.arg(since)::timestamptz AND m.committed_at < sqlc.arg(until)::timestamptz
      AND m.game_region IS NOT NULL
    UNION
    SELECT (jsonb_array_elements(m.why->'regions')->>'region')::text FROM match_history m
    WHERE m.region = @region AND m.profile = @profile AND m.committed_at >= sqlc.arg(since)::timestamptz AND m.committed_at < sqlc.arg(until)::timestamptz) r
ORDER BY 1 LIMIT 64;

-- name: ReplayShortages :many
-- Returns the matches of a profile that waited for a server for longer than a commit takes.
SELECT m.game_region::text AS game_region, m.decided_at, m.committed_at FROM match_history m
WHERE m.region = @region AND m.profile = @profile AND NOT m.joined AND m.game_region IS NOT NULL
  AND m.committed_at >= sqlc.arg(since)::timestamptz AND m.committed_at < sqlc.arg(until)::timestamptz
  AND m.committed_at - m.decided_at > sqlc.arg(longer)::interval
ORDER BY m.committed_at, m.id LIMIT sqlc.arg(page);

-- name: ReplayHistory :one
-- Returns the time of the first ticket in the history; the epoch: there is none.
SELECT coalesce(min(h.left_at), 'epoch')::timestamptz AS begins FROM ticket_history h WHERE h.region = @region;
