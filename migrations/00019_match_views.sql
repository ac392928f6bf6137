-- Matches of the director loop for operators, and what must never be true of them.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE VIEW ops.matches AS
SELECT m.region, m.id AS match, m.universe, m.profile, m.version, m.state,
       CASE WHEN m.session_id IS NOT NULL THEN m.region || '.' || m.session_id END AS session, s.mode, cardinality(m.tickets) AS tickets,
       jsonb_array_length(m.roster) AS players,
       (SELECT count(*) FROM seats t WHERE t.region = m.region AND t.session_id = m.session_id AND t.state = 'connected') AS connected,
       m.decided_at, m.deadline
FROM matches m LEFT JOIN sessions s ON s.region = m.region AND s.id = m.session_id;
COMMENT ON VIEW ops.matches IS 'Matches that profiles made: those that play, and those whose players are asked or wait for a server. Matches that ended are in match_history.';
COMMENT ON COLUMN ops.matches.region IS 'Of a match that plays, the region of its session; of others, the region that is the universe of its tickets.';
COMMENT ON COLUMN ops.matches.match IS 'Its id, the claim mid of session tokens.';
COMMENT ON COLUMN ops.matches.universe IS 'The region that is the universe of its tickets.';
COMMENT ON COLUMN ops.matches.profile IS 'The profile that made it.';
COMMENT ON COLUMN ops.matches.version IS 'The version of the profile.';
COMMENT ON COLUMN ops.matches.state IS 'proposed: its players are asked whether they accept; accepted: all did, and it waits for a server; playing.';
COMMENT ON COLUMN ops.matches.session IS 'The session that it plays in.';
COMMENT ON COLUMN ops.matches.mode IS 'The mode of the session.';
COMMENT ON COLUMN ops.matches.tickets IS 'How many tickets it is made of, those of players who joined later included.';
COMMENT ON COLUMN ops.matches.players IS 'How many players were matched into it, those who have left included.';
COMMENT ON COLUMN ops.matches.connected IS 'How many of them are connected.';
COMMENT ON COLUMN ops.matches.decided_at IS 'When it was decided.';
COMMENT ON COLUMN ops.matches.deadline IS 'Until when its players can accept, or until when an accepted match keeps its tickets unless its worker renews that.';

-- Of players who joined a match that played already, the row of that match has the tickets.
CREATE VIEW ops.invariant_ticket_in_two_matches AS
SELECT k.region, k.ticket, array_agg(DISTINCT k.match ORDER BY k.match) AS matches FROM (
    SELECT m.universe AS region, unnest(m.tickets) AS ticket, m.id AS match FROM matches m
    UNION ALL
    SELECT h.region, unnest(h.tickets), h.id FROM match_history h WHERE NOT h.joined AND h.committed_at > statement_timestamp() - interval '5 minutes') k
GROUP BY k.region, k.ticket HAVING count(DISTINCT k.match) > 1;
COMMENT ON VIEW ops.invariant_ticket_in_two_matches IS 'Tickets that are in two matches, of those that play, those that are proposed, and those that were committed in the last five minutes.';
COMMENT ON COLUMN ops.invariant_ticket_in_two_matches.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.invariant_ticket_in_two_matches.ticket IS 'Its id.';
COMMENT ON COLUMN ops.invariant_ticket_in_two_matches.matches IS 'The ids of the matches.';

CREATE VIEW ops.invariant_assigned_without_seat AS
SELECT m.region, m.id AS match, m.region || '.' || m.session_id AS session, p.sub AS player
FROM matches m CROSS JOIN LATERAL (SELECT jsonb_array_elements(m.roster)->>'sub' AS sub) p
WHERE m.state = 'playing'
  AND NOT EXISTS (SELECT FROM seats t WHERE t.region = m.region AND t.session_id = m.session_id AND t.sub = p.sub)
  AND NOT EXISTS (SELECT FROM seat_history h WHERE h.region = m.region AND h.session_id = m.session_id AND h.sub = p.sub);
COMMENT ON VIEW ops.invariant_assigned_without_seat IS 'Players of matches that play who never had a seat there.';
COMMENT ON COLUMN ops.invariant_assigned_without_seat.region IS 'The region of the session.';
COMMENT ON COLUMN ops.invariant_assigned_without_seat.match IS 'The id of the match.';
COMMENT ON COLUMN ops.invariant_assigned_without_seat.session IS 'The session of the match.';
COMMENT ON COLUMN ops.invariant_assigned_without_seat.player IS 'Who has no seat.';

CREATE VIEW ops.invariant_seat_without_match AS
SELECT t.region, t.region || '.' || t.session_id AS session, t.match_id AS match, t.sub AS player FROM seats t
WHERE t.match_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM matches m WHERE m.region = t.region AND m.id = t.match_id AND m.state = 'playing' AND m.session_id = t.session_id)
UNION ALL
SELECT s.region, s.region || '.' || s.id, s.match_id, NULL FROM sessions s
WHERE s.match_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM matches m WHERE m.region = s.region AND m.id = s.match_id AND m.state = 'playing' AND m.session_id = s.id)
UNION ALL
SELECT m.region, m.region || '.' || m.session_id, m.id, NULL FROM matches m
WHERE m.state = 'playing' AND NOT EXISTS (SELECT FROM sessions s WHERE s.region = m.region AND s.id = m.session_id);
COMMENT ON VIEW ops.invariant_seat_without_match IS 'Seats and sessions of matches that do not play there, and playing matches whose session is gone.';
COMMENT ON COLUMN ops.invariant_seat_without_match.region IS 'The region of the session.';
COMMENT ON COLUMN ops.invariant_seat_without_match.session IS 'The session.';
COMMENT ON COLUMN ops.invariant_seat_without_match.match IS 'The match that it is said to be of.';
COMMENT ON COLUMN ops.invariant_seat_without_match.player IS 'Whose seat it is; NULL where it is the session or the match.';

-- A mark of the loop is the word loop and the 16 bytes of the match's id.
CREATE VIEW ops.invariant_matched_never_assigned AS
SELECT t.region, t.id AS ticket, t.match, 'marked for a match that is gone' AS reason FROM (
    SELECT o.region, o.id, CASE WHEN octet_length(o.matched_in) = 20 AND substr(o.matched_in, 1, 4) = 'loop'::bytea
        THEN encode(substr(o.matched_in, 5), 'hex')::uuid END AS match FROM tickets o WHERE o.pending_at IS NOT NULL) t
WHERE t.match IS NOT NULL AND NOT EXISTS (SELECT FROM matches m WHERE m.region = t.region AND m.id = t.match AND m.state <> 'playing')
UNION ALL
SELECT m.universe, k.id, m.id, 'queued, and in a match that plays' FROM matches m CROSS JOIN LATERAL unnest(m.tickets) AS w(id)
JOIN tickets k ON k.region = m.universe AND k.id = w.id WHERE m.state = 'playing'
UNION ALL
SELECT m.universe, NULL, m.id, 'ready check past its deadline' FROM matches m
WHERE m.state <> 'playing' AND m.deadline < statement_timestamp() - interval '1 minute';
COMMENT ON VIEW ops.invariant_matched_never_assigned IS 'Tickets and matches that are stuck between a decision and the assignment: no worker runs, or there is a bug.';
COMMENT ON COLUMN ops.invariant_matched_never_assigned.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.invariant_matched_never_assigned.ticket IS 'The ticket; NULL where it is a ready check.';
COMMENT ON COLUMN ops.invariant_matched_never_assigned.match IS 'The id of the match.';
COMMENT ON COLUMN ops.invariant_matched_never_assigned.reason IS 'What is wrong.';

CREATE VIEW ops.invariant_player_waiting_twice AS
SELECT p.region, p.profile, p.sub AS player, array_agg(DISTINCT p.ticket_id ORDER BY p.ticket_id) AS tickets
FROM ticket_players p JOIN tickets t ON t.region = p.region AND t.id = p.ticket_id
GROUP BY p.region, p.profile, p.sub HAVING count(DISTINCT p.ticket_id) > 1;
COMMENT ON VIEW ops.invariant_player_waiting_twice IS 'Players who wait with two tickets for one profile.';
COMMENT ON COLUMN ops.invariant_player_waiting_twice.region IS 'The region that is the universe of these tickets.';
COMMENT ON COLUMN ops.invariant_player_waiting_twice.profile IS 'The profile; empty for a ticket that names none.';
COMMENT ON COLUMN ops.invariant_player_waiting_twice.player IS 'Who waits.';
COMMENT ON COLUMN ops.invariant_player_waiting_twice.tickets IS 'The ids of the tickets.';

CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places
UNION ALL SELECT 'ticket in two matches', count(*) FROM ops.invariant_ticket_in_two_matches
UNION ALL SELECT 'assigned without seat', count(*) FROM ops.invariant_assigned_without_seat
UNION ALL SELECT 'seat without match', count(*) FROM ops.invariant_seat_without_match
UNION ALL SELECT 'matched never assigned', count(*) FROM ops.invariant_matched_never_assigned
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice;

-- +goose Down
CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places;
DROP VIEW ops.invariant_player_waiting_twice, ops.invariant_matched_never_assigned, ops.invariant_seat_without_match,
    ops.invariant_assigned_without_seat, ops.invariant_ticket_in_two_matches, ops.matches;
