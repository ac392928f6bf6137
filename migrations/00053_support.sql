-- What the console shows and does for players: who holds what, what a backend has stored of a player, seats and tickets that an operator
-- takes back, and how many requests the replicas refuse or fail.
--
-- Releases before this one neither read nor write any of it.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Requests of a minute by route, which replicas add to every ten seconds: a replica's metrics know only its own. Routes are those of the
-- code, so a minute has a few dozen rows. Workers delete what is older than six hours.
CREATE TABLE request_minutes (
    minute   timestamptz NOT NULL,
    route    text COLLATE "C" NOT NULL,
    requests bigint NOT NULL,
    refused  bigint NOT NULL,
    failed   bigint NOT NULL,
    PRIMARY KEY (minute, route),
    CONSTRAINT a_request_is_refused_or_failed_or_neither CHECK (refused >= 0 AND failed >= 0 AND refused + failed <= requests)
) WITH (fillfactor = 70);

CREATE VIEW ops.request_minutes AS
SELECT minute, route, requests, refused, failed FROM request_minutes;
COMMENT ON VIEW ops.request_minutes IS 'HTTP requests of game servers, players and backends in the last six hours, by minute and route, over all replicas. Probes, the console, gRPC calls and messages over WebSockets are left out.';
COMMENT ON COLUMN ops.request_minutes.minute IS 'The minute in which they were answered, to ten seconds.';
COMMENT ON COLUMN ops.request_minutes.route IS 'Method and pattern, as in POST /matchmake; refused: a replica that was full refused them before it looked at their paths.';
COMMENT ON COLUMN ops.request_minutes.requests IS 'How many were answered. What a replica counted in its last ten seconds is lost if it is killed.';
COMMENT ON COLUMN ops.request_minutes.refused IS 'Those of them that were answered with a status from 400 to 498.';
COMMENT ON COLUMN ops.request_minutes.failed IS 'Those of them that were answered with a status of 500 or more.';

-- A player is found by the value of any attribute, such as the name that others see.
CREATE INDEX stored_players_by_attribute ON stored_players USING gin (attributes);

CREATE VIEW ops.stored_players AS
SELECT region, sub AS player, attributes, avoid, may_party_with, updated_at, updated_by FROM stored_players;
COMMENT ON VIEW ops.stored_players IS 'What backends have stored of players, with PUT /backend/players.';
COMMENT ON COLUMN ops.stored_players.region IS 'The region that is the universe.';
COMMENT ON COLUMN ops.stored_players.player IS 'The player.';
COMMENT ON COLUMN ops.stored_players.attributes IS 'Attributes by name, which profiles with from: backend take from nobody else. An index finds players by a value: attributes @@ ''$.* == "Ada"''.';
COMMENT ON COLUMN ops.stored_players.avoid IS 'Players that are not to be in a match with this one.';
COMMENT ON COLUMN ops.stored_players.may_party_with IS 'Players that this one may take into a party.';
COMMENT ON COLUMN ops.stored_players.updated_at IS 'When it last changed.';
COMMENT ON COLUMN ops.stored_players.updated_by IS 'backend: and the name of the token that changed it.';

CREATE VIEW ops.lobby_members AS
SELECT m.region, l.project, l.id AS room, l.type, m.session, m.player, m.state, m.away, m.join_order, m.invited_by, m.expires_at
FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby;
COMMENT ON VIEW ops.lobby_members IS 'Who is in the rooms of the realtime lobby, or invited.';
COMMENT ON COLUMN ops.lobby_members.region IS 'The region of the project.';
COMMENT ON COLUMN ops.lobby_members.project IS 'The project.';
COMMENT ON COLUMN ops.lobby_members.room IS 'The id of the room, unique in the project.';
COMMENT ON COLUMN ops.lobby_members.type IS 'Its type.';
COMMENT ON COLUMN ops.lobby_members.session IS 'The session of the member, as in ops.realtime_sessions. Name it and the region: an index finds its rooms.';
COMMENT ON COLUMN ops.lobby_members.player IS 'The player; the session of a client without a name.';
COMMENT ON COLUMN ops.lobby_members.state IS 'joined or invited.';
COMMENT ON COLUMN ops.lobby_members.away IS 'Whether the member has no connection.';
COMMENT ON COLUMN ops.lobby_members.join_order IS 'Members joined in this order; NULL: invited.';
COMMENT ON COLUMN ops.lobby_members.invited_by IS 'The session that invited it; NULL: none did.';
COMMENT ON COLUMN ops.lobby_members.expires_at IS 'When the invitation ends; NULL for a member.';

-- +goose StatementBegin
CREATE FUNCTION ops.free_seat(session text, player text, reason text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    home   text := split_part(free_seat.session, '.', 1);
    room   uuid;
    host   text;
    freed  seats;
BEGIN
    IF (free_seat.session ~* '^[a-z0-9-]{1,32}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') IS NOT TRUE THEN
        RAISE EXCEPTION '% is no session id', coalesce(quote_literal(free_seat.session), 'NULL')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'It is region.uuid, as in column session of ops.seats.';
    ELSIF coalesce(btrim(free_seat.reason), '') = '' OR length(free_seat.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the seat is freed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    room := split_part(free_seat.session, '.', 2);

    -- The session is locked before its seats, as in all transactions on seats.
    SELECT s.instance_id INTO host FROM sessions s WHERE s.region = home AND s.id = room FOR UPDATE;
    DELETE FROM seats st WHERE st.region = home AND st.session_id = room AND st.sub = free_seat.player RETURNING st.* INTO freed;
    IF freed.sub IS NULL THEN
        IF EXISTS (SELECT FROM seat_history h WHERE h.region = home AND h.session_id = room AND h.sub = free_seat.player) THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'player % has no seat in session %', coalesce(quote_literal(free_seat.player), 'NULL'), free_seat.session
            USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, reason, match_id, team)
    VALUES (freed.region, freed.session_id, freed.sub, freed.mode, freed.party, freed.reserved_by, freed.reserved_at, freed.resolved_at, freed.connected_at,
        freed.jti, 'freed by an operator', freed.match_id, freed.team);
    UPDATE sessions s SET player_count = s.player_count - 1 WHERE s.region = home AND s.id = room;
    INSERT INTO events (region, kind, actor, instance_id, session_id, detail)
    VALUES (home, 'seat.freed', acting_operator(), host, room,
        jsonb_build_object('player', freed.sub, 'was', freed.state, 'reason', btrim(free_seat.reason)));
    PERFORM close_sessions(home, ARRAY(SELECT s.id FROM sessions s WHERE s.region = home AND s.id = room AND s.player_count = 0), 'empty');
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.free_seat(text, text, text) IS 'Frees the seat of a player in a session, given as region.uuid, for the reason. A session without further seats closes. The game server sees it in its list of sessions: whether a player who is connected is disconnected is up to it. Returns false where the player has left before.';

-- Sessions and rooms of the realtime lobby that wait with the ticket hear of it from a worker within a second, as of any ticket that leaves
-- the queue without them.
-- +goose StatementBegin
CREATE FUNCTION ops.cancel_ticket(region text, ticket text, reason text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    queued  tickets;
    asked   uuid;
    party   text[];
BEGIN
    IF coalesce(btrim(cancel_ticket.reason), '') = '' OR length(cancel_ticket.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the ticket is cancelled' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO queued FROM tickets t WHERE t.region = cancel_ticket.region AND t.id = cancel_ticket.ticket FOR UPDATE;
    IF queued.id IS NULL THEN
        IF EXISTS (SELECT FROM ticket_events e WHERE e.region = cancel_ticket.region AND e.ticket_id = cancel_ticket.ticket) THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'there is no ticket %', coalesce(quote_literal(ticket), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    party := ARRAY(SELECT DISTINCT p.sub FROM ticket_players p WHERE p.region = queued.region AND p.ticket_id = queued.id ORDER BY 1);
    IF party = '{}' THEN
        RAISE EXCEPTION 'ticket % is one of Open Match, without players', quote_literal(ticket)
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'The frontend that made it deletes it.';
    END IF;
    IF queued.pending_at IS NOT NULL AND octet_length(queued.matched_in) = 20 AND substr(queued.matched_in, 1, 4) = 'loop'::bytea THEN
        asked := encode(substr(queued.matched_in, 5), 'hex')::uuid;
    END IF;
    IF EXISTS (SELECT FROM matches m WHERE m.region = queued.region AND m.id = asked AND m.state = 'proposed') THEN
        RAISE EXCEPTION 'the players of ticket % are asked whether they accept match %', quote_literal(ticket), asked
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call it again when the ready check has ended.';
    END IF;

    -- The order of locks of LeaveQueue in queries/player_ticket.sql, which does this for players.
    DELETE FROM tickets t WHERE t.region = queued.region AND t.id = queued.id;
    DELETE FROM backfill_tickets b WHERE b.region = queued.region AND b.ticket_id = queued.id;
    PERFORM FROM ticket_players p WHERE p.region = queued.region AND p.ticket_id = queued.id ORDER BY p.sub, p.profile FOR UPDATE;
    DELETE FROM ticket_players p WHERE p.region = queued.region AND p.ticket_id = queued.id;
    INSERT INTO settled_tickets (region, id) VALUES (queued.region, queued.id) ON CONFLICT DO NOTHING;
    INSERT INTO ticket_events (region, ticket_id, n, state, reason, party)
    VALUES (queued.region, queued.id, queued.version + 1, 'cancelled', 'cancelled_by_operator', party);
    INSERT INTO events (region, kind, actor, detail)
    VALUES (queued.region, 'ticket.cancelled', acting_operator(),
        jsonb_build_object('ticket', queued.id, 'players', to_jsonb(party[:16]), 'reason', btrim(cancel_ticket.reason)));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.cancel_ticket(text, text, text) IS 'Takes the ticket of a player or party in a universe out of the queue, for the reason. Refused while its players are asked whether they accept a match. Returns false where it has left the queue before.';

REVOKE EXECUTE ON FUNCTION ops.free_seat, ops.cancel_ticket FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.free_seat(text, text, text);
DROP FUNCTION ops.cancel_ticket(text, text, text);
DROP VIEW ops.lobby_members, ops.stored_players, ops.request_minutes;
DROP INDEX stored_players_by_attribute;
DROP TABLE request_minutes;
