-- Which players of the realtime lobby are connected, for those who watch them.

-- name: PlayerPresence :many
-- Returns, for each player, whether it has a connection, its rooms that are not private (ids and types, in one order), and whom it has blocked.
SELECT w.player::text AS player,
       EXISTS (SELECT FROM realtime_sessions s WHERE s.region = @region AND s.project = @project AND s.player = w.player AND s.owner IS NOT NULL)::bool AS is_online,
       r.ids::text[] AS rooms, r.types::text[] AS types,
       ARRAY(SELECT b.blocked FROM player_blocks b WHERE b.region = @region AND b.project = @project AND b.player = w.player)::text[] AS blocked
FROM unnest(@players::text[]) AS w(player)
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(f.id ORDER BY f.id), '{}') AS ids, coalesce(array_agg(f.type ORDER BY f.id), '{}') AS types FROM (
        SELECT DISTINCT l.id, l.type FROM realtime_sessions s
        JOIN lobby_members m ON m.region = s.region AND m.session = s.id AND m.state = 'joined'
        JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby AND NOT l.private
        WHERE s.region = @region AND s.project = @project AND s.player = w.player AND s.owner IS NOT NULL
        ORDER BY l.id LIMIT 4) f) r;
