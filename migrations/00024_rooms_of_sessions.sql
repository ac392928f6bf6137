-- Sessions on the processes of agents: each session is a room with the session's id. The transaction that opens the session reserves the room
-- and inserts the command that creates it.
--
-- Locks: … sessions → instances → … → agent_states → rooms → commands, as in 00022. The transaction that records that a room was created or is
-- gone holds the agent's lock, so it must not lock the session: another transaction does that, see queries/room_session.sql.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE instances ADD COLUMN creates_rooms boolean NOT NULL DEFAULT false; -- it is the process of an agent, by its process_uid
ALTER TABLE sessions ADD COLUMN room_at timestamptz; -- since when the room of the session is known to exist; null: not yet, or it needs none

-- The agents whose label allows sessions on their process.
CREATE INDEX agents_that_host_sessions ON agents (region, replica) WHERE labels ->> 'matchmaking' = 'true';

-- As in 00017, with a column that shows whether the players must wait for the room. They do not once it has existed: where the process has lost its connection
-- its rooms are unknown, and they may have other ids when it is back.
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats, s.match_id,
       h.creates_rooms AND s.room_at IS NULL AND ( -- not NOT EXISTS, for which the planner might hash the rooms of the whole region
           SELECT r.state <> 'reserved' FROM rooms r WHERE r.region = s.region AND r.id = s.id::text COLLATE "C") IS NOT TRUE AS awaits_room
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats, i.creates_rooms
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW fillable_sessions;
DROP VIEW live_sessions;
CREATE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats, s.match_id
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready' AND match_id IS NULL;
DROP INDEX agents_that_host_sessions;
ALTER TABLE sessions DROP COLUMN room_at;
ALTER TABLE instances DROP COLUMN creates_rooms;
