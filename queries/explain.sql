-- Reads that explain a match. Explanations of tickets use the statements of player_ticket.sql and loop.sql.

-- name: RememberedMatch :one
-- Returns a committed match and the game server of its session, if still known. Each partition is looked up by its key.
SELECT h.profile, h.version, h.seed, coalesce(h.game_region, '')::text AS game_region, coalesce(h.mode, '')::text AS mode, h.session_id, h.joined,
       h.tickets, h.why::jsonb AS why, h.decided_at, h.committed_at, (s.id IS NOT NULL)::bool AS playing,
       coalesce(s.instance_id, p.instance_id, '')::text AS host
FROM match_history h
LEFT JOIN LATERAL (SELECT o.id, o.instance_id FROM sessions o WHERE o.region = h.game_region AND o.id = h.session_id OFFSET 0) s ON true
LEFT JOIN LATERAL (SELECT o.instance_id FROM session_history o WHERE o.region = h.game_region AND o.id = h.session_id ORDER BY o.closed_at DESC LIMIT 1) p ON true
WHERE h.region = @universe AND h.id = @id LIMIT 1;

-- name: CurrentMatch :one
-- Returns a proposed or accepted match, or one that plays and has no history. The region of the match is not known, so every region
-- that has game servers is looked up by its key.
SELECT m.region, m.state, m.profile, m.version, m.session_id, m.deadline, m.tickets, coalesce(m.decision, '{}')::jsonb AS decision, m.decided_at,
       coalesce(s.mode, '')::text AS mode, coalesce(s.instance_id, '')::text AS host
FROM (SELECT @universe::text AS region UNION SELECT DISTINCT i.region FROM instances i) r
CROSS JOIN LATERAL (SELECT o.* FROM matches o WHERE o.region = r.region AND o.id = @id AND o.universe = @universe::text OFFSET 0) m
LEFT JOIN LATERAL (SELECT o.mode, o.instance_id FROM sessions o WHERE o.region = m.region AND o.id = m.session_id OFFSET 0) s ON true
LIMIT 1;

-- name: TicketOutcomes :many
-- Returns the outcomes of tickets since a moment: from the history, which also has how long they waited, or else the latest state.
SELECT w.id::text AS id, coalesce(h.outcome, e.state, '')::text AS outcome, coalesce(h.waited, '0')::interval AS waited,
       (h.outcome IS NOT NULL)::bool AS remembered
FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id) w
LEFT JOIN LATERAL (
    SELECT o.outcome, (o.left_at - o.created)::interval AS waited FROM ticket_history o
    WHERE o.region = @universe AND o.id = w.id AND o.left_at >= @since::timestamptz ORDER BY o.left_at DESC LIMIT 1) h ON true
LEFT JOIN LATERAL (
    SELECT o.state FROM ticket_events o WHERE o.region = @universe AND o.ticket_id = w.id AND o.at >= @since::timestamptz
    ORDER BY o.n DESC, o.at DESC LIMIT 1) e ON true;

-- name: TicketsBeginning :many
-- Returns the ids of the oldest queued tickets that begin with a text, for the completion of a command line.
SELECT id FROM tickets WHERE starts_with(id, @begun::text) ORDER BY created LIMIT 100;
