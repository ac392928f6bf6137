-- Tickets of sessions of the realtime lobby. The region of a row is that of the session and its rooms; the ticket has a region of its own, the
-- universe. The rows of a ticket are written with the ticket and deleted under its lock. The lock order is in 00028_realtime.sql.

-- name: HoldSessionEpochs :many
-- Locks the sessions that have these epochs and a connection, so that no other connection takes them over before the commit.
SELECT l.id FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@epochs::bigint[]) AS epoch ORDER BY 1) w CROSS JOIN LATERAL (
    SELECT s.id FROM realtime_sessions s
    WHERE s.region = @region AND s.id = w.id AND s.epoch = w.epoch AND s.owner IS NOT NULL FOR SHARE) l;

-- name: WaitingSessions :many
-- Returns the rows of sessions and of rooms that wait, of sessions that wait with a ticket of one of the players @subs in the universe, and of those
-- that wait alone and have the named player of one of the sessions @heirs. Each tells whether its ticket is still in the queue, and in a match, and
-- the hash of the request for it.
SELECT r.session, r.ticket_region, r.ticket, r.project, r.player, r.sub, r.room_type, r.size, r.lobby, (t.id IS NOT NULL)::bool AS queued,
       coalesce(t.pending_at > clock_timestamp() - sqlc.arg(pending_for)::interval, false)::bool AS pending, t.matched_in,
       coalesce(h.request_hash, '')::bytea AS request_hash
FROM (
    SELECT o.session FROM realtime_tickets o WHERE o.region = @region AND o.session = ANY (@sessions::text[])
    UNION SELECT o.session FROM realtime_tickets o WHERE o.region = @region AND o.lobby = ANY (@lobbies::uuid[])
    UNION SELECT o.session FROM (SELECT unnest(@subs::text[]) COLLATE "C" AS sub) w CROSS JOIN LATERAL (
        SELECT p.ticket_id FROM ticket_players p WHERE p.region = @universe AND p.sub = w.sub OFFSET 0) p
    JOIN realtime_tickets o ON o.ticket_region = @universe AND o.ticket = p.ticket_id AND o.region = @region
    UNION SELECT o.session FROM realtime_sessions h CROSS JOIN LATERAL (
        SELECT p.id FROM realtime_sessions p WHERE p.region = @region AND p.project = h.project AND p.player = h.player LIMIT 32) p
    CROSS JOIN LATERAL (SELECT k.session FROM realtime_tickets k WHERE k.region = @region AND k.session = p.id AND k.lobby IS NULL OFFSET 0) o
    WHERE h.region = @region AND h.id = ANY (@heirs::text[]) AND h.player <> h.id
) w
JOIN realtime_tickets r ON r.region = @region AND r.session = w.session
LEFT JOIN LATERAL (SELECT k.id, k.pending_at, k.matched_in FROM tickets k WHERE k.region = r.ticket_region AND k.id = r.ticket OFFSET 0) t ON true
LEFT JOIN LATERAL (
    SELECT p.request_hash FROM ticket_players p WHERE p.region = r.ticket_region AND p.sub = r.sub AND p.ticket_id = r.ticket LIMIT 1) h ON true
ORDER BY r.session;

-- name: ForgetWaiting :exec
-- Deletes the rows of tickets that this transaction has taken out of the queue, or that are gone. The rooms that queued with them are notified
-- of the reason later, except the rooms @aware, which know it. The sessions are notified, except those of @silent; sessions of a room only if
-- the ticket was lost.
WITH held AS MATERIALIZED (
    SELECT r.region, r.session, r.lobby, r.ticket, r.room_type, r.size, w.reason
    FROM (SELECT unnest(@tickets::text[]) COLLATE "C" AS ticket, unnest(@reasons::text[]) AS reason) w
    JOIN realtime_tickets r ON r.ticket_region = @ticket_region AND r.ticket = w.ticket
    ORDER BY r.region, r.session FOR UPDATE OF r
), gone AS (
    DELETE FROM realtime_tickets r USING held h WHERE r.region = h.region AND r.session = h.session
), expired AS (
    INSERT INTO realtime_expired (region, session, ticket, room_type, size, reason)
    SELECT h.region, h.session, h.ticket, h.room_type, h.size, h.reason FROM held h
    WHERE (h.lobby IS NULL OR @lost::bool) AND h.session <> ALL (@silent::text[])
    ORDER BY h.region, h.session
    ON CONFLICT (region, session) DO UPDATE SET ticket = excluded.ticket, room_type = excluded.room_type, size = excluded.size,
        reason = excluded.reason, at = excluded.at
)
INSERT INTO lobby_outcomes (region, lobby, ticket, reason)
SELECT DISTINCT h.region, h.lobby, h.ticket, h.reason FROM held h WHERE h.lobby IS NOT NULL AND h.lobby <> ALL (@aware::uuid[])
ON CONFLICT (region, lobby, ticket) DO NOTHING;

-- name: AddWaiting :exec
-- The statement fails if a session waits by now: the transaction is then tried again. What became of an earlier ticket is no news any more.
-- Sessions of one call are in the queue in its order, whatever the order of their ids is.
WITH old AS (
    DELETE FROM realtime_expired o USING (
        SELECT k.region, k.session FROM realtime_expired k WHERE k.region = @region AND k.session = ANY (@sessions::text[]) ORDER BY k.session FOR UPDATE) h
    WHERE o.region = h.region AND o.session = h.session
)
INSERT INTO realtime_tickets (region, session, ticket_region, ticket, place, project, player, sub, room_type, size, lobby, queued_at)
SELECT @region, n.session, @ticket_region, n.ticket, n.place, n.project, n.player, n.sub, n.room_type, n.size,
       nullif(n.lobby, '00000000-0000-0000-0000-000000000000'), statement_timestamp() + n.i * interval '1 microsecond'
FROM (SELECT generate_subscripts(@sessions::text[], 1) AS i, unnest(@sessions::text[]) COLLATE "C" AS session, unnest(@tickets::text[]) AS ticket, unnest(@places::int[]) AS place,
             unnest(@projects::text[]) AS project, unnest(@players::text[]) AS player, unnest(@subs::text[]) AS sub,
             unnest(@room_types::text[]) AS room_type, unnest(@sizes::int[]) AS size, unnest(@lobbies::uuid[]) AS lobby) n
ORDER BY n.session;

-- name: WaitingPositions :many
-- Returns the places of sessions among those that wait for the same room type and size, up to @most.
SELECT r.session, (SELECT count(*) FROM (
    SELECT FROM realtime_tickets o
    WHERE o.region = @region AND o.project = r.project AND o.room_type = r.room_type AND o.size = r.size AND o.queued_at <= r.queued_at
    LIMIT @most) c)::int AS position
FROM (SELECT unnest(@sessions::text[]) COLLATE "C" AS session) w
JOIN realtime_tickets r ON r.region = @region AND r.session = w.session;

-- name: RefuseLobby :exec
-- A room that could not queue is notified of the reason.
INSERT INTO lobby_outcomes (region, lobby, ticket, reason, detail)
SELECT @region, unnest(@lobbies::uuid[]), '', unnest(@reasons::text[]), unnest(@details::text[])
ON CONFLICT (region, lobby, ticket) DO UPDATE SET reason = excluded.reason, detail = excluded.detail;

-- name: HoldTicketsOfSessions :exec
-- Locks the tickets of sessions, so that the statement that follows sees what other transactions did to the sessions of the same ticket.
SELECT FROM tickets t JOIN (
    SELECT DISTINCT r.ticket_region, r.ticket FROM realtime_tickets r WHERE r.region = @region AND r.session = ANY (@sessions::text[])
) w ON t.region = w.ticket_region AND t.id = w.ticket
ORDER BY t.region, t.id FOR NO KEY UPDATE OF t;

-- name: PauseTicketsOfSessions :exec
-- Pauses the tickets of sessions, which this transaction has locked, or ends the pause of those that have no other suspended session. Tickets that
-- are in a match stay as they are.
WITH held AS MATERIALIZED (
    SELECT t.region, t.id, t.version FROM (
        SELECT DISTINCT r.ticket_region, r.ticket FROM realtime_tickets r WHERE r.region = @region AND r.session = ANY (@sessions::text[])) w
    CROSS JOIN LATERAL (
        SELECT o.region, o.id, o.version FROM tickets o
        WHERE o.region = w.ticket_region AND o.id = w.ticket AND (o.paused_at IS NULL) = @pause::bool
          AND (o.pending_at IS NULL OR o.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval) OFFSET 0) t
    WHERE @pause::bool OR NOT EXISTS (
        SELECT FROM realtime_tickets m JOIN realtime_sessions s ON s.region = m.region AND s.id = m.session
        WHERE m.ticket_region = w.ticket_region AND m.ticket = w.ticket AND s.suspended_at IS NOT NULL AND s.id <> ALL (@sessions::text[]))
), moved AS (
    UPDATE tickets t SET paused_at = CASE WHEN @pause::bool THEN clock_timestamp() END, version = t.version + 1, tx = pg_current_xact_id()
    FROM held h WHERE t.region = h.region AND t.id = h.id
)
INSERT INTO ticket_events (region, ticket_id, n, state)
SELECT h.region, h.id, h.version + 1, CASE WHEN @pause::bool THEN 'paused' ELSE 'queued' END FROM held h;

-- name: SucceedWaiting :exec
-- Lets sessions wait with the tickets of rooms, which are locked, in the place of other sessions of their players. A session that waits keeps
-- what it waits with.
UPDATE realtime_tickets r SET session = n.session
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@predecessors::text[]) AS predecessor, unnest(@sessions::text[]) AS session) n
WHERE r.region = @region AND r.session = n.predecessor AND r.lobby = n.lobby
  AND NOT EXISTS (SELECT FROM realtime_tickets o WHERE o.region = @region AND o.session = n.session);

-- name: InheritWaiting :many
-- Lets sessions wait alone in the place of other sessions of their players. The tickets are locked. Returns the sessions that do, without those whose
-- predecessor another transaction ends, with its ticket. A predecessor that has a connection learns of it as of a ticket that left the queue.
WITH lasting AS MATERIALIZED (
    SELECT s.id, n.session, n.ticket
    FROM (SELECT unnest(@predecessors::text[]) COLLATE "C" AS predecessor, unnest(@sessions::text[]) AS session, unnest(@tickets::text[]) AS ticket) n
    JOIN realtime_sessions s ON s.region = @region AND s.id = n.predecessor
    FOR KEY SHARE OF s SKIP LOCKED
), moved AS (
    UPDATE realtime_tickets r SET session = l.session FROM lasting l
    WHERE r.region = @region AND r.session = l.id AND r.ticket = l.ticket AND r.lobby IS NULL
    RETURNING l.id AS predecessor, r.session, r.ticket, r.room_type, r.size
), old AS (
    DELETE FROM realtime_expired e USING moved m WHERE e.region = @region AND e.session = m.session
), expired AS (
    INSERT INTO realtime_expired (region, session, ticket, room_type, size, reason)
    SELECT @region, m.predecessor, m.ticket, m.room_type, m.size, @reason::text FROM moved m
    ON CONFLICT (region, session) DO UPDATE SET ticket = excluded.ticket, room_type = excluded.room_type, size = excluded.size,
        reason = excluded.reason, at = excluded.at
)
SELECT m.session FROM moved m;

-- name: SuspendedAndQueued :many
-- Returns suspended sessions whose tickets are neither paused nor in a match: they were in one when the sessions were suspended. Locks the sessions, so
-- that they are not resumed before the commit.
SELECT s.id FROM realtime_sessions s
JOIN realtime_tickets r ON r.region = s.region AND r.session = s.id
WHERE s.region = @region AND s.suspended_at IS NOT NULL AND EXISTS (
    SELECT FROM tickets t WHERE t.region = r.ticket_region AND t.id = r.ticket AND t.paused_at IS NULL
      AND (t.pending_at IS NULL OR t.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval))
ORDER BY s.id LIMIT @batch FOR SHARE OF s SKIP LOCKED;

-- name: WaitingOfTickets :many
-- Returns the sessions that wait with these tickets of the universe, in the order of the queue. The tickets are locked.
SELECT r.region, r.session, r.ticket, r.project, r.player, r.sub, r.room_type, r.size, r.lobby FROM realtime_tickets r
WHERE r.ticket_region = @universe AND r.ticket = ANY (@tickets::text[])
ORDER BY r.queued_at, r.ticket, r.place;

-- name: InsertMatchLobbies :exec
-- Inserts the rooms of matches. A room with invitations does not close.
INSERT INTO lobbies (region, uid, project, id, type, seq, state, max_members, private, grace, match_id, participants, participant_players,
    participant_seats, size, game_region, session_id)
SELECT @region, n.uid, n.project, n.id, n.type, n.seq, n.state::json, n.max_members, n.private, n.grace, n.match_id, n.participants::text[],
       n.players::text[], n.seats::text[], n.size, nullif(n.game_region, ''), nullif(n.session_id, '00000000-0000-0000-0000-000000000000')
FROM (SELECT unnest(@uids::uuid[]) AS uid, unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id, unnest(@types::text[]) AS type,
             unnest(@seqs::bigint[]) AS seq, unnest(@states::text[]) AS state, unnest(@max_members::int[]) AS max_members,
             unnest(@private::bool[]) AS private, unnest(@graces::interval[]) AS grace, unnest(@matches::uuid[]) AS match_id,
             unnest(@participants::text[]) AS participants, unnest(@participant_players::text[]) AS players,
             unnest(@participant_seats::text[]) AS seats, unnest(@sizes::int[]) AS size, unnest(@game_regions::text[]) AS game_region,
             unnest(@sessions::uuid[]) AS session_id) n
ORDER BY n.project, n.id;

-- name: InviteParticipants :exec
-- Invites sessions into rooms that this transaction makes, and further sessions of players with names for as long as the rooms last.
WITH places AS (
    INSERT INTO lobby_invitations (region, lobby, player, project, expires_at)
    SELECT DISTINCT @region, n.lobby, n.player, n.project, clock_timestamp() + interval '24 hours'
    FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@sessions::text[]) AS session, unnest(@players::text[]) AS player,
                 unnest(@projects::text[]) AS project) n
    WHERE n.player <> n.session
)
INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
SELECT @region, n.lobby, n.session, n.player, 'invited', clock_timestamp() + interval '5 minutes'
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@sessions::text[]) AS session, unnest(@players::text[]) AS player) n;

-- name: EndSessionsWaiting :exec
-- Deletes the rows of tickets that are in a match now. The rooms that queued with them are notified of the match's room later.
WITH held AS MATERIALIZED (
    SELECT r.region, r.session, r.lobby, r.ticket, w.match_id, w.room
    FROM (SELECT unnest(@tickets::text[]) COLLATE "C" AS ticket, unnest(@matches::uuid[]) AS match_id, unnest(@rooms::text[]) AS room) w
    JOIN realtime_tickets r ON r.ticket_region = @ticket_region AND r.ticket = w.ticket
    ORDER BY r.region, r.session FOR UPDATE OF r
), gone AS (
    DELETE FROM realtime_tickets r USING held h WHERE r.region = h.region AND r.session = h.session
)
INSERT INTO lobby_outcomes (region, lobby, ticket, match_id, room)
SELECT DISTINCT h.region, h.lobby, h.ticket, h.match_id, h.room FROM held h WHERE h.lobby IS NOT NULL
ON CONFLICT (region, lobby, ticket) DO NOTHING;

-- name: RealtimeWaits :many
-- Returns those of the sessions that wait, each with the ready check in which its player has not answered, and the seconds until that ends.
SELECT r.session, r.room_type, r.size, coalesce(m.id, '00000000-0000-0000-0000-000000000000')::uuid AS asked, coalesce(m.seconds, 0)::int AS seconds
FROM (SELECT unnest(@sessions::text[]) COLLATE "C" AS session) w
JOIN realtime_tickets r ON r.region = @region AND r.session = w.session
LEFT JOIN LATERAL (
    SELECT CASE WHEN octet_length(k.matched_in) = 20 THEN encode(substring(k.matched_in FROM 5), 'hex')::uuid END AS match_id
    FROM tickets k WHERE k.region = r.ticket_region AND k.id = r.ticket OFFSET 0) t ON true
LEFT JOIN LATERAL (
    SELECT o.id, ceil(extract(epoch FROM o.deadline - clock_timestamp())) AS seconds FROM matches o
    WHERE o.region = r.ticket_region AND o.id = t.match_id AND o.state = 'proposed' AND o.deadline > clock_timestamp()
      AND NOT EXISTS (SELECT FROM match_accepts a WHERE a.region = o.region AND a.match_id = o.id AND a.sub = r.sub) OFFSET 0) m ON true;

-- name: ExpiredWaits :many
-- Returns the tickets of sessions that left the queue within five minutes, without a match.
SELECT e.session, e.ticket, e.room_type, e.size, e.reason FROM realtime_expired e
WHERE e.region = @region AND e.session = ANY (@sessions::text[]) AND e.at > clock_timestamp() - interval '5 minutes';

-- name: ForgetExpiredWaits :execrows
DELETE FROM realtime_expired e USING (
    SELECT k.region, k.session FROM realtime_expired k
    WHERE k.region = @region AND k.at <= statement_timestamp() - interval '5 minutes' LIMIT @batch FOR UPDATE SKIP LOCKED) h
WHERE e.region = h.region AND e.session = h.session;

-- name: TicketsOfSessions :many
-- Returns the tickets with which sessions wait.
SELECT r.session, r.ticket FROM realtime_tickets r WHERE r.region = @region AND r.session = ANY (@sessions::text[]);

-- name: WaitingOfSession :one
-- Returns the ticket with which a session waits.
SELECT r.ticket_region, r.ticket, r.sub, r.room_type, r.size FROM realtime_tickets r WHERE r.region = @region AND r.session = @session;

-- name: WaitingRegions :many
-- Returns the regions that have waiting sessions, rooms, or something that one of them has to learn. Waiting sessions are read by one index lookup a
-- region.
WITH RECURSIVE w AS (
    (SELECT t.region FROM realtime_tickets t ORDER BY t.region LIMIT 1)
    UNION ALL
    SELECT (SELECT n.region FROM realtime_tickets n WHERE n.region > w.region ORDER BY n.region LIMIT 1) FROM w WHERE w.region IS NOT NULL
)
SELECT w.region::text AS region FROM w WHERE w.region IS NOT NULL UNION SELECT l.region FROM lobby_regions() AS l(region)
UNION SELECT DISTINCT o.region FROM lobby_outcomes o UNION SELECT DISTINCT e.region FROM realtime_expired e;

-- name: LostWaiting :many
-- Returns sessions whose ticket has left the queue without them, with what became of it: an assignment by a director of Open Match, or the last state.
-- All sessions of a ticket are in one page.
SELECT r.region, r.session, r.ticket_region, r.ticket, r.project, r.player, r.sub, r.room_type, r.size, r.lobby,
       coalesce(s.assignment, '')::bytea AS assignment, coalesce(e.state, '')::text AS state, coalesce(e.reason, '')::text AS reason
FROM (
    SELECT DISTINCT o.ticket_region, o.ticket FROM realtime_tickets o
    WHERE o.region = @region AND NOT EXISTS (SELECT FROM tickets t WHERE t.region = o.ticket_region AND t.id = o.ticket)
    ORDER BY 1, 2 LIMIT @batch
) w
JOIN realtime_tickets r ON r.region = @region AND r.ticket_region = w.ticket_region AND r.ticket = w.ticket
LEFT JOIN LATERAL (
    SELECT k.assignment FROM settled_tickets k WHERE k.region = r.ticket_region AND k.id = r.ticket AND k.body IS NOT NULL OFFSET 0) s ON true
LEFT JOIN LATERAL (
    SELECT k.state, k.reason FROM ticket_events k WHERE k.region = r.ticket_region AND k.ticket_id = r.ticket
      AND k.at > statement_timestamp() - interval '1 day' AND k.at < statement_timestamp() + interval '1 day'
    ORDER BY k.n DESC, k.at DESC LIMIT 1) e ON true
ORDER BY r.queued_at, r.ticket, r.place;

-- name: LobbyOutcomes :many
-- Returns the outcomes that have to be delivered to rooms, the oldest first.
SELECT o.lobby, o.ticket, o.match_id, coalesce(o.room, '')::text AS room, coalesce(o.reason, '')::text AS reason, o.detail,
       coalesce(l.project, '')::text AS project, coalesce(l.id, '')::text AS lobby_id
FROM lobby_outcomes o LEFT JOIN lobbies l ON l.region = o.region AND l.uid = o.lobby
WHERE o.region = @region ORDER BY o.at LIMIT @batch;

-- name: RoomsThatQueue :many
-- Returns those of the rooms that wait with a ticket again. They are locked.
SELECT DISTINCT r.lobby::uuid AS lobby FROM realtime_tickets r WHERE r.region = @region AND r.lobby = ANY (@lobbies::uuid[]);

-- name: ForgetOutcomes :exec
-- Deletes outcomes of which the rooms know. The rooms are locked.
DELETE FROM lobby_outcomes o USING (
    SELECT k.region, k.lobby, k.ticket FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@tickets::text[]) COLLATE "C" AS ticket) w
    JOIN lobby_outcomes k ON k.region = @region AND k.lobby = w.lobby AND k.ticket = w.ticket
    ORDER BY 2, 3 FOR UPDATE OF k) h
WHERE o.region = h.region AND o.lobby = h.lobby AND o.ticket = h.ticket;

-- name: RoomsOfEndedSessions :many
-- Returns rooms of matches whose session has ended.
SELECT l.uid, l.project, l.id FROM lobbies l
WHERE l.region = @region AND l.session_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM sessions s WHERE s.region = l.game_region AND s.id = l.session_id)
LIMIT @batch;

-- name: ForgetSessionOfRooms :exec
-- Rooms that know that their session has ended are no longer compared with it. They are locked.
UPDATE lobbies l SET session_id = NULL WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]);
