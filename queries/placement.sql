-- Where is placement decided? Here, in db/placement_transaction.go, which runs these in one transaction for all requests that
-- wait together, and in db/internal/pack/pack.go, which chooses a session for each party from the rows that they return.
--
-- The rule: fill the fullest open session of that region, mode and size first; else open one on the instance with a
-- live lease, not draining, offering the mode, with room for max_players more, least loaded first.

-- name: TryLocks :many
-- Locks what requests need for this transaction (players, idempotency keys, the right to open sessions) without waiting. A
-- request that does not get all of its locks stays for the next batch: another replica is deciding about the same player.
SELECT n.request::int AS request
FROM (SELECT unnest(@requests::int[]) AS request, unnest(@locks::bigint[]) AS lock) n
GROUP BY n.request
HAVING bool_and(pg_try_advisory_xact_lock(n.lock));

-- name: LimitLockWait :exec
-- From here on the transaction fails (55P03) when it waits for one lock for longer than this many milliseconds.
SELECT set_config('lock_timeout', (@milliseconds::int)::text, true);

-- name: WaitForOpeners :exec
-- One transaction at a time, over all replicas, opens sessions of a mode and size: otherwise each would open a half-empty
-- session of its own. Sorted, so that two transactions never deadlock.
SELECT pg_advisory_xact_lock(k.lock) FROM (SELECT DISTINCT unnest(@locks::bigint[]) AS lock ORDER BY 1) k;

-- name: SeatsAround :many
-- The seats that matter to these requests: those of the players, and those that the callers reserved for others. Most players
-- have none, so each costs an index lookup. Reserved is written as "not connected" so that the planner does not choose the
-- partial index of reserved seats, which is attractive for unrelated lookups while it is small.
WITH around AS MATERIALIZED (
    SELECT f.* FROM (SELECT DISTINCT unnest(@subs::text[]) AS sub) p CROSS JOIN LATERAL (
        SELECT st.session_id, st.sub, st.mode, st.state, st.party, st.reserved_by, st.reserved_at, st.resolved_at, st.match_id FROM seats st
        WHERE st.region = @region AND st.sub = p.sub AND st.state = 'reserved'
        UNION ALL
        SELECT st.session_id, st.sub, st.mode, st.state, st.party, st.reserved_by, st.reserved_at, st.resolved_at, st.match_id FROM seats st
        WHERE st.region = @region AND st.sub = p.sub AND st.state = 'connected'
        OFFSET 0) f
    UNION
    SELECT f.* FROM (SELECT DISTINCT unnest(@callers::text[]) AS sub) p CROSS JOIN LATERAL (
        SELECT st.session_id, st.sub, st.mode, st.state, st.party, st.reserved_by, st.reserved_at, st.resolved_at, st.match_id FROM seats st
        WHERE st.region = @region AND st.reserved_by = p.sub AND st.reserved_by <> st.sub AND st.state <> 'connected'
        OFFSET 0) f
)
SELECT a.session_id, a.sub, a.mode, a.state, a.party, a.reserved_by, a.reserved_at, (a.resolved_at IS NOT NULL)::bool AS resolved, a.match_id,
       s.handle, s.player_count, s.max_players, coalesce(v.endpoint, '')::text AS endpoint, (v.id IS NOT NULL)::bool AS live
FROM around a
JOIN sessions s ON s.region = @region AND s.id = a.session_id
LEFT JOIN live_sessions v ON v.region = @region AND v.id = a.session_id;

-- name: AvoidedAround :many
-- The sessions that players may not join: those in which somebody has a seat whom they avoid, or who avoids them. Two of the players
-- who may not meet have a row with the other one. A player with a list, or on one, has a row in any case: with the zero id if there is
-- no such session. Most players have none, so each costs two index lookups.
WITH players AS MATERIALIZED (
    SELECT DISTINCT unnest(@subs::text[]) AS sub
), pairs AS MATERIALIZED (
    SELECT p.sub, a.other FROM players p CROSS JOIN LATERAL (
        SELECT l.avoided AS other FROM player_avoids l WHERE l.region = @universe AND l.sub = p.sub OFFSET 0) a
    UNION
    SELECT p.sub, a.other FROM players p CROSS JOIN LATERAL (
        SELECT l.sub AS other FROM player_avoids l WHERE l.region = @universe AND l.avoided = p.sub OFFSET 0) a
)
SELECT DISTINCT x.sub::text AS sub, (CASE WHEN x.other = ANY (@subs::text[]) THEN x.other ELSE '' END)::text AS other,
       coalesce(st.session_id, '00000000-0000-0000-0000-000000000000')::uuid AS session_id
FROM pairs x
LEFT JOIN LATERAL (
    SELECT s.session_id FROM seats s WHERE s.region = @region AND s.sub = x.other AND s.state = 'reserved'
    UNION ALL
    SELECT s.session_id FROM seats s WHERE s.region = @region AND s.sub = x.other AND s.state = 'connected'
    OFFSET 0) st ON true;

-- name: FillOpenSessions :many
-- The fullest open sessions with enough free seats for a party of each size, one session per party. Sessions that another
-- transaction has locked are returned as not held; WaitForOpenSessions waits for them.
WITH wanted AS (
    SELECT unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players, unnest(@sizes::int[]) AS size, unnest(@parties::int[]) AS parties
), fullest AS (
    SELECT DISTINCT c.id, w.mode, w.max_players FROM wanted w CROSS JOIN LATERAL (
        SELECT o.id FROM open_sessions o
        WHERE o.region = @region AND o.mode = w.mode AND o.max_players = w.max_players
          AND o.player_count < o.max_players AND o.player_count <= w.max_players - w.size AND o.takes_players
        ORDER BY o.player_count DESC, o.id LIMIT w.parties
    ) c
), held AS (
    SELECT s.id, s.handle, s.player_count, s.instance_id FROM sessions s
    WHERE s.region = @region AND s.id = ANY (ARRAY(SELECT f.id FROM fullest f))
    ORDER BY s.id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT f.id, f.mode::text AS mode, f.max_players::int AS max_players, (h.id IS NOT NULL)::bool AS held,
       coalesce(h.handle, '')::text AS handle, coalesce(h.player_count, 0)::int AS player_count, coalesce(i.endpoint, '')::text AS endpoint
FROM fullest f
LEFT JOIN held h ON h.id = f.id
LEFT JOIN instances i ON i.region = @region AND i.id = h.instance_id
ORDER BY f.id;

-- name: FillForOne :many
-- A batch of one party in one round trip, when no other transaction decides about its players, they hold no seat and none is
-- reserved for them, they avoid nobody and nobody avoids them, and the fullest session is not locked. Otherwise it changes nothing and returns no row. It reads before
-- it has the locks; the unique index of reserved seats rejects a player that it would seat twice.
WITH claimed AS MATERIALIZED (
    SELECT bool_and(pg_try_advisory_xact_lock(k.lock)) AS all_of_them FROM (SELECT unnest(@locks::bigint[]) AS lock) k
), room AS (
    SELECT s.id, s.handle, s.instance_id, s.player_count FROM sessions s
    WHERE (SELECT c.all_of_them FROM claimed c)
      AND NOT EXISTS (SELECT 1 FROM (SELECT unnest(@subs::text[]) AS sub) p CROSS JOIN LATERAL (
        SELECT 1 FROM seats st WHERE st.region = @region AND st.sub = p.sub AND st.state = 'reserved'
        UNION ALL
        SELECT 1 FROM seats st WHERE st.region = @region AND st.sub = p.sub AND st.state = 'connected' OFFSET 0) f)
      AND NOT EXISTS (SELECT 1 FROM seats st WHERE st.region = @region AND st.reserved_by = sqlc.arg(caller)::text AND st.reserved_by <> st.sub AND st.state <> 'connected')
      AND NOT EXISTS (SELECT 1 FROM (SELECT unnest(@subs::text[]) AS sub) p CROSS JOIN LATERAL (
        SELECT 1 FROM player_avoids l WHERE l.region = sqlc.arg(universe)::text AND l.sub = p.sub
        UNION ALL
        SELECT 1 FROM player_avoids l WHERE l.region = sqlc.arg(universe)::text AND l.avoided = p.sub OFFSET 0) f)
      AND s.region = @region AND s.player_count <= s.max_players - sqlc.arg(size)::int AND s.id = (
        SELECT o.id FROM open_sessions o
        WHERE o.region = @region AND o.mode = sqlc.arg(mode)::text AND o.max_players = sqlc.arg(max_players)::int
          AND o.player_count < o.max_players AND o.player_count <= sqlc.arg(max_players)::int - sqlc.arg(size)::int AND o.takes_players
        ORDER BY o.player_count DESC, o.id LIMIT 1)
    FOR NO KEY UPDATE SKIP LOCKED
), filled AS (
    UPDATE sessions s SET player_count = s.player_count + sqlc.arg(size)::int FROM room r WHERE s.region = @region AND s.id = r.id
), seated AS (
    INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at)
    SELECT @region, r.id, p.sub, sqlc.arg(mode)::text, sqlc.arg(party)::uuid, sqlc.arg(caller)::text, now() + sqlc.arg(seat_ttl)::interval, now() + sqlc.arg(seat_ttl)::interval
    FROM room r CROSS JOIN (SELECT unnest(@subs::text[]) AS sub ORDER BY 1) p
)
SELECT r.id, r.handle, (r.player_count + sqlc.arg(size)::int)::int AS player_count, i.endpoint
FROM room r JOIN instances i ON i.region = @region AND i.id = r.instance_id;

-- name: WaitForOpenSessions :many
-- FillOpenSessions under the opener lock: it waits for sessions that others are filling, and adds the sessions @also, in which
-- seats are about to be given up. It returns rows as they are after the wait.
WITH wanted AS (
    SELECT unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players, unnest(@sizes::int[]) AS size, unnest(@parties::int[]) AS parties
), fullest AS (
    SELECT c.id FROM wanted w CROSS JOIN LATERAL (
        SELECT o.id FROM open_sessions o
        WHERE o.region = @region AND o.mode = w.mode AND o.max_players = w.max_players
          AND o.player_count < o.max_players AND o.player_count <= w.max_players - w.size AND o.takes_players
        ORDER BY o.player_count DESC, o.id LIMIT w.parties
    ) c
    UNION SELECT unnest(@also::uuid[])
)
SELECT s.id, s.handle, s.mode, s.instance_id, s.player_count, s.max_players, i.endpoint,
       (v.instance_status IS NOT DISTINCT FROM 'ready' AND s.match_id IS NULL)::bool AS fillable
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id
LEFT JOIN live_sessions v ON v.region = s.region AND v.id = s.id
WHERE s.region = @region AND s.id = ANY (ARRAY(SELECT f.id FROM fullest f))
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: LockHosts :many
-- Locks instances that could open a session. It reads a bounded number of instances of the least loaded buckets, and locks the
-- least loaded of these, one for each session that is needed. Where @lanes transactions need sessions at a time, each locks every
-- @lanes-th instance, beginning with @lane, so that each has some and all are as loaded. It adds the instances @also, whose seats may
-- become free. With @wait it waits for instances that another transaction has locked; without, it skips them.
WITH wanted AS (
    SELECT unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players, unnest(@sessions::int[]) AS sessions
), near AS (
    SELECT c.id FROM wanted w CROSS JOIN LATERAL (
        SELECT t.id FROM (
            SELECT o.*, row_number() OVER (ORDER BY o.id) AS place FROM (
                SELECT h.id, h.load, h.reserved_seats::float8 / h.capacity AS share FROM open_hosts h
                WHERE h.region = @region AND h.mode = w.mode AND h.free_seats >= w.max_players
                ORDER BY h.bucket LIMIT w.sessions * greatest(@lanes::int, 1) + 16
            ) o
        ) t WHERE t.place % greatest(@lanes::int, 1) = @lane::int
        ORDER BY greatest(t.load, t.share), t.share, t.id LIMIT w.sessions
    ) c
    UNION SELECT unnest(@also::text[])
), waited AS (
    SELECT i.* FROM instances i WHERE @wait::bool AND i.region = @region AND i.id IN (SELECT n.id FROM near n)
    ORDER BY i.id FOR NO KEY UPDATE
), free AS (
    SELECT i.* FROM instances i WHERE NOT @wait::bool AND i.region = @region AND i.id IN (SELECT n.id FROM near n)
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT i.id, i.incarnation, i.endpoint, i.modes, i.capacity, i.reserved_seats, i.max_sessions, i.open_sessions, i.creates_rooms, coalesce(l.load, 0)::float8 AS load,
       (i.status = 'ready' AND coalesce(l.heartbeat_at > (SELECT lease_horizon()), false))::bool AS open
FROM (SELECT * FROM waited UNION ALL SELECT * FROM free) i
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
ORDER BY i.id;

-- name: StillPlaceable :many
-- Returns the requests for which a fresh snapshot shows free seats, locked or not. Only the others may be answered "no
-- capacity". A session in which a member of the party plays does not count for that party: a member of request players[i] plays
-- in session played_in[i]. ORDER BY makes the planner use the indexes. EXISTS would ignore it, and the planner might scan the
-- whole fleet in the hope of an early match.
WITH wanted AS (
    SELECT n.*, ARRAY(
        SELECT x.id FROM (SELECT unnest(@players::int[]) AS request, unnest(@played_in::uuid[]) AS id) x
        WHERE x.request = n.request) AS played_in
    FROM (SELECT unnest(@requests::int[]) AS request, unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players,
                 unnest(@sizes::int[]) AS size) n
)
SELECT w.request::int AS request FROM wanted w
WHERE (
    SELECT true FROM open_hosts h WHERE h.region = @region AND h.mode = w.mode AND h.free_seats >= w.max_players
    ORDER BY h.bucket LIMIT 1
) OR (
    SELECT true FROM open_sessions o
    WHERE o.region = @region AND o.mode = w.mode AND o.max_players = w.max_players
      AND o.player_count < o.max_players AND o.player_count <= w.max_players - w.size AND o.takes_players
      AND NOT o.id = ANY (w.played_in)
    ORDER BY o.player_count DESC LIMIT 1
);

-- name: OpenSessions :exec
-- Opens sessions on instances that this transaction has locked, and updates the counters of these instances. The nil UUID means
-- that a session has no match.
WITH opened AS (
    INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players, match_id)
    SELECT @region, o.id, o.handle, o.mode, o.instance_id, o.incarnation, o.players, o.max_players,
           nullif(o.match_id, '00000000-0000-0000-0000-000000000000')
    FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@handles::text[]) AS handle, unnest(@modes::text[]) AS mode,
                 unnest(@instances::text[]) AS instance_id, unnest(@incarnations::uuid[]) AS incarnation,
                 unnest(@players::int[]) AS players, unnest(@max_players::int[]) AS max_players, unnest(@matches::uuid[]) AS match_id) o
    RETURNING id, instance_id, mode, max_players
), taken AS (
    UPDATE instances i SET reserved_seats = i.reserved_seats + t.seats, open_sessions = i.open_sessions + t.n
    FROM (SELECT o.instance_id, sum(o.max_players) AS seats, count(*) AS n FROM opened o GROUP BY o.instance_id) t
    WHERE i.region = @region AND i.id = t.instance_id
    RETURNING i.id, share_bucket(i) AS share
), shared AS (
    UPDATE instance_modes m SET share_bucket = t.share FROM taken t
    WHERE m.region = @region AND m.instance_id = t.id AND m.share_bucket <> t.share
)
INSERT INTO events (region, kind, instance_id, session_id, detail)
SELECT @region, 'session.opened', o.instance_id, o.id, jsonb_build_object('mode', o.mode, 'max_players', o.max_players) FROM opened o;

-- name: FillSessions :exec
-- Adds new players to the counters of sessions that this transaction has locked.
UPDATE sessions s SET player_count = s.player_count + f.players
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@players::int[]) AS players) f
WHERE s.region = @region AND s.id = f.id;

-- name: TakeSeats :exec
-- Inserts seats into sessions that this transaction has locked, in the order of the players. So two transactions that seat the
-- same players wait for each other at the unique index in one order, and cannot deadlock.
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at)
SELECT @region, n.session_id, n.sub, n.mode, n.party, n.reserved_by, now() + sqlc.arg(seat_ttl)::interval, now() + sqlc.arg(seat_ttl)::interval
FROM (SELECT unnest(@sessions::uuid[]) AS session_id, unnest(@subs::text[]) AS sub, unnest(@modes::text[]) AS mode,
             unnest(@parties::uuid[]) AS party, unnest(@callers::text[]) AS reserved_by) n
ORDER BY n.sub, n.mode;
