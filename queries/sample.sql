-- Measures for plots, by minute: workers take them, and operators see them in ops.minute_samples.

-- name: TakeSamples :execrows
-- Writes the measures of the present minute, unless they are there. It reads all game servers and the queue, once a minute for all workers.
WITH this AS MATERIALIZED (
    SELECT date_trunc('minute', now()) AS minute WHERE NOT EXISTS (SELECT FROM minute_samples s WHERE s.minute = date_trunc('minute', now()))
), fleet AS MATERIALIZED (
    SELECT f.region, CASE WHEN f.status <> 'gone' AND NOT f.alive AND f.status <> 'starting' THEN 'silent' ELSE f.status END AS state,
           f.capacity, f.reserved_seats, f.open_sessions, f.players
    FROM this CROSS JOIN ops.fleet f WHERE f.status <> 'gone'
)
INSERT INTO minute_samples (minute, region, measure, subject, value)
SELECT t.minute, m.region, m.measure, m.subject, m.value FROM this t CROSS JOIN LATERAL (
    SELECT f.region, 'instances' AS measure, f.state AS subject, count(*)::float8 AS value FROM fleet f GROUP BY f.region, f.state
    UNION ALL
    SELECT f.region, k.measure, '', sum(k.value)::float8
    FROM fleet f CROSS JOIN LATERAL (VALUES ('capacity', f.capacity), ('reserved', f.reserved_seats), ('sessions', f.open_sessions)) AS k(measure, value)
    WHERE f.state = 'ready' GROUP BY f.region, k.measure
    UNION ALL
    SELECT f.region, 'players', '', sum(f.players)::float8 FROM fleet f WHERE f.state <> 'silent' GROUP BY f.region
    UNION ALL
    SELECT q.region, k.measure, '', k.value FROM ops.queue q CROSS JOIN LATERAL (VALUES ('tickets', q.tickets::float8), ('oldest_ticket', q.oldest_seconds::float8)) AS k(measure, value)
    UNION ALL
    SELECT d.region, 'waiting_players', '', sum(d.players)::float8 FROM ops.demand d GROUP BY d.region
    UNION ALL
    SELECT '', 'late_loops', '', count(*) FILTER (WHERE w.late)::float8 FROM ops.worker_loops w
    UNION ALL
    SELECT '', 'oldest_snapshot', '', coalesce(max(extract(epoch FROM o.age)), 0)::float8 FROM ops.oldest_snapshot o WHERE o.holders > 0) m
UNION ALL
SELECT t.minute - interval '1 minute', p.region, 'matches', p.name, k.n
FROM this t CROSS JOIN profiles p CROSS JOIN LATERAL (
    SELECT count(*)::float8 AS n FROM match_history h
    WHERE h.region = p.region AND h.profile = p.name COLLATE "default" AND h.committed_at >= t.minute - interval '1 minute' AND h.committed_at < t.minute) k
WHERE k.n > 0
UNION ALL
SELECT t.minute - interval '1 minute', f.region, 'lost', '', count(*)::float8
FROM this t CROSS JOIN ops.fleet f
WHERE f.status = 'gone' AND f.ended_at >= t.minute - interval '1 minute' AND f.ended_at < t.minute AND EXISTS (
    SELECT FROM ops.events e WHERE e.instance = f.instance AND e.at > t.minute - interval '2 minutes' AND e.kind = 'instance.ended'
      AND e.detail ->> 'reason' = 'lease expired')
GROUP BY t.minute, f.region
ON CONFLICT DO NOTHING;

-- name: DropSamples :execrows
DELETE FROM minute_samples WHERE minute < now() - interval '6 hours';
