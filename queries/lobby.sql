-- Rooms of the realtime lobby, their members and their logs. Each row of lobby_members is changed under the lock of its room.

-- name: LockLobbySessions :many
-- live: it has an owner.
SELECT s.id, s.epoch, (s.owner IS NOT NULL)::bool AS live FROM realtime_sessions s
WHERE s.region = @region AND s.id = ANY (@ids::text[])
ORDER BY s.id FOR NO KEY UPDATE;

-- name: RoomsOfSessions :many
-- Returns the number of rooms of sessions, which are locked.
SELECT m.session, count(*)::int AS rooms FROM lobby_members m
WHERE m.region = @region AND m.session = ANY (@sessions::text[]) AND m.state = 'joined' GROUP BY m.session;

-- name: LockLobbies :many
-- Locks the rooms with the uids, and those with the ids in their projects.
SELECT l.uid, l.project, l.id, l.type, l.pos, l.seq, l.state, l.joins, l.max_members, l.private, l.locked, l.grace, l.participants,
       l.participant_players, l.participant_seats,
       coalesce(l.metadata::text, '')::text AS metadata, coalesce(l.code, '')::text AS code, coalesce(l.sanctions::text, '')::text AS sanctions, l.said
FROM lobbies l
WHERE l.region = @region AND l.uid = ANY (ARRAY(
    SELECT unnest(@uids::uuid[])
    UNION ALL
    SELECT f.uid FROM (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id) w CROSS JOIN LATERAL (
        SELECT n.uid FROM lobbies n WHERE n.region = @region AND n.project = w.project AND n.id = w.id OFFSET 0) f))
ORDER BY l.uid FOR NO KEY UPDATE;

-- name: LobbyMembers :many
-- Returns the members of the same rooms as LockLobbies, which runs before it, and the players that members have invited, without session. An
-- invitation that has expired does not count.
SELECT m.lobby, m.session, m.player, m.join_order, m.away
FROM lobby_members m
WHERE m.region = @region AND m.lobby = ANY (ARRAY(
    SELECT unnest(@uids::uuid[])
    UNION ALL
    SELECT f.uid FROM (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id) w CROSS JOIN LATERAL (
        SELECT n.uid FROM lobbies n WHERE n.region = @region AND n.project = w.project AND n.id = w.id OFFSET 0) f))
    AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())
UNION ALL
SELECT i.lobby, '' AS session, i.player, NULL, false
FROM lobby_invitations i
WHERE i.region = @region AND i.lobby = ANY (ARRAY(
    SELECT unnest(@uids::uuid[])
    UNION ALL
    SELECT f.uid FROM (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id) w CROSS JOIN LATERAL (
        SELECT n.uid FROM lobbies n WHERE n.region = @region AND n.project = w.project AND n.id = w.id OFFSET 0) f))
    AND i.inviting_player IS NOT NULL AND i.answered_at IS NULL AND i.expires_at > clock_timestamp()
ORDER BY 1, 4, 2, 3;

-- name: InsertLobbies :exec
INSERT INTO lobbies (region, uid, project, id, type, pos, seq, state, members, joins, max_members, private, locked, grace, said, closes_at)
SELECT @region, n.uid, n.project, n.id, n.type, n.pos, n.seq, n.state::json, n.members, n.joins, n.max_members, n.private, n.locked,
       n.grace * interval '1 microsecond', n.said, CASE WHEN n.empty THEN clock_timestamp() + n.grace * interval '1 microsecond' END
FROM (SELECT unnest(@uids::uuid[]) AS uid, unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id, unnest(@types::text[]) AS type,
             unnest(@positions::bigint[]) AS pos, unnest(@seqs::bigint[]) AS seq, unnest(@states::text[]) AS state, unnest(@members::int[]) AS members,
             unnest(@joins::bigint[]) AS joins, unnest(@max_members::int[]) AS max_members, unnest(@private::bool[]) AS private,
             unnest(@locked::bool[]) AS locked, unnest(@graces::bigint[]) AS grace, unnest(@said::bigint[]) AS said, unnest(@empty::bool[]) AS empty) n
ORDER BY n.project, n.id; -- an insert waits for an uncommitted room of the same id: in one order, so that none deadlock

-- name: PutLobbies :exec
-- Changes rooms. A state whose seq stays is not written again.
UPDATE lobbies l SET
    pos = n.pos, seq = n.seq, state = CASE WHEN n.seq = l.seq THEN l.state ELSE n.state::json END, members = n.members, joins = n.joins,
    max_members = n.max_members, private = n.private, locked = n.locked, said = n.said,
    closes_at = CASE WHEN n.empty THEN coalesce(l.closes_at, clock_timestamp() + l.grace) END
FROM (SELECT unnest(@uids::uuid[]) AS uid, unnest(@positions::bigint[]) AS pos, unnest(@seqs::bigint[]) AS seq, unnest(@states::text[]) AS state,
             unnest(@members::int[]) AS members, unnest(@joins::bigint[]) AS joins, unnest(@max_members::int[]) AS max_members,
             unnest(@private::bool[]) AS private, unnest(@locked::bool[]) AS locked, unnest(@said::bigint[]) AS said, unnest(@empty::bool[]) AS empty) n
WHERE l.region = @region AND l.uid = n.uid;

-- name: PutLobbyDetails :exec
-- Changes what few transactions change. It runs after the statements that make rooms.
UPDATE lobbies l SET metadata = nullif(n.metadata, '')::json, code = nullif(n.code, ''), sanctions = nullif(n.sanctions, '')::json
FROM (SELECT unnest(@uids::uuid[]) AS uid, unnest(@metadata::text[]) AS metadata, unnest(@codes::text[]) AS code, unnest(@sanctions::text[]) AS sanctions) n
WHERE l.region = @region AND l.uid = n.uid;

-- name: LobbyOfCode :one
SELECT l.id, l.type FROM lobbies l WHERE l.region = @region AND l.project = @project AND l.code = @code::text;

-- name: NewestLobbies :many
-- Returns the newest rooms of a type that may be listed.
SELECT l.id, l.type, l.members, l.max_members, l.locked, coalesce(l.metadata::text, '')::text AS metadata, l.created_at FROM lobbies l
WHERE l.region = @region AND l.project = @project AND l.type = @of_type::text AND NOT l.private AND NOT (l.locked AND l.members = 0)
ORDER BY l.created_at DESC LIMIT sqlc.arg(page)::int;

-- name: DeleteLobbies :exec
DELETE FROM lobbies l WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]);

-- name: DeleteMembersOfLobbies :exec
WITH invitations AS (
    DELETE FROM lobby_invitations i WHERE i.region = @region AND i.lobby = ANY (@uids::uuid[])
)
DELETE FROM lobby_members m WHERE m.region = @region AND m.lobby = ANY (@uids::uuid[]);

-- name: PutParticipants :exec
-- Sessions that have a place in a match now.
UPDATE lobbies l SET participants = n.participants::text[]
FROM (SELECT unnest(@uids::uuid[]) AS uid, unnest(@participants::text[]) AS participants) n
WHERE l.region = @region AND l.uid = n.uid;

-- name: AnswerInvitations :exec
UPDATE lobby_invitations i SET answered_at = clock_timestamp()
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@players::text[]) AS player) n
WHERE i.region = @region AND i.lobby = n.lobby AND i.player = n.player AND i.answered_at IS NULL;

-- name: PutLobbyMembers :exec
INSERT INTO lobby_members AS m (region, lobby, session, player, state, join_order, away)
SELECT @region, n.lobby, n.session, n.player, 'joined', n.join_order, n.away
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@sessions::text[]) AS session, unnest(@players::text[]) AS player,
             unnest(@orders::bigint[]) AS join_order, unnest(@away::bool[]) AS away) n
ON CONFLICT (region, lobby, session) DO UPDATE
SET player = excluded.player, state = 'joined', join_order = excluded.join_order, away = excluded.away, expires_at = NULL, invited_by = NULL;

-- name: DeleteLobbyMembers :exec
DELETE FROM lobby_members m
USING (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@sessions::text[]) AS session) n
WHERE m.region = @region AND m.lobby = n.lobby AND m.session = n.session;

-- name: InvitePlayers :many
-- Invites players, and those of their sessions that are no members: at most 32 of each. Returns the players with these sessions, "" for one without,
-- and whether they are connected. refused: the player that invites has made @most invitations in five minutes. A player is not told that the other
-- one has blocked it.
WITH asked AS (
    SELECT n.i, n.lobby, n.project, n.player, n.inviter, n.inviting_player
    FROM (SELECT generate_subscripts(@lobbies::uuid[], 1) AS i, unnest(@lobbies::uuid[]) AS lobby, unnest(@projects::text[]) COLLATE "C" AS project,
                 unnest(@players::text[]) COLLATE "C" AS player, unnest(@inviters::text[]) AS inviter,
                 unnest(@inviting_players::text[]) COLLATE "C" AS inviting_player) n
), judged AS (
    SELECT a.*, b.player IS NOT NULL AS blocked,
           row_number() OVER (PARTITION BY a.project, a.inviting_player ORDER BY a.i) + (
               SELECT count(*) FROM lobby_invitations v
               WHERE v.region = @region AND v.project = a.project AND v.inviting_player = a.inviting_player AND v.expires_at > clock_timestamp()
                 AND (v.lobby, v.player) <> (a.lobby, a.player)) > @most::int AS refused
    FROM asked a LEFT JOIN LATERAL (
        SELECT p.player FROM player_blocks p WHERE p.region = @region AND p.project = a.project AND p.player = a.player AND p.blocked = a.inviting_player
        OFFSET 0) b ON true
), stored AS (
    INSERT INTO lobby_invitations (region, lobby, player, project, invited_by, inviting_player, expires_at)
    SELECT @region, j.lobby, j.player, j.project, j.inviter, j.inviting_player, clock_timestamp() + interval '5 minutes'
    FROM judged j WHERE NOT j.blocked AND NOT j.refused
    ON CONFLICT (region, lobby, player) DO UPDATE SET invited_by = excluded.invited_by, inviting_player = excluded.inviting_player,
        expires_at = excluded.expires_at, answered_at = NULL
), invited AS (
    INSERT INTO lobby_members AS m (region, lobby, session, player, state, expires_at, invited_by)
    SELECT @region, j.lobby, s.id, j.player, 'invited', clock_timestamp() + interval '5 minutes', j.inviter
    FROM judged j CROSS JOIN LATERAL (
        SELECT r.id FROM realtime_sessions r WHERE r.region = @region AND r.project = j.project AND r.player = j.player LIMIT 32) s
    WHERE NOT j.blocked AND NOT j.refused
    ON CONFLICT (region, lobby, session) DO UPDATE SET expires_at = excluded.expires_at, invited_by = excluded.invited_by WHERE m.state = 'invited'
    RETURNING m.lobby, m.player, m.session
)
SELECT j.lobby::uuid AS lobby, j.player::text AS player, j.refused::bool AS refused, coalesce(i.session, '')::text AS session,
       (s.owner IS NOT NULL)::bool AS connected
FROM judged j LEFT JOIN invited i ON i.lobby = j.lobby AND i.player = j.player
LEFT JOIN realtime_sessions s ON s.region = @region AND s.id = i.session;

-- name: MatchedLobbies :many
-- Returns those of the rooms whose members have a match of which the room has not heard.
SELECT DISTINCT o.lobby FROM lobby_outcomes o WHERE o.region = @region AND o.lobby = ANY (@lobbies::uuid[]) AND o.match_id IS NOT NULL;

-- name: BlockPlayer :one
-- Blocks a player, whose open invitations end. Returns false if that would be more than @most.
WITH stored AS (
    INSERT INTO player_blocks (region, project, player, blocked)
    SELECT @region, @project, @player, @blocked
    WHERE (SELECT count(*) FROM player_blocks b WHERE b.region = @region AND b.project = @project AND b.player = @player) < @most::int
    ON CONFLICT (region, project, player, blocked) DO NOTHING
    RETURNING blocked
), ended AS (
    UPDATE lobby_invitations v SET answered_at = clock_timestamp()
    WHERE v.region = @region AND v.project = @project AND v.player = @player AND v.inviting_player = @blocked AND v.answered_at IS NULL
)
SELECT (EXISTS (SELECT FROM stored) OR EXISTS (
    SELECT FROM player_blocks b WHERE b.region = @region AND b.project = @project AND b.player = @player AND b.blocked = @blocked))::bool AS blocked;

-- name: UnblockPlayer :exec
DELETE FROM player_blocks b WHERE b.region = @region AND b.project = @project AND b.player = @player AND b.blocked = @blocked;

-- name: BlockedPlayers :many
SELECT b.blocked FROM player_blocks b WHERE b.region = @region AND b.project = @project AND b.player = @player ORDER BY b.blocked;

-- name: InsertLobbyLog :exec
INSERT INTO lobby_log (region, lobby, pos, body)
SELECT @region, n.lobby, n.pos, n.body
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@positions::bigint[]) AS pos, unnest(@bodies::text[]) AS body) n;

-- name: PutLobbySayings :exec
-- Remembers messages, each in the slot of an older one. Those that one transaction says in a room have different slots.
INSERT INTO lobby_sayings AS s (region, lobby, slot, number, at, session, player, data)
SELECT @region, n.lobby, n.number % 50, n.number, n.at, n.session, n.player, n.data
FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@numbers::bigint[]) AS number, unnest(@times::timestamptz[]) AS at,
             unnest(@sessions::text[]) AS session, unnest(@players::text[]) AS player, unnest(@data::text[]) AS data) n
ON CONFLICT (region, lobby, slot) DO UPDATE
SET number = excluded.number, at = excluded.at, session = excluded.session, player = excluded.player, data = excluded.data;

-- name: LobbySayings :many
-- Returns what a room remembers behind a number to a session that is its member: one row with the number 0 if that is nothing, and none to others.
SELECT coalesce(s.number, 0)::bigint AS number, coalesce(s.at, 'epoch')::timestamptz AS at, coalesce(s.session, '')::text AS session,
       coalesce(s.player, '')::text AS player, coalesce(s.data, '')::text AS data
FROM lobbies l
JOIN lobby_members m ON m.region = l.region AND m.lobby = l.uid AND m.session = sqlc.arg(reader)::text AND m.state = 'joined'
LEFT JOIN lobby_sayings s ON s.region = l.region AND s.lobby = l.uid AND s.number > sqlc.arg(after)::bigint
WHERE l.region = @region AND l.project = @project AND l.id = @id
ORDER BY s.number;

-- name: LobbyLog :many
-- Returns rows of logs behind positions: at most so many of each room, and up to so many bytes, but at least one row.
SELECT r.lobby, r.pos, r.at, r.body FROM (
    SELECT g.lobby, g.pos, g.at, g.body, sum(octet_length(g.body)) OVER (ORDER BY g.lobby, g.pos) - octet_length(g.body) AS bytes_before
    FROM (SELECT unnest(@lobbies::uuid[]) AS lobby, unnest(@positions::bigint[]) AS pos) w CROSS JOIN LATERAL (
        SELECT o.lobby, o.pos, o.at, o.body FROM lobby_log o
        WHERE o.region = @region AND o.lobby = w.lobby AND o.pos > w.pos ORDER BY o.pos LIMIT sqlc.arg(most_rows)::int) g) r
WHERE r.bytes_before < sqlc.arg(most_bytes)::bigint
ORDER BY r.lobby, r.pos;

-- name: LobbyPositions :many
-- After a failover another server answers, which may lack the last rows of the lost one: its start time distinguishes it.
SELECT l.uid, l.pos, pg_postmaster_start_time()::timestamptz AS server FROM lobbies l WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]);

-- name: LobbySnapshots :many
-- Returns rooms with the members that joined, in their order.
SELECT l.uid, l.project, l.id, l.type, l.pos, l.seq, l.state, m.sessions::text[] AS sessions, m.players::text[] AS players,
       m.orders::bigint[] AS orders, m.away::bool[] AS away
FROM lobbies l CROSS JOIN LATERAL (
    SELECT array_agg(o.session ORDER BY o.join_order) AS sessions, array_agg(o.player ORDER BY o.join_order) AS players,
           array_agg(o.join_order ORDER BY o.join_order) AS orders, array_agg(o.away ORDER BY o.join_order) AS away
    FROM lobby_members o WHERE o.region = @region AND o.lobby = l.uid AND o.state = 'joined') m
WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]);

-- name: ListLobbies :many
-- Looks at up to most_seen rooms of the project, by id, and returns up to a page of those that may be listed, which are
-- not private, and not empty and locked: one row with an empty id if there are
-- none. last is the last room that it looked at, seen their number.
WITH seen AS (
    SELECT r.id, r.type, r.members, r.max_members, r.private OR r.locked AND r.members = 0 AS private, r.locked, r.metadata, r.created_at FROM lobbies r
    WHERE r.region = @region AND r.project = @project AND r.id > @after
    ORDER BY r.id LIMIT sqlc.arg(most_seen)::int
)
SELECT coalesce(p.id, '')::text AS id, coalesce(p.type, '')::text AS type, coalesce(p.members, 0)::int AS members,
       coalesce(p.max_members, 0)::int AS max_members, coalesce(p.locked, false)::bool AS locked, coalesce(p.metadata::text, '')::text AS metadata,
       coalesce(p.created_at, 'epoch')::timestamptz AS created_at, c.last::text AS last, c.seen::int AS seen
FROM (SELECT max(id) AS last, count(*) AS seen FROM seen) c
LEFT JOIN LATERAL (
    SELECT o.id, o.type, o.members, o.max_members, o.locked, o.metadata, o.created_at FROM seen o
    WHERE NOT o.private AND (sqlc.arg(of_type)::text = '' OR o.type = sqlc.arg(of_type)::text)
    ORDER BY o.id LIMIT sqlc.arg(page)::int) p ON true
WHERE c.seen > 0
ORDER BY p.id;

-- name: LobbyRegions :many
-- Returns the regions that have rooms, or rows of logs.
SELECT region::text AS region FROM lobby_regions() AS r(region) ORDER BY 1;

-- name: LobbiesToClose :many
-- Locks rooms that have been without members and invitations for their grace.
SELECT l.uid FROM lobbies l
WHERE l.region = @region AND l.closes_at <= statement_timestamp()
ORDER BY l.closes_at LIMIT sqlc.arg(most)::int FOR UPDATE SKIP LOCKED;

-- name: CloseLobbies :many
-- Deletes rooms that are locked, unless a member or an invitation has come meanwhile.
DELETE FROM lobbies l
WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]) AND l.closes_at <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM lobby_members m WHERE m.region = @region AND m.lobby = l.uid AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp()))
RETURNING l.uid;

-- name: KeepLobbies :exec
-- Rooms that were due to close and are not empty no longer have a time to close.
UPDATE lobbies l SET closes_at = NULL WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]) AND l.closes_at <= clock_timestamp();

-- name: LobbiesWithExpiredInvitations :many
-- Locks rooms of which invitations have expired.
SELECT l.uid FROM lobbies l
WHERE l.region = @region AND l.uid = ANY (ARRAY(
    SELECT m.lobby FROM lobby_members m
    WHERE m.region = @region AND m.expires_at <= statement_timestamp() ORDER BY m.expires_at LIMIT sqlc.arg(most)::int))
ORDER BY l.uid FOR NO KEY UPDATE SKIP LOCKED;

-- name: DropExpiredPlayerInvitations :execrows
-- Deletes expired invitations of players, also those to rooms that have ended. They have no effect any more.
DELETE FROM lobby_invitations i USING (
    SELECT k.lobby, k.player FROM lobby_invitations k WHERE k.region = @region AND k.expires_at <= statement_timestamp()
    ORDER BY k.expires_at LIMIT sqlc.arg(most)::int FOR UPDATE SKIP LOCKED) old
WHERE i.region = @region AND i.lobby = old.lobby AND i.player = old.player;

-- name: DeleteExpiredInvitations :exec
-- Deletes expired invitations of rooms that are locked.
DELETE FROM lobby_members m
WHERE m.region = @region AND m.lobby = ANY (@uids::uuid[]) AND m.expires_at <= clock_timestamp();

-- name: StartGrace :exec
-- Lets rooms without members and invitations close after their grace.
UPDATE lobbies l SET closes_at = clock_timestamp() + l.grace
WHERE l.region = @region AND l.uid = ANY (@uids::uuid[]) AND l.closes_at IS NULL AND NOT EXISTS (
    SELECT FROM lobby_members m WHERE m.region = @region AND m.lobby = l.uid);

-- name: PruneLobbyLog :one
-- Deletes the oldest rows that are older than @keep, from a time on. Returns their number and the time of the newest of them.
WITH old AS (
    SELECT g.lobby, g.pos FROM lobby_log g
    WHERE g.region = @region AND g.at >= @since AND g.at < statement_timestamp() - sqlc.arg(keep)::interval
    ORDER BY g.at LIMIT sqlc.arg(most)::int FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM lobby_log g USING old WHERE g.region = @region AND g.lobby = old.lobby AND g.pos = old.pos RETURNING g.at
)
SELECT count(*)::int AS rows, coalesce(max(at), @since)::timestamptz AS last FROM gone;

-- name: PlayersOfLobby :many
-- Returns the players of the members of a room, sorted.
SELECT m.player FROM lobbies l JOIN lobby_members m ON m.region = l.region AND m.lobby = l.uid
WHERE l.region = @region AND l.project = @project AND l.id = @id AND m.state = 'joined' ORDER BY m.player;

-- name: LobbyDetails :one
-- Returns a room for a backend or an operator.
SELECT l.uid, l.type, l.max_members, l.private, l.locked, coalesce(l.metadata::text, '')::text AS metadata, coalesce(l.code, '')::text AS code,
       coalesce(l.sanctions::text, '')::text AS sanctions, l.created_at
FROM lobbies l WHERE l.region = @region AND l.project = @project AND l.id = @id;

-- name: MembersOfLobby :many
-- Returns the members of a room by the order in which they joined, and then those that are invited.
SELECT m.session, m.player, m.away, m.join_order FROM lobby_members m
WHERE m.region = @region AND m.lobby = @lobby AND (m.expires_at IS NULL OR m.expires_at > statement_timestamp())
ORDER BY m.join_order NULLS LAST, m.session LIMIT 4000;

