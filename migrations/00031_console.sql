-- What the operators' console shows and no view had, and one mechanism for who acts.
--
-- Existing views get columns at their end, so that older binaries and dashboards read them as before.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Who calls a function of schema ops, for its event: the person whom the setting director.actor names, or else the login. The console
-- logs in for everybody, and names the person in each transaction. The setting counts only for logins that can insert events, which
-- could name anybody there: others cannot act under the name of somebody else.
-- +goose StatementBegin
CREATE FUNCTION acting_operator() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN s.actor <> '' AND has_table_privilege(session_user, 'events'::regclass, 'INSERT') THEN left(s.actor, 200) ELSE 'sql:' || session_user END
    FROM (SELECT coalesce(current_setting('director.actor', true), '') AS actor) s
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION acting_operator() IS 'The actor of events that functions of schema ops write.';

-- The bodies stay as they are but for the actor: ops.set_draining, ops.close_session, ops.taint_key, ops.set_agent_draining,
-- ops.stop_deployment and ops.scale_pool. Rights and comments stay.
-- +goose StatementBegin
DO $$
DECLARE
    body text;
BEGIN
    FOR body IN SELECT pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'ops'::regnamespace AND p.prosrc LIKE '%''sql:'' || session_user%' ORDER BY p.oid
    LOOP
        EXECUTE replace(body, $q$'sql:' || session_user$q$, 'acting_operator()');
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE VIEW ops.regions AS
WITH RECURSIVE r AS (
    (SELECT region FROM instances ORDER BY region LIMIT 1)
    UNION ALL
    SELECT (SELECT n.region FROM instances n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
SELECT region FROM r WHERE region IS NOT NULL;
COMMENT ON VIEW ops.regions IS 'The regions that have game servers, those that ended lately included.';
COMMENT ON COLUMN ops.regions.region IS 'The region.';

CREATE VIEW ops.instance_regions AS
SELECT instance_id AS instance, region FROM instance_directory;
COMMENT ON VIEW ops.instance_regions IS 'The region of every game server. Join it to find one by its id alone: the other views are fast only for a known region.';
COMMENT ON COLUMN ops.instance_regions.instance IS 'The id of the game server.';
COMMENT ON COLUMN ops.instance_regions.region IS 'Its region.';

CREATE OR REPLACE VIEW ops.sessions AS
SELECT s.region, s.region || '.' || s.id AS session, s.mode, s.instance_id AS instance,
       coalesce(l.heartbeat_at > (SELECT ops.lease_horizon()) AND l.incarnation = s.incarnation, false) AS instance_alive,
       s.player_count AS players, n.connected, s.max_players, s.opened_at, statement_timestamp() - s.opened_at AS age, s.id, s.match_id AS match
FROM sessions s
LEFT JOIN instance_leases l ON l.region = s.region AND l.instance_id = s.instance_id
LEFT JOIN LATERAL (
    SELECT count(*) AS connected FROM seats t WHERE t.region = s.region AND t.session_id = s.id AND t.state = 'connected'
) n ON true;
COMMENT ON COLUMN ops.sessions.id IS 'The second part of session. With it and the region a session is found by its key.';
COMMENT ON COLUMN ops.sessions.match IS 'The match that is played in it; NULL: none.';

CREATE OR REPLACE VIEW ops.seats AS
SELECT t.region, t.region || '.' || t.session_id AS session, s.instance_id AS instance, t.mode, t.sub AS player, t.state, t.party,
       t.reserved_by, t.reserved_at, t.resolved_at, t.connected_at, t.expires_at, t.session_id, t.match_id AS match, t.team
FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id;
COMMENT ON COLUMN ops.seats.session_id IS 'The second part of session. With it and the region the seats of a session are found by their key.';
COMMENT ON COLUMN ops.seats.match IS 'The match that gave the player the seat; NULL: none.';
COMMENT ON COLUMN ops.seats.team IS 'The team of the player in this match.';

CREATE OR REPLACE VIEW ops.events AS
SELECT at, region, kind, actor, instance_id AS instance, region || '.' || session_id AS session, detail, id, tx
FROM events;
COMMENT ON COLUMN ops.events.tx IS 'The transaction that wrote it. Ordered by (tx, id), the latest events are found fast.';

CREATE VIEW ops.past_sessions AS
SELECT region, region || '.' || id AS session, mode, instance_id AS instance, player_count AS players, max_players, opened_at, closed_at, reason, id, match_id AS match
FROM session_history;
COMMENT ON VIEW ops.past_sessions IS 'Sessions that closed, for as long as their history is kept. Constrain region and id, or closed_at: the history is partitioned by day.';
COMMENT ON COLUMN ops.past_sessions.region IS 'The region where it ran.';
COMMENT ON COLUMN ops.past_sessions.session IS 'Its id, region.uuid.';
COMMENT ON COLUMN ops.past_sessions.mode IS 'The mode that was played.';
COMMENT ON COLUMN ops.past_sessions.instance IS 'The game server that hosted it.';
COMMENT ON COLUMN ops.past_sessions.players IS 'Seats still taken when it closed.';
COMMENT ON COLUMN ops.past_sessions.max_players IS 'Seats it held.';
COMMENT ON COLUMN ops.past_sessions.opened_at IS 'When it opened.';
COMMENT ON COLUMN ops.past_sessions.closed_at IS 'When it closed.';
COMMENT ON COLUMN ops.past_sessions.reason IS 'Why it closed.';
COMMENT ON COLUMN ops.past_sessions.id IS 'The second part of session.';
COMMENT ON COLUMN ops.past_sessions.match IS 'The match that was played in it; NULL: none.';

CREATE VIEW ops.past_seats AS
SELECT region, region || '.' || session_id AS session, mode, sub AS player, party, reserved_by, reserved_at, resolved_at, connected_at, left_at, reason,
       session_id, match_id AS match, team
FROM seat_history;
COMMENT ON VIEW ops.past_seats IS 'Seats that were left, for as long as their history is kept. Constrain player, or region and session_id, or left_at: the history is partitioned by day.';
COMMENT ON COLUMN ops.past_seats.region IS 'The region where the session ran.';
COMMENT ON COLUMN ops.past_seats.session IS 'The session, region.uuid.';
COMMENT ON COLUMN ops.past_seats.mode IS 'The mode that was played.';
COMMENT ON COLUMN ops.past_seats.player IS 'The player: sub of the access token.';
COMMENT ON COLUMN ops.past_seats.party IS 'The same for players who asked to be seated together.';
COMMENT ON COLUMN ops.past_seats.reserved_by IS 'The player who asked for the seat.';
COMMENT ON COLUMN ops.past_seats.reserved_at IS 'When it was reserved.';
COMMENT ON COLUMN ops.past_seats.resolved_at IS 'When its player first fetched a session token; NULL: never.';
COMMENT ON COLUMN ops.past_seats.connected_at IS 'When the game server reported its player; NULL: never.';
COMMENT ON COLUMN ops.past_seats.left_at IS 'When the seat was left.';
COMMENT ON COLUMN ops.past_seats.reason IS 'Why it was left; ''session …'' when the whole session closed.';
COMMENT ON COLUMN ops.past_seats.session_id IS 'The second part of session.';
COMMENT ON COLUMN ops.past_seats.match IS 'The match that gave the player the seat; NULL: none.';
COMMENT ON COLUMN ops.past_seats.team IS 'The team of the player in this match.';

CREATE VIEW ops.player_tickets AS
SELECT p.region, p.sub AS player, p.profile, p.ticket_id AS ticket, p.joined_at, p.seen_at, e.state, e.reason, e.match_id AS match, e.at AS changed_at
FROM ticket_players p
LEFT JOIN LATERAL (
    SELECT k.state, k.reason, k.match_id, k.at FROM ticket_events k
    WHERE k.region = p.region AND k.ticket_id = p.ticket_id ORDER BY k.n DESC, k.at DESC LIMIT 1) e ON true;
COMMENT ON VIEW ops.player_tickets IS 'The latest ticket of a player for each profile, until it is forgotten some time after it left the queue. Constrain region and player.';
COMMENT ON COLUMN ops.player_tickets.region IS 'The region that is the universe of the ticket.';
COMMENT ON COLUMN ops.player_tickets.player IS 'The player: sub of the access token.';
COMMENT ON COLUMN ops.player_tickets.profile IS 'The profile; empty for a ticket that names none.';
COMMENT ON COLUMN ops.player_tickets.ticket IS 'The id of the ticket.';
COMMENT ON COLUMN ops.player_tickets.joined_at IS 'When the player queued.';
COMMENT ON COLUMN ops.player_tickets.seen_at IS 'When the player last asked for the ticket, or accepted a match; NULL: never.';
COMMENT ON COLUMN ops.player_tickets.state IS 'Its latest state; NULL where its states are no longer kept.';
COMMENT ON COLUMN ops.player_tickets.reason IS 'Why it has this state.';
COMMENT ON COLUMN ops.player_tickets.match IS 'The match of this state.';
COMMENT ON COLUMN ops.player_tickets.changed_at IS 'When it got this state.';

CREATE VIEW ops.ticket_states AS
SELECT region, ticket_id AS ticket, n, at, state, reason, match_id AS match FROM ticket_events;
COMMENT ON VIEW ops.ticket_states IS 'The states of tickets, for as long as they are kept. Constrain region and ticket.';
COMMENT ON COLUMN ops.ticket_states.region IS 'The region that is the universe of the ticket.';
COMMENT ON COLUMN ops.ticket_states.ticket IS 'The id of the ticket.';
COMMENT ON COLUMN ops.ticket_states.n IS 'The number of the state, from 1.';
COMMENT ON COLUMN ops.ticket_states.at IS 'When it began.';
COMMENT ON COLUMN ops.ticket_states.state IS 'queued, paused, matched, accepting, waiting_for_server, assigned, declined, cancelled or expired.';
COMMENT ON COLUMN ops.ticket_states.reason IS 'Why.';
COMMENT ON COLUMN ops.ticket_states.match IS 'The match of this state; NULL: none.';

CREATE VIEW ops.placement_outlook AS
WITH offers AS (
    SELECT i.region, m.mode, i.status, coalesce(l.heartbeat_at > (SELECT ops.lease_horizon()), false) AS alive, i.capacity - i.reserved_seats AS free,
           (i.open_sessions >= i.max_sessions) IS TRUE AS slots_taken
    FROM instances i CROSS JOIN LATERAL unnest(i.modes) AS m(mode)
    LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
), hosts AS (
    SELECT o.region, o.mode, count(*) FILTER (WHERE o.alive) AS live, count(*) FILTER (WHERE o.alive AND o.status = 'ready') AS ready,
           count(*) FILTER (WHERE o.alive AND o.status = 'draining') AS draining, count(*) FILTER (WHERE o.status = 'starting') AS starting,
           count(*) FILTER (WHERE NOT o.alive AND o.status <> 'gone') AS silent, count(*) FILTER (WHERE o.status = 'gone') AS ended,
           count(*) FILTER (WHERE o.alive AND o.status = 'ready' AND o.slots_taken AND o.free > 0) AS slots_taken,
           coalesce(greatest(0, max(o.free) FILTER (WHERE o.alive AND o.status = 'ready' AND NOT o.slots_taken)), 0) AS largest_session
    FROM offers o GROUP BY o.region, o.mode
), plays AS (
    SELECT s.region, s.mode, count(*) FILTER (WHERE s.player_count < s.max_players) AS sessions, coalesce(max(s.max_players - s.player_count), 0) AS largest_party
    FROM sessions s
    JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status = 'ready'
    JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT ops.lease_horizon())
    WHERE s.match_id IS NULL
    GROUP BY s.region, s.mode
)
SELECT k.region, k.mode,
       CASE WHEN p.sessions > 0 OR h.largest_session > 0 THEN NULL
            WHEN h.ready > 0 AND h.slots_taken = h.ready THEN 'session limit' WHEN h.ready > 0 THEN 'full' WHEN h.draining > 0 THEN 'draining'
            WHEN h.starting > 0 THEN 'starting' WHEN h.silent > 0 THEN 'silent' WHEN h.ended > 0 THEN 'ended' ELSE 'none yet' END AS refusal,
       coalesce(h.live, 0) AS live, coalesce(h.draining, 0) AS draining, coalesce(h.starting, 0) AS starting, coalesce(h.silent, 0) AS silent,
       coalesce(h.ended, 0) AS ended, coalesce(p.sessions, 0) AS sessions_with_room, coalesce(p.largest_party, 0) AS largest_party,
       coalesce(h.largest_session, 0) AS largest_session, q.app AS pool_app, q.version AS pool_version
FROM (SELECT region, mode FROM hosts UNION SELECT region, mode FROM plays UNION SELECT region, mode FROM pool_modes) k
LEFT JOIN hosts h ON h.region = k.region AND h.mode = k.mode
LEFT JOIN plays p ON p.region = k.region AND p.mode = k.mode
LEFT JOIN pool_modes q ON q.region = k.region AND q.mode = k.mode;
COMMENT ON VIEW ops.placement_outlook IS 'What a request for one player would be answered now, by region and mode: why it would get no seat. A request for more players needs as many seats in one session.';
COMMENT ON COLUMN ops.placement_outlook.region IS 'The region.';
COMMENT ON COLUMN ops.placement_outlook.mode IS 'A mode that a game server offers or offered lately, or that a pool serves.';
COMMENT ON COLUMN ops.placement_outlook.refusal IS 'NULL: a player gets a seat. Otherwise why not: full: every ready game server is full; session limit: they have seats, but no more sessions; draining: all live ones drain; starting: they are not ready yet; silent: no lease holds; ended: all have ended; none yet: only a pool serves the mode, and no server of it has registered.';
COMMENT ON COLUMN ops.placement_outlook.live IS 'Game servers with a live lease that offer the mode.';
COMMENT ON COLUMN ops.placement_outlook.draining IS 'Those of them that are draining.';
COMMENT ON COLUMN ops.placement_outlook.starting IS 'Those that have registered and are not ready.';
COMMENT ON COLUMN ops.placement_outlook.silent IS 'Those whose lease has expired.';
COMMENT ON COLUMN ops.placement_outlook.ended IS 'Those that ended lately.';
COMMENT ON COLUMN ops.placement_outlook.sessions_with_room IS 'Open sessions that a player could join.';
COMMENT ON COLUMN ops.placement_outlook.largest_party IS 'The most free seats in one of them: a larger party needs a new session.';
COMMENT ON COLUMN ops.placement_outlook.largest_session IS 'The most seats that a new session could have now; 0: none can be opened.';
COMMENT ON COLUMN ops.placement_outlook.pool_app IS 'The app of the pool that serves the mode; NULL: no pool does.';
COMMENT ON COLUMN ops.placement_outlook.pool_version IS 'Its version.';

CREATE VIEW ops.queue_waits AS
SELECT date_bin('1 minute', h.left_at, timestamptz 'epoch') AS minute, h.region, coalesce(h.profile, h.profiles[1], '') AS profile, h.outcome, count(*) AS tickets,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY greatest('0', h.left_at - h.created)) AS p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY greatest('0', h.left_at - h.created)) AS p95, max(greatest('0', h.left_at - h.created)) AS longest
FROM ticket_history h
WHERE h.left_at > statement_timestamp() - interval '1 hour'
GROUP BY 1, 2, 3, 4;
COMMENT ON VIEW ops.queue_waits IS 'How long the tickets waited that left the queue in the last hour, by minute. Minutes without any have no row, and nothing has where no history is kept.';
COMMENT ON COLUMN ops.queue_waits.minute IS 'The minute in which they left.';
COMMENT ON COLUMN ops.queue_waits.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.queue_waits.profile IS 'The profile that matched them, or the first one that they named.';
COMMENT ON COLUMN ops.queue_waits.outcome IS 'assigned, declined, cancelled or expired.';
COMMENT ON COLUMN ops.queue_waits.tickets IS 'How many left.';
COMMENT ON COLUMN ops.queue_waits.p50 IS 'How long half of them had waited at most.';
COMMENT ON COLUMN ops.queue_waits.p95 IS 'How long 95 % of them had waited at most.';
COMMENT ON COLUMN ops.queue_waits.longest IS 'How long the one that waited longest had waited.';

CREATE VIEW ops.past_matches AS
SELECT h.region, h.id AS match, h.profile, h.version, h.joined, h.game_region, h.mode, h.game_region || '.' || h.session_id AS session, cardinality(h.tickets) AS tickets,
       h.players, h.decided_at, h.committed_at, h.session_id
FROM match_history h;
COMMENT ON VIEW ops.past_matches IS 'Matches that were committed, for as long as their history is kept. Constrain region and match, or region and profile, or committed_at: the history is partitioned by day.';
COMMENT ON COLUMN ops.past_matches.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.past_matches.match IS 'Its id.';
COMMENT ON COLUMN ops.past_matches.profile IS 'The profile that made it.';
COMMENT ON COLUMN ops.past_matches.version IS 'The version of the profile.';
COMMENT ON COLUMN ops.past_matches.joined IS 'Whether newcomers joined a match that was already playing.';
COMMENT ON COLUMN ops.past_matches.game_region IS 'The region of its session; NULL: it has none.';
COMMENT ON COLUMN ops.past_matches.mode IS 'The mode of its session.';
COMMENT ON COLUMN ops.past_matches.session IS 'Its session, region.uuid.';
COMMENT ON COLUMN ops.past_matches.tickets IS 'How many tickets it is made of.';
COMMENT ON COLUMN ops.past_matches.players IS 'How many players.';
COMMENT ON COLUMN ops.past_matches.decided_at IS 'When it was decided.';
COMMENT ON COLUMN ops.past_matches.committed_at IS 'When its tickets were assigned.';
COMMENT ON COLUMN ops.past_matches.session_id IS 'The second part of session.';

CREATE VIEW ops.match_minutes AS
SELECT date_bin('1 minute', h.committed_at, timestamptz 'epoch') AS minute, h.region, h.profile, h.version, q.measure, count(*) AS matches,
       avg(q.value) AS mean, max(q.value) AS highest
FROM match_history h
CROSS JOIN LATERAL (
    SELECT 'players' AS measure, h.players::float8 AS value
    UNION ALL
    SELECT 'latency_ms', (e ->> 'ms')::float8 FROM jsonb_array_elements(coalesce(h.why -> 'regions', '[]')) e WHERE e ->> 'region' = h.game_region AND e ? 'ms'
    UNION ALL
    SELECT 'rule ' || (e ->> 'rule'), (e ->> 'value')::float8 FROM jsonb_array_elements(coalesce(h.why -> 'rules', '[]')) e WHERE e ->> 'rule' IS NOT NULL) q
WHERE h.committed_at > statement_timestamp() - interval '1 hour' AND q.value IS NOT NULL
GROUP BY 1, 2, 3, 4, 5;
COMMENT ON VIEW ops.match_minutes IS 'How good the matches of the last hour are, by profile, minute and measure.';
COMMENT ON COLUMN ops.match_minutes.minute IS 'The minute in which they were committed.';
COMMENT ON COLUMN ops.match_minutes.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.match_minutes.profile IS 'The profile that made them.';
COMMENT ON COLUMN ops.match_minutes.version IS 'Its version.';
COMMENT ON COLUMN ops.match_minutes.measure IS 'players: the players of a match; latency_ms: of the player who is farthest from the server; or the word rule and the id of a rule, such as ''rule near skill'': the value that it compared.';
COMMENT ON COLUMN ops.match_minutes.matches IS 'How many matches have this measure.';
COMMENT ON COLUMN ops.match_minutes.mean IS 'Its mean.';
COMMENT ON COLUMN ops.match_minutes.highest IS 'Its highest value.';
COMMENT ON COLUMN ops.events.actor IS 'Who: director, sql: and the login of an operator, or console: and the person.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.match_minutes, ops.past_matches, ops.queue_waits, ops.placement_outlook, ops.ticket_states, ops.player_tickets, ops.past_seats,
    ops.past_sessions, ops.events, ops.seats, ops.sessions, ops.instance_regions, ops.regions;
CREATE VIEW ops.sessions AS
SELECT s.region, s.region || '.' || s.id AS session, s.mode, s.instance_id AS instance,
       coalesce(l.heartbeat_at > (SELECT ops.lease_horizon()) AND l.incarnation = s.incarnation, false) AS instance_alive,
       s.player_count AS players, n.connected, s.max_players, s.opened_at, statement_timestamp() - s.opened_at AS age
FROM sessions s
LEFT JOIN instance_leases l ON l.region = s.region AND l.instance_id = s.instance_id
LEFT JOIN LATERAL (
    SELECT count(*) AS connected FROM seats t WHERE t.region = s.region AND t.session_id = s.id AND t.state = 'connected'
) n ON true;
CREATE VIEW ops.seats AS
SELECT t.region, t.region || '.' || t.session_id AS session, s.instance_id AS instance, t.mode, t.sub AS player, t.state, t.party,
       t.reserved_by, t.reserved_at, t.resolved_at, t.connected_at, t.expires_at
FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id;
CREATE VIEW ops.events AS
SELECT at, region, kind, actor, instance_id AS instance, region || '.' || session_id AS session, detail, id
FROM events;
-- +goose StatementBegin
DO $$
DECLARE
    body text;
BEGIN
    FOR body IN SELECT pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'ops'::regnamespace AND p.prosrc LIKE '%acting_operator()%' ORDER BY p.oid
    LOOP
        EXECUTE replace(body, 'acting_operator()', $q$'sql:' || session_user$q$);
    END LOOP;
END
$$;
-- +goose StatementEnd
DROP FUNCTION acting_operator();
