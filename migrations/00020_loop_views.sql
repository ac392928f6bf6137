-- Views of waiting tickets, the quality of matches, the workers that decide, and missing servers. Each view reads tables of live rows, or
-- some hours of history.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE VIEW ops.profiles AS
SELECT p.region, p.name AS profile, p.live, p.shadow, p.retired_at,
       CASE WHEN p.retired_at IS NOT NULL THEN 'retired' WHEN d.document ? 'function' THEN 'function'
            WHEN w.id IS NOT NULL THEN 'decided' ELSE 'no worker' END AS state,
       CASE WHEN w.id IS NOT NULL THEN o.worker END AS worker, o.epoch, o.owned_at, w.lease_until
FROM profiles p
JOIN profile_versions v ON v.region = p.region AND v.name = p.name AND v.version = p.live
CROSS JOIN LATERAL (SELECT nullif(convert_from(v.canonical, 'UTF8'), '')::jsonb AS document) d
LEFT JOIN profile_owners o ON o.region = p.region AND o.profile = p.name
LEFT JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp();
COMMENT ON VIEW ops.profiles IS 'Matchmaking profiles, and which worker decides for each. How far a worker is behind the queue is its metric director_loop_feed_lag_seconds.';
COMMENT ON COLUMN ops.profiles.region IS 'The region that is the universe of its tickets.';
COMMENT ON COLUMN ops.profiles.profile IS 'Its name.';
COMMENT ON COLUMN ops.profiles.live IS 'The version that decides.';
COMMENT ON COLUMN ops.profiles.shadow IS 'The version that only reports what it would decide.';
COMMENT ON COLUMN ops.profiles.retired_at IS 'When it was retired, after which it makes no matches.';
COMMENT ON COLUMN ops.profiles.state IS 'decided: a worker decides for it; no worker: its tickets only wait; function: a match function proposes its matches; retired.';
COMMENT ON COLUMN ops.profiles.worker IS 'The worker that decides for it.';
COMMENT ON COLUMN ops.profiles.epoch IS 'How often a worker has begun to decide for it.';
COMMENT ON COLUMN ops.profiles.owned_at IS 'When the last of them began.';
COMMENT ON COLUMN ops.profiles.lease_until IS 'When the lease of the worker expires. The worker renews it four times within its duration.';

CREATE VIEW ops.tickets_waiting AS
SELECT t.region, t.profile, t.tickets, t.players, t.waiting_for_server, t.oldest, t.p50, t.p95,
       (SELECT count(*) FROM jsonb_array_elements(r.rule->'widen') s WHERE (s->>'after')::interval <= t.oldest)::int AS step
FROM (
    SELECT k.region, k.profile, count(*) AS tickets, sum(k.players)::bigint AS players, count(*) FILTER (WHERE k.for_server) AS waiting_for_server,
           max(k.waits) AS oldest, percentile_cont(0.5) WITHIN GROUP (ORDER BY k.waits) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY k.waits) AS p95
    FROM (
        SELECT p.region, p.profile, count(*) AS players,
               greatest('0', statement_timestamp() - to_timestamp(q.created / 1e9)) AS waits,
               coalesce((SELECT e.state = 'waiting_for_server' FROM ticket_events e
                   WHERE q.version > 1 AND e.region = q.region AND e.ticket_id = q.id AND e.n = q.version
                     AND e.at >= to_timestamp(q.created / 1e9) AND e.at < statement_timestamp() + interval '1 day'), false) AS for_server
        FROM ticket_players p JOIN tickets q ON q.region = p.region AND q.id = p.ticket_id
        GROUP BY p.region, p.profile, p.ticket_id, q.region, q.id
    ) k GROUP BY k.region, k.profile
) t
LEFT JOIN LATERAL (
    SELECT e.rule FROM profiles f JOIN profile_versions v ON v.region = f.region AND v.name = f.name AND v.version = f.live
    CROSS JOIN LATERAL jsonb_array_elements(coalesce(nullif(convert_from(v.canonical, 'UTF8'), '')::jsonb->'rules', '[]')) WITH ORDINALITY e(rule, n)
    WHERE f.region = t.region AND f.name = t.profile AND jsonb_array_length(coalesce(e.rule->'widen', '[]')) > 0 ORDER BY e.n LIMIT 1) r ON true;
COMMENT ON VIEW ops.tickets_waiting IS 'Tickets of players in the queue, by profile. A ticket that names several profiles counts in each.';
COMMENT ON COLUMN ops.tickets_waiting.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.tickets_waiting.profile IS 'The profile; empty for tickets that name none.';
COMMENT ON COLUMN ops.tickets_waiting.tickets IS 'How many wait.';
COMMENT ON COLUMN ops.tickets_waiting.players IS 'How many players wait with them.';
COMMENT ON COLUMN ops.tickets_waiting.waiting_for_server IS 'How many of the tickets are in a match that waits for a server.';
COMMENT ON COLUMN ops.tickets_waiting.oldest IS 'How long the oldest has waited.';
COMMENT ON COLUMN ops.tickets_waiting.p50 IS 'How long half of them have waited at most.';
COMMENT ON COLUMN ops.tickets_waiting.p95 IS 'How long 95 % of them have waited at most.';
COMMENT ON COLUMN ops.tickets_waiting.step IS 'How often the profile''s first rule that widens has widened for the oldest.';

-- Six hours: at a hundred matches a second these are two million rows, the most that a dashboard may read.
CREATE VIEW ops.match_quality AS
WITH recent AS (
    SELECT h.region, h.profile, h.version, date_trunc('hour', h.committed_at, 'UTC') AS hour, h.id, h.joined, h.players, h.why->'rules' AS rules
    FROM match_history h WHERE h.committed_at > statement_timestamp() - interval '6 hours'
), waits AS (
    SELECT r.region, r.profile, r.version, r.hour, avg(k.left_at - k.created) AS mean_wait, max(k.left_at - k.created) AS longest_wait
    FROM recent r JOIN ticket_history k ON k.region = r.region AND k.match_id = r.id
    WHERE k.left_at > statement_timestamp() - interval '6 hours' AND k.outcome = 'assigned'
    GROUP BY r.region, r.profile, r.version, r.hour
), rules AS (
    SELECT a.region, a.profile, a.version, a.hour, jsonb_object_agg(a.rule, jsonb_build_object('mean', a.mean, 'highest', a.highest)) AS rules
    FROM (
        SELECT r.region, r.profile, r.version, r.hour, e->>'rule' AS rule, avg((e->>'value')::float8) AS mean, max((e->>'value')::float8) AS highest
        FROM recent r CROSS JOIN LATERAL jsonb_array_elements(coalesce(r.rules, '[]')) e
        WHERE e->>'rule' IS NOT NULL GROUP BY 1, 2, 3, 4, 5) a
    GROUP BY a.region, a.profile, a.version, a.hour
)
SELECT m.region, m.profile, m.version, m.hour, m.matches, m.joins, m.players, w.mean_wait, w.longest_wait,
       (m.mean_players / nullif(s.seats, 0))::float8 AS fill, coalesce(u.rules, '{}') AS rules
FROM (
    SELECT r.region, r.profile, r.version, r.hour, count(*) FILTER (WHERE NOT r.joined) AS matches, count(*) FILTER (WHERE r.joined) AS joins,
           sum(r.players)::bigint AS players, avg(r.players) FILTER (WHERE NOT r.joined) AS mean_players
    FROM recent r GROUP BY r.region, r.profile, r.version, r.hour
) m
LEFT JOIN waits w ON (w.region, w.profile, w.version, w.hour) = (m.region, m.profile, m.version, m.hour)
LEFT JOIN rules u ON (u.region, u.profile, u.version, u.hour) = (m.region, m.profile, m.version, m.hour)
LEFT JOIN LATERAL (
    SELECT sum(split_part(e->>'players', '..', -1)::int) AS seats
    FROM profile_versions v CROSS JOIN LATERAL jsonb_array_elements(coalesce(nullif(convert_from(v.canonical, 'UTF8'), '')::jsonb->'teams', '[]')) e
    WHERE v.region = m.region AND v.name = m.profile AND v.version = m.version) s ON true;
COMMENT ON VIEW ops.match_quality IS 'How good the matches of the last six hours are, by profile, version and hour.';
COMMENT ON COLUMN ops.match_quality.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.match_quality.profile IS 'The profile that made them.';
COMMENT ON COLUMN ops.match_quality.version IS 'Its version.';
COMMENT ON COLUMN ops.match_quality.hour IS 'The hour in which they were committed.';
COMMENT ON COLUMN ops.match_quality.matches IS 'How many matches were made.';
COMMENT ON COLUMN ops.match_quality.joins IS 'How often newcomers joined a match that was already playing.';
COMMENT ON COLUMN ops.match_quality.players IS 'How many players got a match.';
COMMENT ON COLUMN ops.match_quality.mean_wait IS 'How long their tickets had waited, on average; NULL where their history is not kept.';
COMMENT ON COLUMN ops.match_quality.longest_wait IS 'How long the ticket that waited longest had waited.';
COMMENT ON COLUMN ops.match_quality.fill IS 'The players of a match divided by the seats of its teams, on average.';
COMMENT ON COLUMN ops.match_quality.rules IS 'For each rule, the mean and the highest of the values that it compared, such as the difference in skill.';

CREATE VIEW ops.demand AS
SELECT d.region, d.mode, split_part(d.key, '/', 1) AS profile, split_part(d.key, '/', 2)::int AS seats, d.matches, d.players, d.since, d.updated_at
FROM demand d;
COMMENT ON VIEW ops.demand IS 'Matches that wait for a server, by game region, mode and size.';
COMMENT ON COLUMN ops.demand.region IS 'The game region that is best for these matches.';
COMMENT ON COLUMN ops.demand.mode IS 'The mode that a server must offer.';
COMMENT ON COLUMN ops.demand.profile IS 'The profile that made the matches.';
COMMENT ON COLUMN ops.demand.seats IS 'The seats that a session of them has.';
COMMENT ON COLUMN ops.demand.matches IS 'How many matches wait.';
COMMENT ON COLUMN ops.demand.players IS 'How many players wait in them.';
COMMENT ON COLUMN ops.demand.since IS 'When the first of them began to wait.';
COMMENT ON COLUMN ops.demand.updated_at IS 'When a worker last counted them. It counts every second.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.demand, ops.match_quality, ops.tickets_waiting, ops.profiles;
