-- What an evacuation did, once it has ended. wrong: players who have no place or two, a seat being one; overtaken: tickets before those that had waited
-- longer.
WITH queued AS (
    SELECT DISTINCT p.next_ticket, p.waited, k.created FROM evacuated_players p JOIN tickets k ON k.id = p.next_ticket
), pairs AS (
    SELECT q.waited, lag(q.waited) OVER (ORDER BY q.created, q.waited DESC) AS before FROM queued q
)
SELECT extract(epoch FROM e.ended_at - e.begun_at)::float8 AS seconds,
       (SELECT count(*) FROM evacuated_players p WHERE p.state IN ('queued', 'seated')) AS placed,
       (SELECT count(*) FROM evacuated_players p
        WHERE (SELECT count(*) FROM ticket_players k WHERE k.sub = p.sub) + (SELECT count(*) FROM seats s WHERE s.sub = p.sub) <> 1) AS wrong,
       (SELECT count(*) FROM pairs x WHERE x.waited > x.before + interval '2 microseconds') AS overtaken
FROM evacuations e
WHERE e.ended_at IS NOT NULL;
