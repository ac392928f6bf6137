-- How rooms of the realtime lobby are found, and who is kept out of them: metadata that a list shows, a code to join, and bans.
-- Few rooms have any of it, and few transactions change it, so that PutLobbies writes none of it.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE lobbies ADD COLUMN metadata json, ADD COLUMN code text COLLATE "C", ADD COLUMN sanctions json;
ALTER TABLE lobbies ADD CONSTRAINT what_a_list_shows_of_a_room_has_up_to_2_kib CHECK (octet_length(metadata::text) <= 2048) NOT VALID;
COMMENT ON COLUMN lobbies.metadata IS 'What its owner or a backend wants a list to show: an object; NULL: nothing.';
COMMENT ON COLUMN lobbies.code IS 'With it, a client joins without an invitation; NULL: the room has none.';
COMMENT ON COLUMN lobbies.sanctions IS 'A list of players who are banned from the room or muted in it, while the room lives; NULL: none.';

CREATE OR REPLACE VIEW ops.lobbies AS
SELECT l.region, l.project, l.id AS room, l.type, l.members, c.away, c.invited, l.max_members, l.private, l.locked, l.seq, l.pos AS rows_sent,
       octet_length(l.state::text) AS state_bytes, l.match_id AS match, l.game_region || '.' || l.session_id AS session, l.created_at, l.closes_at,
       l.code, l.metadata::text AS metadata, l.sanctions::text AS sanctions
FROM lobbies l
CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE m.away AND m.state = 'joined') AS away, count(*) FILTER (WHERE m.expires_at > statement_timestamp()) AS invited
                    FROM lobby_members m WHERE m.region = l.region AND m.lobby = l.uid) c;
COMMENT ON COLUMN ops.lobbies.code IS 'The code with which a client joins it; NULL: it has none.';
COMMENT ON COLUMN ops.lobbies.metadata IS 'What room.list shows of it beside these columns, a JSON object; NULL: nothing.';
COMMENT ON COLUMN ops.lobbies.sanctions IS 'The players who are banned from it or muted in it, a JSON list; NULL: none.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.lobbies;
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
ALTER TABLE lobbies DROP COLUMN metadata, DROP COLUMN code, DROP COLUMN sanctions;
