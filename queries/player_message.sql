-- Messages between players of the realtime lobby.

-- name: EnsureInboxes :exec
-- The players are sorted, so that two transactions wait for each other in one order.
INSERT INTO player_inboxes (region, project, player) SELECT @region, @project, n.player FROM unnest(@players::text[]) AS n(player) ORDER BY n.player
ON CONFLICT (region, project, player) DO NOTHING;

-- name: LockInboxes :many
-- sent counts the messages of the player in the current minute. has_blocked: the player has blocked @sender.
SELECT i.player, i.last, CASE WHEN i.sent_since > clock_timestamp() - interval '1 minute' THEN i.sent ELSE 0 END::int AS sent,
       EXISTS (SELECT FROM player_blocks b WHERE b.region = i.region AND b.project = i.project AND b.player = i.player AND b.blocked = sqlc.arg(sender)::text)::bool AS has_blocked
FROM player_inboxes i
WHERE i.region = @region AND i.project = @project AND i.player = ANY (@players::text[])
ORDER BY i.player FOR NO KEY UPDATE OF i;

-- name: CountSent :exec
UPDATE player_inboxes i SET sent = sqlc.arg(sent)::int, used_at = clock_timestamp(),
       sent_since = CASE WHEN sqlc.arg(sent)::int = 1 THEN clock_timestamp() ELSE i.sent_since END
WHERE i.region = @region AND i.project = @project AND i.player = @player;

-- name: NumberMessage :exec
UPDATE player_inboxes i SET last = @last, used_at = clock_timestamp() WHERE i.region = @region AND i.project = @project AND i.player = @player;

-- name: PutPlayerMessage :exec
INSERT INTO player_messages AS m (region, project, player, slot, number, from_session, from_player, type, data)
VALUES (@region, @project, @player, sqlc.arg(number)::bigint % 50, sqlc.arg(number)::bigint, @from_session, @from_player, @type, @data)
ON CONFLICT (region, project, player, slot) DO UPDATE
SET number = excluded.number, at = excluded.at, from_session = excluded.from_session, from_player = excluded.from_player, type = excluded.type, data = excluded.data;

-- name: ConnectedSessions :many
-- The sessions of a player that have a connection.
SELECT s.id FROM realtime_sessions s WHERE s.region = @region AND s.project = @project AND s.player = @player AND s.owner IS NOT NULL LIMIT 32;

-- name: UnreadMessages :many
-- Of sessions, the number of the last message to their player, if it has unread ones.
SELECT s.id AS session, i.last FROM realtime_sessions s
JOIN player_inboxes i ON i.region = s.region AND i.project = s.project AND i.player = s.player AND i.last > i.read
WHERE s.region = @region AND s.id = ANY (@sessions::text[]);

-- name: MessagesOfSession :many
-- Returns the messages to the player of a session behind a number, and with @unread only those that it has not read.
SELECT m.number, m.at, m.from_session, m.from_player, m.type, m.data
FROM realtime_sessions s
JOIN player_inboxes i ON i.region = s.region AND i.project = s.project AND i.player = s.player
JOIN player_messages m ON m.region = i.region AND m.project = i.project AND m.player = i.player
WHERE s.region = @region AND s.id = @session AND m.number > sqlc.arg(after)::bigint AND (NOT sqlc.arg(unread)::bool OR m.number > i.read)
ORDER BY m.number;

-- name: ReadMessages :exec
UPDATE player_inboxes i SET read = greatest(i.read, least(i.last, sqlc.arg(number)::bigint)), used_at = clock_timestamp()
WHERE i.region = @region AND i.project = @project AND i.player = @player;

-- name: DropUnusedInboxes :one
WITH gone AS (
    DELETE FROM player_inboxes i USING (
        SELECT o.project, o.player FROM player_inboxes o
        WHERE o.region = @region AND o.used_at < statement_timestamp() - interval '7 days' ORDER BY o.used_at LIMIT sqlc.arg(most)::int FOR UPDATE SKIP LOCKED) old
    WHERE i.region = @region AND i.project = old.project AND i.player = old.player RETURNING 1)
SELECT count(*)::int FROM gone;
