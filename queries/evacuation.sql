-- db/evacuation.go runs these: what workers do about an evacuation that ops.evacuate has begun. See migrations/00060_evacuations.sql.

-- name: EvacuationsUnderWay :many
SELECT e.id FROM evacuations e WHERE e.ended_at IS NULL ORDER BY e.begun_at LIMIT 100;

-- name: HoldEvacuation :many
-- Locks an evacuation that has not ended, so that one transaction at a time works on it; no row: another one does, or it has ended.
SELECT e.id, e.target, e.value, e.region, e.requeue, e.dead, e.seats_in, e.lost_since, e.begun_at, e.actor FROM evacuations e
WHERE e.id = @id AND e.ended_at IS NULL FOR NO KEY UPDATE SKIP LOCKED;

-- name: SessionsToEvacuate :many
-- Locks sessions of some of the game servers that are to be emptied, in one region: about @players players at most. It skips locked ones, which a
-- later call finds.
WITH next AS MATERIALIZED (
    SELECT v.region, v.instance_id FROM evacuated_servers v
    WHERE v.evacuation = @evacuation AND v.emptied_at IS NULL
      AND EXISTS (SELECT FROM sessions s WHERE s.region = v.region AND s.instance_id = v.instance_id)
    ORDER BY v.region, v.instance_id LIMIT 16
), found AS MATERIALIZED (
    SELECT f.region, f.id, f.player_count FROM next x CROSS JOIN LATERAL (
        SELECT o.region, o.id, o.player_count FROM sessions o WHERE o.region = x.region AND o.instance_id = x.instance_id LIMIT sqlc.arg(batch)) f
    WHERE x.region = (SELECT min(y.region) FROM next y) LIMIT sqlc.arg(batch)
), page AS MATERIALIZED (
    SELECT w.region, w.id, sum(w.player_count) OVER (ORDER BY w.id) AS upto, row_number() OVER (ORDER BY w.id) AS n FROM found w
)
SELECT s.region, s.id FROM sessions s
WHERE s.region = (SELECT min(g.region) FROM page g)
  AND s.id = ANY (ARRAY(SELECT g.id FROM page g WHERE g.n = 1 OR g.upto <= sqlc.arg(players)::bigint))
ORDER BY s.id FOR UPDATE OF s SKIP LOCKED;

-- name: ReleaseEvacuated :execrows
-- Writes down the players of sessions that this transaction has locked and closes next. Of the tickets that are in the roster for a player, the last
-- is the one by which the player came. A player without one, in a session without a match, is from POST /matchmake.
INSERT INTO evacuated_players (region, session_id, sub, evacuation, instance_id, mode, max_players, party, reserved_by, seated_at, universe, ticket,
    waited, state, why, decided_at)
SELECT s.region, s.id, st.sub, @evacuation, s.instance_id, s.mode, s.max_players, st.party, st.reserved_by, st.reserved_at, coalesce(m.universe, ''),
       coalesce(r.ticket, ''), h.waited, CASE WHEN @requeue::bool THEN 'released' ELSE 'left' END, CASE WHEN @requeue::bool THEN '' ELSE 'not_asked' END,
       CASE WHEN NOT @requeue::bool THEN clock_timestamp() END
FROM sessions s
JOIN seats st ON st.region = s.region AND st.session_id = s.id
LEFT JOIN matches m ON m.region = s.region AND m.id = s.match_id
LEFT JOIN LATERAL (
    SELECT p.player ->> 'ticket' AS ticket FROM jsonb_array_elements(m.roster) WITH ORDINALITY AS p (player, n)
    WHERE p.player ->> 'sub' = st.sub ORDER BY p.n DESC LIMIT 1) r ON true
LEFT JOIN LATERAL (
    SELECT o.left_at - o.created AS waited FROM ticket_history o WHERE o.region = m.universe AND o.id = r.ticket ORDER BY o.left_at DESC LIMIT 1) h ON true
WHERE s.region = @region AND s.id = ANY (@ids::uuid[])
ORDER BY s.id, st.sub
ON CONFLICT DO NOTHING;

-- name: CloseEvacuated :many
SELECT close_sessions(@region, @ids::uuid[], 'evacuated', @actor)::uuid AS id;

-- name: ServersToEmpty :many
-- Returns game servers without sessions that are to be emptied. The drain keeps new sessions away.
SELECT v.region, v.instance_id FROM evacuated_servers v
WHERE v.evacuation = @evacuation AND v.emptied_at IS NULL
  AND NOT EXISTS (SELECT FROM sessions s WHERE s.region = v.region AND s.instance_id = v.instance_id)
ORDER BY v.region, v.instance_id LIMIT sqlc.arg(batch);

-- name: InstanceToEnd :many
-- Locks an instance that has not ended if its lease has expired, or with @dead in any case.
SELECT i.id FROM instances i LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE i.region = @region AND i.id = @id AND i.status <> 'gone' AND (@dead::bool OR NOT coalesce(l.heartbeat_at > (SELECT lease_horizon()), false))
FOR NO KEY UPDATE OF i;

-- name: ReleaseLost :execrows
-- Writes down the players of instances whose sessions closed because they were lost, before the evacuation came to them, unless the players have
-- waited or played since. Everything is looked up by its index, whatever the statistics say: history is long.
INSERT INTO evacuated_players (region, session_id, sub, evacuation, instance_id, mode, max_players, party, reserved_by, seated_at, universe, ticket,
    waited, state)
SELECT DISTINCT ON (h.region, h.session_id, h.sub)
       h.region, h.session_id, h.sub, @evacuation, i.id, h.mode, s.max_players, h.party, h.reserved_by, h.reserved_at,
       coalesce(t.region, ''), coalesce(t.id, ''), t.waited, 'released'
FROM unnest(@instance_ids::text[]) AS i (id)
CROSS JOIN LATERAL (SELECT l.region, l.session_id, l.reason FROM lost_sessions(i.id, @lost_since) AS l (region, session_id, reason) OFFSET 0) c
CROSS JOIN LATERAL (
    SELECT o.max_players FROM session_history o WHERE o.region = c.region AND o.id = c.session_id AND o.closed_at >= @lost_since LIMIT 1) s
CROSS JOIN LATERAL (
    SELECT o.* FROM seat_history o WHERE o.region = c.region AND o.session_id = c.session_id AND o.reason = 'session ' || c.reason
      AND o.left_at >= @lost_since OFFSET 0) h
LEFT JOIN LATERAL (
    SELECT o.region, o.id, o.left_at - o.created AS waited FROM (SELECT f.region FROM profiles f UNION SELECT f.region FROM profile_owners f) u
    CROSS JOIN LATERAL (SELECT k.ticket FROM match_history g CROSS JOIN unnest(g.tickets) AS k (ticket)
                        WHERE g.region = u.region AND g.session_id = h.session_id OFFSET 0) k
    CROSS JOIN LATERAL (SELECT x.* FROM ticket_history x WHERE x.region = u.region AND x.id = k.ticket OFFSET 0) o
    WHERE h.match_id IS NOT NULL AND h.sub = ANY (o.party) ORDER BY o.left_at DESC LIMIT 1) t ON true
WHERE (SELECT true FROM fleet_regions() r (region) CROSS JOIN LATERAL (
           SELECT FROM seats st WHERE st.region = r.region AND st.sub = h.sub AND st.state = 'reserved'
           UNION ALL SELECT FROM seats st WHERE st.region = r.region AND st.sub = h.sub AND st.state = 'connected' OFFSET 0) st LIMIT 1) IS NULL
  AND (SELECT true FROM seat_history o WHERE o.sub = h.sub AND o.left_at > h.left_at LIMIT 1) IS NULL
ORDER BY h.region, h.session_id, h.sub, h.left_at DESC
ON CONFLICT DO NOTHING;

-- name: NoteEmptied :exec
UPDATE evacuated_servers v SET emptied_at = clock_timestamp(), ended = n.ended
FROM (SELECT unnest(@regions::text[]) AS region, unnest(@instance_ids::text[]) AS instance_id, unnest(@ended::bool[]) AS ended) n
WHERE v.evacuation = @evacuation AND v.region = n.region AND v.instance_id = n.instance_id;

-- name: EvacuatedTickets :many
-- Returns tickets whose players are to be queued, those that had waited longest first, with what the history keeps of them, and the room of the
-- realtime lobby that the match had. A ticket whose history may still be written is left out for @patience.
SELECT w.universe, w.ticket, w.subs::text[] AS subs, (h.id IS NOT NULL)::bool AS has_history, coalesce(h.waited, '0')::interval AS waited,
       coalesce(h.party, '{}')::text[] AS party, coalesce(h.profiles, '{}')::text[] AS profiles,
       coalesce(h.attributes::text, '')::text AS attributes, coalesce(h.latencies::text, '')::text AS latencies,
       coalesce(l.region, '')::text AS lobby_region, coalesce(l.project, '')::text AS project, coalesce(l.type, '')::text AS room_type,
       coalesce(l.size, 0)::int AS size, coalesce(l.participants, '{}')::text[] AS participants,
       coalesce(l.participant_players, '{}')::text[] AS participant_players, coalesce(l.participant_seats, '{}')::text[] AS participant_seats
FROM (
    SELECT p.universe, p.ticket, array_agg(p.sub ORDER BY p.sub) AS subs, max(p.waited) AS waited, max(p.released_at) AS released_at
    FROM evacuated_players p WHERE p.evacuation = @evacuation AND p.state = 'released' AND p.ticket <> ''
    GROUP BY p.universe, p.ticket ORDER BY 4 DESC NULLS LAST, 2 LIMIT sqlc.arg(batch)) w
LEFT JOIN LATERAL (
    SELECT o.id, o.left_at - o.created AS waited, o.party, o.profiles, o.attributes, o.latencies, o.match_id FROM ticket_history o
    WHERE o.region = w.universe AND o.id = w.ticket ORDER BY o.left_at DESC LIMIT 1) h ON true
LEFT JOIN LATERAL (
    SELECT k.region, k.project, k.type, k.size, k.participants, k.participant_players, k.participant_seats
    FROM lobby_regions() r (region) JOIN lobbies k ON k.region = r.region AND k.match_id = h.match_id
    WHERE k.participant_seats && w.subs LIMIT 1) l ON true
WHERE h.id IS NOT NULL OR w.released_at < clock_timestamp() - sqlc.arg(patience)::interval
ORDER BY w.waited DESC NULLS LAST, w.ticket;

-- name: HoldRealtimeSessions :many
-- Returns those of the sessions of the realtime lobby that exist, and locks them so that they do not end before the commit.
SELECT s.id FROM realtime_sessions s WHERE s.region = @region AND s.id = ANY (@ids::text[]) ORDER BY s.id FOR SHARE;

-- name: EvacuatedParties :many
-- Returns players without a ticket who are to be seated elsewhere, party by party, those that had their seats longest first. One party too many in
-- a page is whole in the next.
SELECT p.region, p.session_id, p.party, p.mode, p.max_players, p.reserved_by, array_agg(p.sub ORDER BY p.sub)::text[] AS subs
FROM evacuated_players p WHERE p.evacuation = @evacuation AND p.state = 'released' AND p.ticket = ''
GROUP BY p.region, p.session_id, p.party, p.mode, p.max_players, p.reserved_by ORDER BY min(p.seated_at), p.session_id, p.party LIMIT sqlc.arg(batch);

-- name: SeatsOfEvacuated :many
-- Returns the seats that players have in live sessions of a region.
SELECT w.sub::text AS sub, f.session_id, f.mode FROM (SELECT DISTINCT unnest(@subs::text[]) AS sub) w CROSS JOIN LATERAL (
    SELECT st.session_id, st.mode FROM seats st WHERE st.region = @region AND st.sub = w.sub AND st.state = 'reserved'
    UNION ALL
    SELECT st.session_id, st.mode FROM seats st WHERE st.region = @region AND st.sub = w.sub AND st.state = 'connected'
    OFFSET 0) f
JOIN live_sessions v ON v.region = @region AND v.id = f.session_id;

-- name: DecideEvacuated :execrows
-- Records what became of players. The first decision about a player stands. The nil UUID means no session.
UPDATE evacuated_players p SET state = n.state, why = n.why, next_ticket = n.ticket, next_region = n.next_region,
    next_session = nullif(n.next_session, '00000000-0000-0000-0000-000000000000'), decided_at = clock_timestamp()
FROM (SELECT unnest(@regions::text[]) AS region, unnest(@sessions::uuid[]) AS session_id, unnest(@subs::text[]) COLLATE "C" AS sub,
             unnest(@states::text[]) AS state, unnest(@why::text[]) AS why, unnest(@tickets::text[]) AS ticket,
             unnest(@next_regions::text[]) AS next_region, unnest(@next_sessions::uuid[]) AS next_session) n
WHERE p.region = n.region AND p.session_id = n.session_id AND p.sub = n.sub AND p.state = 'released';

-- name: DecideEvacuatedOfTickets :execrows
-- As DecideEvacuated, for players of tickets, which are in one session.
UPDATE evacuated_players p SET state = n.state, why = n.why, next_ticket = n.next_ticket, decided_at = clock_timestamp()
FROM (SELECT unnest(@tickets::text[]) COLLATE "C" AS ticket, unnest(@subs::text[]) COLLATE "C" AS sub, unnest(@states::text[]) AS state,
             unnest(@why::text[]) AS why, unnest(@next_tickets::text[]) AS next_ticket) n
WHERE p.evacuation = @evacuation AND p.ticket = n.ticket AND p.sub = n.sub AND p.state = 'released';

-- name: LeaveEvacuated :execrows
-- Decides that players without a ticket get nothing.
UPDATE evacuated_players p SET state = 'left', why = @why, decided_at = clock_timestamp()
WHERE p.evacuation = @evacuation AND p.state = 'released' AND p.ticket = '';

-- name: EndEvacuation :execrows
-- Ends an evacuation, which this transaction has locked, unless something is left to do.
WITH ended AS (
    UPDATE evacuations e SET ended_at = clock_timestamp()
    WHERE e.id = @id AND e.ended_at IS NULL
      AND NOT EXISTS (SELECT FROM evacuated_servers v WHERE v.evacuation = e.id AND v.emptied_at IS NULL)
      AND NOT EXISTS (SELECT FROM evacuated_players p WHERE p.evacuation = e.id AND p.state = 'released')
    RETURNING e.id, e.region, e.target, e.value, e.begun_at, e.ended_at
)
INSERT INTO events (region, kind, detail)
SELECT d.region, 'evacuation.ended', jsonb_build_object('evacuation', d.id, d.target, d.value, 'players', count(p.sub),
    'queued', count(*) FILTER (WHERE p.state = 'queued'), 'seated', count(*) FILTER (WHERE p.state = 'seated'),
    'nothing', count(*) FILTER (WHERE p.state = 'left'), 'seconds', round(extract(epoch FROM d.ended_at - d.begun_at), 3))
FROM ended d LEFT JOIN evacuated_players p ON p.evacuation = d.id
GROUP BY d.id, d.region, d.target, d.value, d.begun_at, d.ended_at;

-- name: ForgetEvacuatedPlayers :execrows
DELETE FROM evacuated_players p USING (
    SELECT o.region, o.session_id, o.sub FROM evacuations e JOIN evacuated_players o ON o.evacuation = e.id
    WHERE e.ended_at < now() - sqlc.arg(keep)::interval ORDER BY 1, 2, 3 LIMIT @batch FOR UPDATE OF o SKIP LOCKED) h
WHERE p.region = h.region AND p.session_id = h.session_id AND p.sub = h.sub;

-- name: ForgetEvacuations :execrows
-- Deletes evacuations whose players are forgotten.
WITH old AS (
    SELECT e.id FROM evacuations e WHERE e.ended_at < now() - sqlc.arg(keep)::interval
      AND NOT EXISTS (SELECT FROM evacuated_players p WHERE p.evacuation = e.id) ORDER BY e.id LIMIT @batch FOR UPDATE SKIP LOCKED
), servers AS (
    DELETE FROM evacuated_servers v WHERE v.evacuation IN (SELECT o.id FROM old o)
)
DELETE FROM evacuations e WHERE e.id IN (SELECT o.id FROM old o);

-- name: WhereEvacuated :many
-- Returns where players of sessions, by their handles, went in an evacuation: a ticket, or the handle of the session of their next seat.
SELECT a.handle::text AS handle, a.sub::text AS sub, p.next_ticket, coalesce(
    (SELECT s.handle FROM sessions s WHERE s.region = p.next_region AND s.id = p.next_session),
    (SELECT o.handle FROM session_history o WHERE o.region = p.next_region AND o.id = p.next_session LIMIT 1), '')::text AS next_handle
FROM (SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) COLLATE "C" AS sub) a
JOIN session_history h ON h.region = @region AND h.handle = a.handle
JOIN evacuated_players p ON p.region = h.region AND p.session_id = h.id AND p.sub = a.sub
WHERE p.state IN ('queued', 'seated');
