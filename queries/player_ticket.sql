-- Tickets of players. The members of a ticket's party are rows of ticket_players while it waits; afterwards its last event has them.

-- name: PlayersQueued :many
-- Returns the tickets that these players wait with. Each player is looked up by the key. over: the ticket has expired and is not
-- yet deleted.
SELECT p.sub, p.profile, p.ticket_id, p.request_hash, (p.seen_at IS NOT NULL)::bool AS seen, coalesce(p.seen_at = p.joined_at, false)::bool AS posted,
       (t.id IS NOT NULL)::bool AS waits, coalesce(t.ends_at <= clock_timestamp(), false)::bool AS over,
       coalesce(t.pending_at > clock_timestamp() - sqlc.arg(pending_for)::interval, false)::bool AS pending
FROM (SELECT DISTINCT unnest(@subs::text[]) COLLATE "C" AS sub) w CROSS JOIN LATERAL (
    SELECT o.sub, o.profile, o.ticket_id, o.request_hash, o.seen_at, o.joined_at FROM ticket_players o
    WHERE o.region = @region AND o.sub = w.sub OFFSET 0) p
LEFT JOIN LATERAL (
    SELECT o.id, o.ends_at, o.pending_at FROM tickets o WHERE o.region = @region AND o.id = p.ticket_id OFFSET 0) t ON true
ORDER BY p.sub, p.profile;

-- name: ForgetPlayers :exec
-- Deletes rows whose ticket has left the queue by an older release or a client of Open Match.
DELETE FROM ticket_players p USING (
    SELECT l.sub, l.profile FROM (
        SELECT unnest(@subs::text[]) COLLATE "C" AS sub, unnest(@profiles::text[]) COLLATE "C" AS profile, unnest(@tickets::text[]) COLLATE "C" AS ticket_id
        ORDER BY 1, 2
    ) w CROSS JOIN LATERAL (
        SELECT o.sub, o.profile FROM ticket_players o
        WHERE o.region = @region AND o.sub = w.sub AND o.profile = w.profile AND o.ticket_id = w.ticket_id FOR UPDATE) l
) h WHERE p.region = @region AND p.sub = h.sub AND p.profile = h.profile;

-- name: QueuePlayerTickets :exec
-- The statement fails if another transaction has inserted an id or a player meanwhile: the batch is then decided again.
-- A ticket with a lease leaves at the end of its lease or of its time, whichever comes first.
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body, expires_at, kept_alive, ends_at)
SELECT @region, r.id, r.created, (@terms::uuid[])[r.terms_from:r.terms_to], (@double_keys::uuid[])[r.doubles_from:r.doubles_to],
       (@doubles::float8[])[r.doubles_from:r.doubles_to], r.body, now() + least(r.ttl, nullif(r.lease, '0')), nullif(r.lease, '0'), now() + r.ttl
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@bodies::bytea[]) AS body,
             unnest(@terms_from::int[]) AS terms_from, unnest(@terms_to::int[]) AS terms_to,
             unnest(@doubles_from::int[]) AS doubles_from, unnest(@doubles_to::int[]) AS doubles_to,
             unnest(@ttls::interval[]) AS ttl, unnest(@leases::interval[]) AS lease) r;

-- name: JoinPlayers :exec
-- Sorted by the key, so that two transactions that add the same players do not deadlock. The player that posted the ticket has
-- seen it.
INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash, seen_at)
SELECT @region, r.sub, r.profile, r.ticket_id, r.request_hash, CASE WHEN r.posted THEN now() END
FROM (SELECT unnest(@subs::text[]) COLLATE "C" AS sub, unnest(@profiles::text[]) COLLATE "C" AS profile, unnest(@tickets::text[]) AS ticket_id,
             unnest(@hashes::bytea[]) AS request_hash, unnest(@posted::bool[]) AS posted) r
ORDER BY r.sub, r.profile;

-- name: RecordQueued :exec
INSERT INTO ticket_events (region, ticket_id, n, state) SELECT @region, unnest(@tickets::text[]), 1, 'queued';

-- name: LockPlayerTicket :one
-- Locks the ticket of a member and returns the mark of the match that it is in, and a session of the realtime lobby that waits with it, with the
-- room whose members queued together. No row: the ticket has left, or the player is not a member.
SELECT t.version, coalesce(t.pending_at > clock_timestamp() - sqlc.arg(pending_for)::interval, false)::bool AS pending, t.matched_in,
       coalesce(r.region, '')::text AS session_region, coalesce(r.session, '')::text AS session, r.lobby
FROM tickets t
LEFT JOIN LATERAL (
    SELECT o.region, o.session, o.lobby FROM realtime_tickets o WHERE o.ticket_region = t.region AND o.ticket = t.id LIMIT 1) r ON true
WHERE t.region = @region AND t.id = @id
  AND EXISTS (SELECT FROM ticket_players p WHERE p.region = t.region AND p.ticket_id = t.id AND p.sub = @sub)
FOR UPDATE OF t;

-- name: ReadyCheckState :one
-- Returns the state of a match; '' if it has ended.
SELECT coalesce((SELECT m.state FROM matches m WHERE m.region = @region AND m.id = @id), '')::text AS state;

-- name: LeaveQueue :many
-- Takes tickets with their players out of the queue, and records the final state. A ticket that is in a match stays unless
-- it is forced. Returns what a row of ticket_history needs, since SQL cannot decode the body. Here and below, the region
-- of players is compared as an expression, so that the planner finds them by the index of tickets.
WITH wanted AS (
    SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@states::text[]) AS state, unnest(@reasons::text[]) AS reason,
           unnest(@forced::bool[]) AS forced
), held AS MATERIALIZED (
    SELECT l.region, l.id, l.version, l.created, l.body, w.state, w.reason FROM (SELECT u.* FROM wanted u ORDER BY u.id) w CROSS JOIN LATERAL (
        SELECT o.region, o.id, o.version, o.created, o.body FROM tickets o WHERE o.region = @region AND o.id = w.id
          AND (w.forced OR o.pending_at IS NULL OR o.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval)
        FOR UPDATE) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @region AND b.ticket_id IN (SELECT g.id FROM gone g)
), members AS (
    DELETE FROM ticket_players p USING (
        SELECT l.sub, l.profile FROM gone g CROSS JOIN LATERAL (
            SELECT o.sub, o.profile FROM ticket_players o WHERE o.region || '' = @region::text AND o.ticket_id = g.id ORDER BY o.sub, o.profile FOR UPDATE) l
    ) m WHERE p.region = @region AND p.sub = m.sub AND p.profile = m.profile RETURNING p.ticket_id, p.sub, p.profile
), parties AS (
    SELECT m.ticket_id, array_agg(DISTINCT m.sub ORDER BY m.sub)::text[] AS party, array_agg(DISTINCT m.profile ORDER BY m.profile)::text[] AS profiles
    FROM members m GROUP BY m.ticket_id
), settled AS (
    INSERT INTO settled_tickets (region, id) SELECT @region, g.id FROM gone g ORDER BY g.id ON CONFLICT (region, id) DO NOTHING
), recorded AS (
    INSERT INTO ticket_events (region, ticket_id, n, state, reason, party)
    SELECT @region, h.id, h.version + 1, h.state, h.reason, p.party FROM held h JOIN parties p ON p.ticket_id = h.id
)
SELECT h.id::text AS id, h.created::bigint AS created, h.body::bytea AS body, h.state::text AS state,
       coalesce(p.party, '{}')::text[] AS party, coalesce(p.profiles, '{}')::text[] AS profiles
FROM held h LEFT JOIN parties p ON p.ticket_id = h.id ORDER BY h.id;

-- name: RecordHistory :exec
INSERT INTO ticket_history (region, id, created, profiles, party, attributes, latencies, outcome)
SELECT @region, r.id, to_timestamp(r.created / 1e9), array_remove(string_to_array(r.profiles, E'\n'), ''), string_to_array(r.party, E'\n'),
       nullif(r.attributes, '')::jsonb, nullif(r.latencies, '')::jsonb, r.outcome
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@profiles::text[]) AS profiles, unnest(@parties::text[]) AS party,
             unnest(@attributes::text[]) AS attributes, unnest(@latencies::text[]) AS latencies, unnest(@outcomes::text[]) AS outcome) r;

-- name: PauseTickets :many
-- Pauses tickets, or ends their pause; they keep their place. It skips tickets that are in that state already.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, l.version FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
        SELECT o.region, o.id, o.version FROM tickets o
        WHERE o.region = @region AND o.id = w.id AND (o.paused_at IS NULL) = @pause::bool
          AND (o.pending_at IS NULL OR o.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval)
        FOR NO KEY UPDATE) l
), moved AS (
    UPDATE tickets t SET paused_at = CASE WHEN @pause::bool THEN clock_timestamp() END, version = t.version + 1, tx = pg_current_xact_id()
    FROM held h WHERE t.region = h.region AND t.id = h.id
)
INSERT INTO ticket_events (region, ticket_id, n, state)
SELECT @region, h.id, h.version + 1, CASE WHEN @pause::bool THEN 'paused' ELSE 'queued' END FROM held h
RETURNING ticket_events.ticket_id;

-- name: SeeTickets :exec
-- Records that players have read or accepted a ticket: to queue elsewhere, they must cancel it.
UPDATE ticket_players p SET seen_at = clock_timestamp() FROM (
    SELECT l.sub, l.profile FROM (
        SELECT DISTINCT unnest(@tickets::text[]) COLLATE "C" AS ticket_id, unnest(@subs::text[]) COLLATE "C" AS sub) w CROSS JOIN LATERAL (
        SELECT o.sub, o.profile FROM ticket_players o WHERE o.region = @region AND o.sub = w.sub AND o.ticket_id = w.ticket_id AND o.seen_at IS NULL
        OFFSET 0) l
    ORDER BY l.sub, l.profile
) h WHERE p.region = @region AND p.sub = h.sub AND p.profile = h.profile AND p.seen_at IS NULL;

-- name: PlayerTickets :many
-- Returns tickets as their players see them, a row for each id and player, in one snapshot. Each table is looked up by its key;
-- events only from the ticket's creation on, so that few partitions are read. renewable: a third of the lease has passed, so that
-- players who poll cause a write now and then, and not one a call.
SELECT w.n::int AS n, (t.id IS NOT NULL)::bool AS waits, coalesce(t.created, 0)::bigint AS created, coalesce(t.version, 0)::int AS version,
       (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at > statement_timestamp() - sqlc.arg(pending_for)::interval, false)::bool AS pending,
       coalesce(t.matched_in, '')::bytea AS matched_in, coalesce(t.kept_alive, '0')::interval AS kept_alive,
       coalesce(t.expires_at < least(statement_timestamp() + t.kept_alive * 2 / 3, t.ends_at), false)::bool AS renewable, coalesce(t.body, '')::bytea AS body,
       coalesce(e.n, 0)::int AS event, coalesce(e.state, '')::text AS state, coalesce(e.reason, '')::text AS reason, e.match_id,
       coalesce(e.detail, '{}')::text AS detail, coalesce(e.at, 'epoch')::timestamptz AS at, coalesce(e.party, '{}')::text[] AS past_party,
       coalesce(p.party, '{}')::text[] AS party, coalesce(p.profiles, '{}')::text[] AS profiles, coalesce(p.seen, false)::bool AS seen,
       (s.id IS NOT NULL)::bool AS settled, s.assignment, coalesce(s.settled_at, 'epoch')::timestamptz AS settled_at,
       coalesce(m.state, '')::text AS match_state, coalesce(m.deadline, 'epoch')::timestamptz AS deadline, coalesce(m.players, 0)::int AS players,
       coalesce(m.accepted, 0)::int AS accepted, coalesce(m.mine, false)::bool AS mine,
       coalesce(m.declined, false)::bool AS declined, coalesce(x.next_ticket, '')::text AS next_ticket, statement_timestamp()::timestamptz AS now
FROM (SELECT generate_subscripts(@ids::text[], 1) AS n, unnest(@ids::text[]) COLLATE "C" AS id, unnest(@subs::text[]) COLLATE "C" AS sub,
             unnest(@since::timestamptz[]) AS since) w
LEFT JOIN LATERAL (
    SELECT o.id, o.created, o.version, o.paused_at, o.pending_at, o.matched_in, o.kept_alive, o.expires_at, o.ends_at, o.body FROM tickets o
    WHERE o.region = @region AND o.id = w.id OFFSET 0) t ON true
LEFT JOIN LATERAL (
    SELECT o.n, o.state, o.reason, o.match_id, o.detail, o.at, o.party FROM ticket_events o
    WHERE o.region = @region AND o.ticket_id = w.id AND o.at >= w.since AND o.at < statement_timestamp() + interval '1 day'
    ORDER BY o.n DESC, o.at DESC LIMIT 1) e ON true
LEFT JOIN LATERAL (
    SELECT array_agg(DISTINCT o.sub ORDER BY o.sub) AS party, array_agg(DISTINCT o.profile ORDER BY o.profile) AS profiles,
           bool_or(o.sub = w.sub AND o.seen_at IS NOT NULL) AS seen
    FROM ticket_players o WHERE o.region || '' = @region::text AND o.ticket_id = w.id) p ON true
LEFT JOIN LATERAL (
    SELECT o.id, o.assignment, o.settled_at FROM settled_tickets o WHERE o.region = @region AND o.id = w.id AND t.id IS NULL OFFSET 0) s ON true
LEFT JOIN LATERAL (
    SELECT o.state, o.deadline, jsonb_array_length(o.roster) AS players,
           (SELECT count(*) FROM match_accepts a WHERE a.region = o.region AND a.match_id = o.id AND a.accepted) AS accepted,
           EXISTS (SELECT FROM match_accepts a WHERE a.region = o.region AND a.match_id = o.id AND a.sub = w.sub AND a.accepted) AS mine,
           EXISTS (SELECT FROM match_accepts a WHERE a.region = o.region AND a.match_id = o.id AND a.sub = ANY (p.party) AND NOT a.accepted) AS declined
    FROM matches o WHERE o.region = @region AND o.id = e.match_id AND t.id IS NOT NULL OFFSET 0) m ON true
LEFT JOIN LATERAL (
    SELECT o.next_ticket FROM evacuated_players o
    WHERE t.id IS NULL AND o.ticket = w.id AND o.ticket <> '' AND o.state = 'queued' AND (w.sub = '' OR o.sub = w.sub) ORDER BY o.sub LIMIT 1) x ON true
ORDER BY w.n;

-- name: TicketEvents :many
-- Returns the events of a ticket after number @after, oldest first.
SELECT e.n, e.state, coalesce(e.reason, '')::text AS reason, e.match_id, e.detail::text AS detail, e.at, coalesce(e.party, '{}')::text[] AS party
FROM ticket_events e
WHERE e.region = @region AND e.ticket_id = @id AND e.n > @after::int AND e.at >= @since::timestamptz
  AND e.at < statement_timestamp() + interval '1 day'
ORDER BY e.n, e.at LIMIT 1000;

-- name: EventsLate :many
-- Returns a page of the tickets that changed their state in transactions that were in progress in the snapshot @before, as in SettledLate.
-- The region is compared as an expression, here and below, so that the planner never chooses the primary key: the partition
-- of today has no statistics yet.
SELECT s.ticket_id, s.tx FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
    SELECT o.ticket_id, o.tx FROM ticket_events o
    WHERE o.region || '' = sqlc.arg(region)::text AND o.tx = p.tx AND o.at > statement_timestamp() - interval '1 day' AND o.at < statement_timestamp() + interval '1 day' OFFSET 0) s
WHERE p.tx > @after::xid8
ORDER BY s.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: EventsSince :many
-- Returns a page of the tickets that changed their state in transactions from @since on. No transaction is open for a day, so two
-- partitions are enough.
SELECT o.ticket_id, o.tx FROM ticket_events o
WHERE o.region || '' = sqlc.arg(region)::text AND o.tx >= @since::xid8 AND o.at > statement_timestamp() - interval '1 day' AND o.at < statement_timestamp() + interval '1 day'
ORDER BY o.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: QueuedSince :many
-- Returns when the waiting tickets with a term were created, oldest first, from which the place of a ticket is computed.
SELECT t.created FROM tickets t
WHERE t.region = @region AND t.terms @> @terms::uuid[] AND t.paused_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.created LIMIT sqlc.arg(most);

-- name: ProfileStats :many
-- Returns the waiting times of profiles, without those that matched no ticket recently, such as retired ones.
SELECT s.profile, s.decile, s.upto, s.p50, s.p90, s.samples FROM profile_stats s
WHERE s.region = @region AND s.updated_at > statement_timestamp() - interval '15 minutes' ORDER BY s.profile, s.decile;

-- name: WithPlayers :many
-- Returns those of the tickets that were created by POST /tickets, each with the reason why it expires.
SELECT t.id, (CASE WHEN t.ends_at <= clock_timestamp() THEN 'ttl' ELSE 'client_gone' END)::text AS reason
FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id) w CROSS JOIN LATERAL (
    SELECT o.id, o.ends_at FROM tickets o WHERE o.region = @region AND o.id = w.id AND o.ends_at IS NOT NULL OFFSET 0) t
ORDER BY t.id;

-- name: LostTickets :many
-- Returns tickets that left the queue without a final state, by an older release or a client of Open Match.
SELECT DISTINCT p.ticket_id FROM ticket_players p
WHERE p.region = @region AND NOT EXISTS (SELECT FROM tickets t WHERE t.region = p.region AND t.id = p.ticket_id)
LIMIT sqlc.arg(batch);

-- name: RecordLost :many
-- Records the final state of such tickets. The transaction that deletes the rows of the players records it, so it is recorded once.
WITH members AS (
    DELETE FROM ticket_players p USING (
        SELECT l.sub, l.profile FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id ORDER BY 1) w CROSS JOIN LATERAL (
            SELECT o.sub, o.profile FROM ticket_players o WHERE o.region || '' = @region::text AND o.ticket_id = w.id ORDER BY o.sub, o.profile FOR UPDATE SKIP LOCKED) l
    ) m WHERE p.region = @region AND p.sub = m.sub AND p.profile = m.profile RETURNING p.ticket_id, p.sub, p.profile
), parties AS (
    SELECT m.ticket_id, array_agg(DISTINCT m.sub ORDER BY m.sub)::text[] AS party, array_agg(DISTINCT m.profile ORDER BY m.profile)::text[] AS profiles
    FROM members m GROUP BY m.ticket_id
), ended AS (
    SELECT p.ticket_id, p.party, p.profiles, s.body, coalesce(e.n, 0) AS n,
           coalesce(e.party IS NOT NULL, false) AS final, (CASE WHEN s.body IS NULL THEN 'cancelled' ELSE 'assigned' END) AS state
    FROM parties p
    LEFT JOIN LATERAL (SELECT o.body FROM settled_tickets o WHERE o.region = @region AND o.id = p.ticket_id OFFSET 0) s ON true
    LEFT JOIN LATERAL (
        SELECT o.n, o.party FROM ticket_events o WHERE o.region = @region AND o.ticket_id = p.ticket_id ORDER BY o.n DESC, o.at DESC LIMIT 1) e ON true
), recorded AS (
    INSERT INTO ticket_events (region, ticket_id, n, state, reason, party)
    SELECT @region, d.ticket_id, d.n + 1, d.state, CASE WHEN d.state = 'cancelled' THEN 'deleted' END, d.party FROM ended d WHERE NOT d.final
)
SELECT d.ticket_id::text AS id, coalesce(d.body, '')::bytea AS body, d.state::text AS state, d.party::text[] AS party, d.profiles::text[] AS profiles
FROM ended d WHERE NOT d.final ORDER BY d.ticket_id;

-- name: RetiredRecently :one
-- Reports whether a profile of the region was retired within the interval.
SELECT EXISTS (SELECT FROM profiles r WHERE r.region = @region AND r.retired_at > clock_timestamp() - sqlc.arg(within)::interval)::bool AS retired;

-- name: TicketsOfRetired :many
-- Returns tickets that wait for retired profiles only and are in no match. It reads all of ticket_players.
SELECT DISTINCT p.ticket_id FROM profiles r JOIN ticket_players p ON p.region = r.region AND p.profile = r.name
WHERE r.region = @region AND r.retired_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM ticket_players o LEFT JOIN profiles l ON l.region = o.region AND l.name = o.profile
    WHERE o.region || '' = @region::text AND o.ticket_id = p.ticket_id AND l.retired_at IS NULL)
  AND EXISTS (SELECT FROM tickets t WHERE t.region = p.region AND t.id = p.ticket_id
    AND (t.pending_at IS NULL OR t.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval))
LIMIT sqlc.arg(batch);
