-- Views of the realtime lobby for operators, and its invariants.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE FUNCTION ops.replica_horizon(region text, face text) RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT replica_horizon(region, face) $$;
COMMENT ON FUNCTION ops.replica_horizon(text, text) IS 'As ops.replica_horizon(region), for the replicas of a face: orchestrator or realtime.';
CREATE FUNCTION ops.realtime_steady_since(region text) RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT realtime_steady_since(region) $$;
COMMENT ON FUNCTION ops.realtime_steady_since(text) IS 'Since when clients of the realtime lobby could connect without a gap; infinity: no replica of the region accepts them now.';

-- As in 00025, without the replicas of the realtime lobby.
CREATE OR REPLACE VIEW ops.replicas AS
SELECT r.region, r.id AS replica,
       CASE WHEN r.ended_at IS NOT NULL THEN 'ended' WHEN r.seen_at <= ops.replica_horizon(r.region) THEN 'expired' ELSE 'live' END AS state,
       count(s.agent_id) AS agents, r.seen_at, statement_timestamp() - r.seen_at AS lease_age, r.steady_since, r.ended_at
FROM replicas r LEFT JOIN agent_states s ON s.region = r.region AND s.replica = r.id AND s.left_at IS NULL
WHERE r.face = 'orchestrator'
GROUP BY r.region, r.id;

CREATE VIEW ops.realtime_replicas AS
SELECT r.region, r.id AS replica,
       CASE WHEN r.ended_at IS NOT NULL THEN 'ended' WHEN r.seen_at <= ops.replica_horizon(r.region, 'realtime') THEN 'expired' ELSE 'live' END AS state,
       (SELECT count(*) FROM realtime_sessions s WHERE s.region = r.region AND s.owner = r.id) AS sessions,
       r.seen_at, statement_timestamp() - r.seen_at AS lease_age, r.steady_since, r.ended_at
FROM replicas r WHERE r.face = 'realtime';
COMMENT ON VIEW ops.realtime_replicas IS 'The processes of the director that hold connections of the realtime lobby, and those that ended in the last ten minutes.';
COMMENT ON COLUMN ops.realtime_replicas.region IS 'The region of the projects that it serves; a process has a row for each.';
COMMENT ON COLUMN ops.realtime_replicas.replica IS 'Its id, new at each start.';
COMMENT ON COLUMN ops.realtime_replicas.state IS 'live; expired: its lease has expired, and its sessions are suspended soon; ended.';
COMMENT ON COLUMN ops.realtime_replicas.sessions IS 'Sessions that are connected to it; for an ended replica, sessions that are not suspended yet.';
COMMENT ON COLUMN ops.realtime_replicas.seen_at IS 'When it last renewed its lease, which it does every second.';
COMMENT ON COLUMN ops.realtime_replicas.lease_age IS 'The time since seen_at.';
COMMENT ON COLUMN ops.realtime_replicas.steady_since IS 'Since when it has renewed its lease without a gap. Leases expire only while some replica has been steady for a whole lease.';
COMMENT ON COLUMN ops.realtime_replicas.ended_at IS 'When it ended.';

CREATE VIEW ops.realtime AS
SELECT g.region, r.replicas, r.lease_age, s.connected, s.suspended, l.rooms, l.members, m.invitations, t.waiting
FROM (SELECT p.region FROM projects p UNION SELECT x.region FROM replicas x WHERE x.face = 'realtime' UNION SELECT x.region FROM realtime_sessions x) g
CROSS JOIN LATERAL (SELECT count(*) AS replicas, statement_timestamp() - max(x.seen_at) AS lease_age
                    FROM replicas x WHERE x.region = g.region AND x.face = 'realtime' AND x.ended_at IS NULL) r
CROSS JOIN LATERAL (SELECT count(x.owner) AS connected, count(*) - count(x.owner) AS suspended FROM realtime_sessions x WHERE x.region = g.region) s
CROSS JOIN LATERAL (SELECT count(*) AS rooms, coalesce(sum(x.members), 0)::bigint AS members FROM lobbies x WHERE x.region = g.region) l
CROSS JOIN LATERAL (SELECT count(*) AS invitations FROM lobby_members x WHERE x.region = g.region AND x.expires_at > statement_timestamp()) m
CROSS JOIN LATERAL (SELECT count(*) AS waiting FROM realtime_tickets x WHERE x.region = g.region) t;
COMMENT ON VIEW ops.realtime IS 'The realtime lobby, by region.';
COMMENT ON COLUMN ops.realtime.region IS 'The region of projects.';
COMMENT ON COLUMN ops.realtime.replicas IS 'Replicas that have not ended.';
COMMENT ON COLUMN ops.realtime.lease_age IS 'The time since one of them last renewed its lease, which each does every second; NULL: there is none.';
COMMENT ON COLUMN ops.realtime.connected IS 'Sessions with a connection.';
COMMENT ON COLUMN ops.realtime.suspended IS 'Sessions without a connection, which can be resumed or end soon.';
COMMENT ON COLUMN ops.realtime.rooms IS 'Rooms.';
COMMENT ON COLUMN ops.realtime.members IS 'Memberships in these rooms; a session may be a member of several.';
COMMENT ON COLUMN ops.realtime.invitations IS 'Invitations that are open.';
COMMENT ON COLUMN ops.realtime.waiting IS 'Sessions that wait for a match with a ticket.';

CREATE VIEW ops.realtime_sessions AS
SELECT s.region, s.id AS session, s.project, s.player,
       CASE WHEN s.owner IS NULL AND greatest(s.expires_at, g.steady_since + s.ttl) <= statement_timestamp() THEN 'expired'
            WHEN s.owner IS NULL THEN 'suspended' WHEN r.id IS NULL OR r.ended_at IS NOT NULL OR r.seen_at <= g.horizon THEN 'cut off' ELSE 'connected' END AS state,
       s.owner AS replica, s.epoch, s.authenticated, s.key_id AS key,
       (SELECT count(*) FROM lobby_members m WHERE m.region = s.region AND m.session = s.id AND m.state = 'joined') AS rooms,
       (SELECT count(*) FROM lobby_members m WHERE m.region = s.region AND m.session = s.id AND m.expires_at > statement_timestamp()) AS invitations,
       t.ticket, t.room_type AS waits_for, s.created_at, s.suspended_at, CASE WHEN s.owner IS NULL THEN greatest(s.expires_at, nullif(g.steady_since, 'infinity') + s.ttl) END AS expires_at,
       s.takeovers, s.takeovers_since
FROM realtime_sessions s
LEFT JOIN (SELECT x.region, ops.realtime_steady_since(x.region) AS steady_since, ops.replica_horizon(x.region, 'realtime') AS horizon
           FROM (SELECT DISTINCT region FROM realtime_sessions) x) g ON g.region = s.region
LEFT JOIN replicas r ON r.region = s.region AND r.id = s.owner
LEFT JOIN realtime_tickets t ON t.region = s.region AND t.session = s.id;
COMMENT ON VIEW ops.realtime_sessions IS 'Sessions of clients of the realtime lobby.';
COMMENT ON COLUMN ops.realtime_sessions.region IS 'The region of the project.';
COMMENT ON COLUMN ops.realtime_sessions.session IS 'Its id.';
COMMENT ON COLUMN ops.realtime_sessions.project IS 'The project.';
COMMENT ON COLUMN ops.realtime_sessions.player IS 'The sub of its token; the session without one.';
COMMENT ON COLUMN ops.realtime_sessions.state IS 'connected; cut off: its replica has ended; suspended: it can be resumed; expired: a worker ends it soon.';
COMMENT ON COLUMN ops.realtime_sessions.replica IS 'The replica with its connection; NULL: it has none.';
COMMENT ON COLUMN ops.realtime_sessions.epoch IS 'How often it has been connected.';
COMMENT ON COLUMN ops.realtime_sessions.authenticated IS 'Whether its client showed a valid token.';
COMMENT ON COLUMN ops.realtime_sessions.key IS 'The key that the token names.';
COMMENT ON COLUMN ops.realtime_sessions.rooms IS 'Rooms of which it is a member.';
COMMENT ON COLUMN ops.realtime_sessions.invitations IS 'Rooms to which it is invited.';
COMMENT ON COLUMN ops.realtime_sessions.ticket IS 'The ticket with which it waits for a match.';
COMMENT ON COLUMN ops.realtime_sessions.waits_for IS 'The type of room for which it waits.';
COMMENT ON COLUMN ops.realtime_sessions.created_at IS 'When it was opened.';
COMMENT ON COLUMN ops.realtime_sessions.suspended_at IS 'When it lost its connection.';
COMMENT ON COLUMN ops.realtime_sessions.expires_at IS 'When it ends unless it is resumed; NULL while it is connected. After an outage it is later than suspended_at and the TTL say.';
COMMENT ON COLUMN ops.realtime_sessions.takeovers IS 'How often it was resumed while it had a connection, within ten seconds from takeovers_since on. Ten is the most.';
COMMENT ON COLUMN ops.realtime_sessions.takeovers_since IS 'When the first of these happened; NULL: none has.';

CREATE VIEW ops.lobbies AS
SELECT l.region, l.project, l.id AS room, l.type, l.members, c.away, c.invited, l.max_members, l.private, l.locked, l.seq, l.pos AS rows_sent,
       octet_length(l.state::text) AS state_bytes, l.match_id AS match, l.game_region || '.' || l.session_id AS session, l.created_at, l.closes_at
FROM lobbies l
CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE m.away AND m.state = 'joined') AS away, count(*) FILTER (WHERE m.expires_at > statement_timestamp()) AS invited
                    FROM lobby_members m WHERE m.region = l.region AND m.lobby = l.uid) c;
COMMENT ON VIEW ops.lobbies IS 'Rooms of the realtime lobby.';
COMMENT ON COLUMN ops.lobbies.region IS 'The region of the project.';
COMMENT ON COLUMN ops.lobbies.project IS 'The project.';
COMMENT ON COLUMN ops.lobbies.room IS 'Its id, unique in the project.';
COMMENT ON COLUMN ops.lobbies.type IS 'Its type.';
COMMENT ON COLUMN ops.lobbies.members IS 'Its members.';
COMMENT ON COLUMN ops.lobbies.away IS 'Members without a connection.';
COMMENT ON COLUMN ops.lobbies.invited IS 'Sessions that are invited.';
COMMENT ON COLUMN ops.lobbies.max_members IS 'The most members that it may have.';
COMMENT ON COLUMN ops.lobbies.private IS 'Whether room.list leaves it out.';
COMMENT ON COLUMN ops.lobbies.locked IS 'Whether nobody else may join.';
COMMENT ON COLUMN ops.lobbies.seq IS 'The number of its state.';
COMMENT ON COLUMN ops.lobbies.rows_sent IS 'How many rows of its log were written for its members so far.';
COMMENT ON COLUMN ops.lobbies.state_bytes IS 'The size of its state; at most 65,536.';
COMMENT ON COLUMN ops.lobbies.match IS 'The match that made it.';
COMMENT ON COLUMN ops.lobbies.session IS 'The session of the director in which that match is played.';
COMMENT ON COLUMN ops.lobbies.created_at IS 'When it was made.';
COMMENT ON COLUMN ops.lobbies.closes_at IS 'When it ends; NULL: it has members or invitations.';

CREATE VIEW ops.project_keys AS
SELECT p.region, k.project, p.name AS project_name, k.id AS key, k.name, k.scopes,
       CASE WHEN k.revoked_at IS NULL THEN 'active' WHEN k.retires_at > statement_timestamp() THEN 'retiring' ELSE 'revoked' END AS state,
       k.tokens_minted, k.rotated_from, k.created_at, k.revoked_at, k.retires_at, k.sealed_by
FROM project_keys k JOIN projects p ON p.id = k.project;
COMMENT ON VIEW ops.project_keys IS 'Keys of projects, without their secrets.';
COMMENT ON COLUMN ops.project_keys.region IS 'The region of the project.';
COMMENT ON COLUMN ops.project_keys.project IS 'The project.';
COMMENT ON COLUMN ops.project_keys.project_name IS 'The name of the project.';
COMMENT ON COLUMN ops.project_keys.key IS 'The id of the key, unique in the project.';
COMMENT ON COLUMN ops.project_keys.name IS 'Its name.';
COMMENT ON COLUMN ops.project_keys.scopes IS 'What it may be used for.';
COMMENT ON COLUMN ops.project_keys.state IS 'active; retiring: it mints no tokens, and those that it minted are accepted until retires_at; revoked.';
COMMENT ON COLUMN ops.project_keys.tokens_minted IS 'The number of tokens that it minted.';
COMMENT ON COLUMN ops.project_keys.rotated_from IS 'The key that it replaced.';
COMMENT ON COLUMN ops.project_keys.created_at IS 'When it was created.';
COMMENT ON COLUMN ops.project_keys.revoked_at IS 'When it was revoked or rotated.';
COMMENT ON COLUMN ops.project_keys.retires_at IS 'From when on its tokens are refused.';
COMMENT ON COLUMN ops.project_keys.sealed_by IS 'The fingerprint of the key-encryption key that seals its secret.';

CREATE VIEW ops.invariant_member_without_session AS
SELECT m.region, l.project, l.id AS room, m.session
FROM lobby_members m LEFT JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
WHERE m.state = 'joined' AND NOT EXISTS (SELECT FROM realtime_sessions s WHERE s.region = m.region AND s.id = m.session);
COMMENT ON VIEW ops.invariant_member_without_session IS 'Members of rooms whose session has ended.';
COMMENT ON COLUMN ops.invariant_member_without_session.region IS 'The region of the project.';
COMMENT ON COLUMN ops.invariant_member_without_session.project IS 'The project.';
COMMENT ON COLUMN ops.invariant_member_without_session.room IS 'The room.';
COMMENT ON COLUMN ops.invariant_member_without_session.session IS 'The session that has ended.';

CREATE VIEW ops.invariant_member_count_drift AS
SELECT l.region, l.project, l.id AS room, l.members AS counted_members, count(m.session) AS members
FROM lobbies l LEFT JOIN lobby_members m ON m.region = l.region AND m.lobby = l.uid AND m.state = 'joined'
GROUP BY l.region, l.uid HAVING l.members <> count(m.session);
COMMENT ON VIEW ops.invariant_member_count_drift IS 'Rooms whose counter of members differs from their rows.';
COMMENT ON COLUMN ops.invariant_member_count_drift.region IS 'The region of the project.';
COMMENT ON COLUMN ops.invariant_member_count_drift.project IS 'The project.';
COMMENT ON COLUMN ops.invariant_member_count_drift.room IS 'The room.';
COMMENT ON COLUMN ops.invariant_member_count_drift.counted_members IS 'Its counter of members.';
COMMENT ON COLUMN ops.invariant_member_count_drift.members IS 'The members that it has.';

CREATE VIEW ops.invariant_ticket_without_session AS
SELECT t.region, t.project, t.session, t.ticket FROM realtime_tickets t
WHERE NOT EXISTS (SELECT FROM realtime_sessions s WHERE s.region = t.region AND s.id = t.session);
COMMENT ON VIEW ops.invariant_ticket_without_session IS 'Sessions that have ended and still wait for a match with a ticket.';
COMMENT ON COLUMN ops.invariant_ticket_without_session.region IS 'The region of the project.';
COMMENT ON COLUMN ops.invariant_ticket_without_session.project IS 'The project.';
COMMENT ON COLUMN ops.invariant_ticket_without_session.session IS 'The session that has ended.';
COMMENT ON COLUMN ops.invariant_ticket_without_session.ticket IS 'Its ticket.';

CREATE VIEW ops.invariant_invitation_without_room AS
SELECT m.region, m.session, m.state, m.lobby FROM lobby_members m
WHERE NOT EXISTS (SELECT FROM lobbies l WHERE l.region = m.region AND l.uid = m.lobby);
COMMENT ON VIEW ops.invariant_invitation_without_room IS 'Sessions that are invited to, or members of, a room that has ended.';
COMMENT ON COLUMN ops.invariant_invitation_without_room.region IS 'The region of the project.';
COMMENT ON COLUMN ops.invariant_invitation_without_room.session IS 'The session.';
COMMENT ON COLUMN ops.invariant_invitation_without_room.state IS 'invited or joined.';
COMMENT ON COLUMN ops.invariant_invitation_without_room.lobby IS 'The uid of the room.';

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
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice
UNION ALL SELECT 'agent count drift', count(*) FROM ops.invariant_agent_count_drift
UNION ALL SELECT 'room without agent', count(*) FROM ops.invariant_room_without_agent
UNION ALL SELECT 'command never settled', count(*) FROM ops.invariant_command_never_settled
UNION ALL SELECT 'instance of gone deployment', count(*) FROM ops.invariant_instance_of_gone_deployment
UNION ALL SELECT 'ready without endpoint', count(*) FROM ops.invariant_ready_without_endpoint
UNION ALL SELECT 'deployment past its end', count(*) FROM ops.invariant_deployment_past_its_end
UNION ALL SELECT 'deployment never gone', count(*) FROM ops.invariant_deployment_never_gone
UNION ALL SELECT 'member without session', count(*) FROM ops.invariant_member_without_session
UNION ALL SELECT 'member count drift', count(*) FROM ops.invariant_member_count_drift
UNION ALL SELECT 'ticket without session', count(*) FROM ops.invariant_ticket_without_session
UNION ALL SELECT 'invitation without room', count(*) FROM ops.invariant_invitation_without_room;

COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, agents, realtime, lobby, queue, waiting, analyze, vacuum, history, scale, provision or orphans.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
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
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice
UNION ALL SELECT 'agent count drift', count(*) FROM ops.invariant_agent_count_drift
UNION ALL SELECT 'room without agent', count(*) FROM ops.invariant_room_without_agent
UNION ALL SELECT 'command never settled', count(*) FROM ops.invariant_command_never_settled
UNION ALL SELECT 'instance of gone deployment', count(*) FROM ops.invariant_instance_of_gone_deployment
UNION ALL SELECT 'ready without endpoint', count(*) FROM ops.invariant_ready_without_endpoint
UNION ALL SELECT 'deployment past its end', count(*) FROM ops.invariant_deployment_past_its_end
UNION ALL SELECT 'deployment never gone', count(*) FROM ops.invariant_deployment_never_gone;
DROP VIEW ops.invariant_invitation_without_room, ops.invariant_ticket_without_session, ops.invariant_member_count_drift,
    ops.invariant_member_without_session, ops.project_keys, ops.lobbies, ops.realtime_sessions, ops.realtime, ops.realtime_replicas;
CREATE OR REPLACE VIEW ops.replicas AS
SELECT r.region, r.id AS replica,
       CASE WHEN r.ended_at IS NOT NULL THEN 'ended' WHEN r.seen_at <= ops.replica_horizon(r.region) THEN 'expired' ELSE 'live' END AS state,
       count(s.agent_id) AS agents, r.seen_at, statement_timestamp() - r.seen_at AS lease_age, r.steady_since, r.ended_at
FROM replicas r LEFT JOIN agent_states s ON s.region = r.region AND s.replica = r.id AND s.left_at IS NULL
GROUP BY r.region, r.id;
DROP FUNCTION ops.realtime_steady_since, ops.replica_horizon(text, text);
COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, agents, queue, analyze, vacuum, history, scale, provision or orphans.';
