-- What is known of a player, for the player: no secrets, and of other players only whom the player has named.

-- name: ExportPlayer :many
-- Returns rows by section, each section latest first and up to @most rows.
(SELECT 'seats'::text AS section, to_jsonb(x)::jsonb AS entry FROM (
    SELECT st.region, st.session_id AS session, st.mode, st.state, st.team, st.match_id AS match, st.reserved_at, st.resolved_at, st.connected_at
    FROM seats st WHERE st.region = ANY (@regions::text[]) AND st.sub = @player::text AND st.state IN ('reserved', 'connected')
    ORDER BY st.reserved_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'past_seats', to_jsonb(x) FROM (
    SELECT h.region, h.session_id AS session, h.mode, h.team, h.match_id AS match, h.reserved_at, h.resolved_at, h.connected_at, h.left_at, h.reason
    FROM seat_history h WHERE h.sub = @player ORDER BY h.left_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'tickets', to_jsonb(x) FROM (
    SELECT p.region, p.ticket_id AS ticket, p.profile, p.joined_at, p.seen_at FROM ticket_players p
    WHERE p.region = ANY (@regions) AND p.sub = @player ORDER BY p.joined_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'past_tickets', to_jsonb(x) FROM (
    SELECT h.region, h.id AS ticket, h.created AS created_at, h.left_at, h.profiles, h.outcome, h.profile, h.match_id AS match, h.attributes -> @player AS attributes,
           h.latencies, cardinality(h.party) AS party_size
    FROM ticket_history h WHERE h.party @> ARRAY[@player] ORDER BY h.left_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'ticket_states', to_jsonb(x) FROM (
    SELECT e.region, e.ticket_id AS ticket, e.at, e.state, e.reason, e.match_id AS match, e.detail -> 'teams' -> @player AS team
    FROM ticket_events e WHERE e.party IS NOT NULL AND e.party @> ARRAY[@player] ORDER BY e.at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'events', to_jsonb(x) FROM (
    SELECT e.region, e.at, e.kind, e.session_id AS session, e.detail - 'players' - 'subs' - 'party' AS detail FROM events e
    WHERE event_names(e.detail) @> ARRAY[@player] AND (e.detail ? 'player' OR e.detail ? 'subs' OR e.detail ? 'metadata' OR jsonb_typeof(e.detail -> 'players') = 'array')
    ORDER BY e.at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'refusals', to_jsonb(x) FROM (
    SELECT r.call, r.code, r.detail, r.region, r.mode, r.times, r.first_at, r.last_at FROM player_refusals r
    WHERE r.sub = @player ORDER BY r.last_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'stored', to_jsonb(x) FROM (
    SELECT p.region, p.attributes, p.avoid, p.may_party_with, p.updated_at, p.updated_by FROM stored_players p
    WHERE p.region = ANY (@regions) AND p.sub = @player LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'latencies', to_jsonb(x) FROM (
    SELECT l.region, l.latencies, l.measured_at FROM player_latencies l WHERE l.region = ANY (@regions) AND l.sub = @player LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_sessions', to_jsonb(x) FROM (
    SELECT s.region, s.project, s.id AS session, s.created_at, s.suspended_at FROM realtime_sessions s
    WHERE s.player = @player ORDER BY s.created_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_rooms', to_jsonb(x) FROM (
    SELECT l.project, l.id AS room, l.type, m.state, m.session FROM realtime_sessions s
    JOIN lobby_members m ON m.region = s.region AND m.session = s.id JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
    WHERE s.player = @player ORDER BY l.created_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_invitations', to_jsonb(x) FROM (
    SELECT i.project, l.id AS room, i.created_at, i.expires_at, i.answered_at FROM lobby_invitations i
    JOIN lobbies l ON l.region = i.region AND l.uid = i.lobby WHERE i.player = @player ORDER BY i.created_at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_sayings', to_jsonb(x) FROM (
    SELECT l.project, l.id AS room, s.at, s.data FROM lobby_sayings s JOIN lobbies l ON l.region = s.region AND l.uid = s.lobby
    WHERE s.player = @player ORDER BY s.at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_messages', to_jsonb(x) FROM (
    SELECT m.project, m.at, m.type, m.data, m.from_player = @player AS sent FROM player_messages m
    WHERE m.player = @player OR m.from_player = @player ORDER BY m.at DESC LIMIT sqlc.arg(most)) x)
UNION ALL
(SELECT 'lobby_blocks', to_jsonb(x) FROM (
    SELECT b.project, b.blocked, b.created_at FROM player_blocks b WHERE b.player = @player
    ORDER BY b.created_at DESC LIMIT sqlc.arg(most)) x);
