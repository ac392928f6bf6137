-- name: ResolveSeats :many
-- Returns the endpoints of seats, for all calls of a batch, and extends the seats' expiry so that the players can use their
-- tokens: where the instance reports seats, until the token has expired, plus a grace period; where it does not, for much
-- longer. A session whose room does not exist yet has no endpoint. It does not lock the sessions, so it must not wait for seats: it skips locked ones, whose calls stay for the next
-- batch. Where the session's server takes netcode connect tokens, the client ids of those tokens are inserted here, so that no token exists
-- whose client the director does not know.
WITH asked AS (
    SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) AS sub, unnest(@client_ids::bigint[]) AS client_id
), found AS MATERIALIZED ( -- so that seats are looked up by primary key, however few the planner expects
    SELECT a.handle, a.sub, f.id, f.endpoint, f.max_players, f.reports_seats, n.netcode FROM asked a CROSS JOIN LATERAL (
        SELECT v.id, v.endpoint, v.max_players, v.reports_seats, v.deployment_id FROM live_sessions v
        WHERE v.region = @region AND v.handle = a.handle AND NOT v.awaits_room
        LIMIT 1) f -- a handle is unique; LIMIT makes the planner look up the handles one by one
    LEFT JOIN LATERAL ( -- one column, and nothing is read for instances that are no deployments: resolving is frequent
        SELECT jsonb_build_object('client_id', a.client_id, 'deployment', d.id, 'dialect', p.dialect, 'protocol_id', p.protocol_id,
                   'key', encode(d.netcode_key, 'base64'), 'ip', host(d.ip), 'port', d.ports -> p.game_port, 'cert_digest', d.cert_digest) AS netcode
        FROM (SELECT k.id, k.app, k.version, k.netcode_key, k.ip, k.ports, k.cert_digest FROM deployments k
              WHERE f.deployment_id IS NOT NULL AND k.region = @region AND k.id = f.deployment_id LIMIT 1) d
        CROSS JOIN LATERAL (SELECT t.dialect, t.protocol_id, t.game_port FROM app_versions t
                            WHERE t.app = d.app AND t.version = d.version AND t.dialect IS NOT NULL LIMIT 1) p
        ) n ON true
), locked AS (
    SELECT st.session_id, st.sub, f.handle, f.endpoint, f.max_players, f.reports_seats, f.netcode
    FROM found f JOIN seats st ON st.region = @region AND st.session_id = f.id AND st.sub = f.sub
    FOR NO KEY UPDATE OF st SKIP LOCKED
), held AS (
    UPDATE seats st SET
        resolved_at = coalesce(st.resolved_at, now()),
        expires_at = CASE
            WHEN st.state = 'connected' THEN st.expires_at
            WHEN NOT locked.reports_seats THEN now() + sqlc.arg(unreported_hold)::interval
            ELSE least(now() + CASE WHEN locked.netcode IS NULL THEN sqlc.arg(token_hold)::interval ELSE sqlc.arg(netcode_hold)::interval END,
                       st.reserved_at + sqlc.arg(longest_hold)::interval) END
    FROM locked
    WHERE st.region = @region AND st.session_id = locked.session_id AND st.sub = locked.sub
    RETURNING st.session_id, st.sub, st.mode, st.party, locked.handle, locked.endpoint, locked.max_players, st.match_id, st.team, locked.netcode
), issued AS (
    INSERT INTO netcode_tokens (region, client_id, session_id, sub, deployment_id, expires_at)
    SELECT @region, (h.netcode ->> 'client_id')::bigint, h.session_id, h.sub, (h.netcode ->> 'deployment')::uuid, now() + sqlc.arg(netcode_hold)::interval
    FROM held h WHERE h.netcode IS NOT NULL
)
SELECT h.session_id, h.sub, h.mode, h.party, h.handle::text AS handle, h.endpoint::text AS endpoint, h.max_players::int AS max_players,
       now()::timestamptz AS issued_at, h.match_id, coalesce(h.team, '')::text AS team, h.netcode::jsonb AS netcode
FROM held h;

-- name: Unresolved :many
-- Why ResolveSeats returned no row: the session is live and has no seat for the player, or a locked one; it waits for its room; it has ended, which is
-- known for @memory; or it never existed.
SELECT a.handle::text AS handle, a.sub::text AS sub,
       EXISTS (SELECT 1 FROM live_sessions v WHERE v.region = @region AND v.handle = a.handle)::bool AS live,
       EXISTS (SELECT 1 FROM live_sessions v WHERE v.region = @region AND v.handle = a.handle AND v.awaits_room)::bool AS awaits_room,
       EXISTS (SELECT 1 FROM sessions s JOIN seats st ON st.region = s.region AND st.session_id = s.id AND st.sub = a.sub
               WHERE s.region = @region AND s.handle = a.handle)::bool AS seated,
       (EXISTS (SELECT 1 FROM sessions s WHERE s.region = @region AND s.handle = a.handle)
        OR EXISTS (SELECT 1 FROM session_history h WHERE h.region = @region AND h.handle = a.handle
                   AND h.closed_at > now() - sqlc.arg(memory)::interval))::bool AS ended
FROM (SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) AS sub) a;

-- name: GetSession :one
SELECT id, handle, endpoint, region, mode, player_count, max_players FROM live_sessions WHERE region = @region AND id = @id;

-- name: SessionEnded :one
-- Whether a session that is not live has existed: it ended within @memory, or the reaper has not closed it yet.
SELECT (EXISTS (SELECT 1 FROM sessions s WHERE s.region = @region AND s.id = @id)
     OR EXISTS (SELECT 1 FROM session_history h WHERE h.region = @region AND h.id = @id
                AND h.closed_at > now() - sqlc.arg(memory)::interval))::bool AS ended;

-- name: CloseSessions :many
SELECT close_sessions(@region, @ids::uuid[], @reason)::uuid AS id;

-- name: CloseEmptySessions :many
-- Closes those of the named sessions that are empty. The caller has locked them.
SELECT close_sessions(@region, ARRAY(
    SELECT s.id FROM sessions s WHERE s.region = @region AND s.id = ANY (@ids::uuid[]) AND s.player_count = 0), 'empty')::uuid AS id;

-- name: RosterStates :many
-- Returns a digest of the sessions and seats of each instance, and what a caller needs to wait for a change. The digest changes when
-- the result of SessionRosters changes. A match's roster only grows, together with its tickets.
-- The digest combines hashes by XOR, because sorting the seats would take most of the time. An instance that was never registered has no row.
SELECT d.instance_id, d.region, d.incarnation, coalesce(i.endpoint, '')::text AS endpoint,
       coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)::bool AS alive,
       (SELECT coalesce(bit_xor(hashtextextended(concat_ws(' ', s.id, s.player_count, (
            SELECT cardinality(m.tickets) FROM matches m WHERE m.region = s.region AND m.id = s.match_id)), coalesce((
            SELECT bit_xor(hashtextextended(st.state || st.sub, 0)) FROM seats st
            WHERE st.region = s.region AND st.session_id = s.id), 0))), 0)
        FROM sessions s WHERE s.region = d.region AND s.instance_id = d.instance_id AND s.incarnation = d.incarnation)::bigint AS digest
FROM instance_directory d
LEFT JOIN instances i ON i.region = d.region AND i.id = d.instance_id
LEFT JOIN instance_leases l ON l.region = d.region AND l.instance_id = d.instance_id
WHERE d.instance_id = ANY (@instance_ids::text[]);

-- name: SessionRosters :many
-- Returns the sessions of an instance after @after, in the order of their ids, with their seats and, if a match opened them, its
-- decision: at most @most sessions, and about @most_bytes except for the first. Each row says whether another session follows.
WITH page AS MATERIALIZED (
    SELECT s.id, s.handle, s.mode, s.player_count, s.max_players, s.opened_at, s.match_id, m.profile, m.version, m.chosen, m.data, m.fill_to, m.roster,
           row_number() OVER w AS n, lead(s.id) OVER w IS NOT NULL AS followed,
           sum(512 + 320 * s.player_count + coalesce(octet_length(m.roster::text) + octet_length(m.chosen::text), 0)
               + coalesce(octet_length(m.data::text), 0)) OVER w AS upto
    FROM (SELECT o.id, o.handle, o.mode, o.player_count, o.max_players, o.opened_at, o.match_id FROM sessions o
          WHERE o.region = @region AND o.instance_id = @instance_id AND o.incarnation = @incarnation AND o.id > @after
          ORDER BY o.id LIMIT (sqlc.arg(most)::int + 1)) s
    LEFT JOIN LATERAL (
        SELECT k.profile, k.version, k.chosen, k.data, k.fill_to, k.roster FROM matches k WHERE k.region = @region AND k.id = s.match_id LIMIT 1) m ON true
    WINDOW w AS (ORDER BY s.id)
)
SELECT p.id, p.handle, p.mode, p.player_count, p.max_players, p.opened_at, p.match_id, coalesce(p.profile, '')::text AS profile,
       coalesce(p.version, 0)::int AS version, coalesce(p.chosen, 'null')::jsonb AS chosen, coalesce(p.data, 'null')::jsonb AS data,
       coalesce(p.fill_to, '{}')::jsonb AS fill_to,
       coalesce(p.roster, '[]')::jsonb AS roster, st.subs::text[] AS subs, st.states::text[] AS states, st.teams::text[] AS teams,
       p.followed::bool AS followed
FROM page p CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(t.sub ORDER BY t.sub), '{}') AS subs, coalesce(array_agg(t.state ORDER BY t.sub), '{}') AS states,
           coalesce(array_agg(coalesce(t.team, '') ORDER BY t.sub), '{}') AS teams
    FROM seats t WHERE t.region = @region AND t.session_id = p.id) st
WHERE p.n <= sqlc.arg(most)::int AND (p.n = 1 OR p.upto <= sqlc.arg(most_bytes)::bigint)
ORDER BY p.id;
