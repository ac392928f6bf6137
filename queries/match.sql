-- Where is a decided match committed? Here, in db/match_commit.go, which runs these in one transaction for all matches of a batch.
-- Tickets, their players and matches that do not play yet are of the universe; sessions, seats and playing matches of the game
-- region. The order of locks stands in migrations/00017_director_loop.sql.

-- name: HoldProfiles :many
-- The fence: of these profiles, those that their worker owns at these epochs while its lease lasts. A takeover waits until this
-- transaction ends, and other game regions of the same profile commit beside it.
SELECT o.profile FROM (
    SELECT unnest(@profiles::text[]) COLLATE "C" AS profile, unnest(@workers::uuid[]) AS worker, unnest(@epochs::bigint[]) AS epoch ORDER BY 1) w
CROSS JOIN LATERAL (
    SELECT p.profile FROM profile_owners p
    WHERE p.region = @universe AND p.profile = w.profile AND p.worker = w.worker AND p.epoch = w.epoch
      AND EXISTS (SELECT FROM loop_workers l WHERE l.id = p.worker AND l.lease_until > clock_timestamp())
    FOR SHARE OF p) o;

-- name: LockMatchTickets :many
-- Holds those that may be matched, in the order of @ids, which is theirs, each once. One that is missing in the answer is pending in
-- another match, paused, assigned, deleted or expired. Each is looked up by its key, whatever the planner thinks of the table.
SELECT t.id, t.created, t.tx::xid8 AS tx FROM (SELECT unnest(@ids::text[]) AS id, unnest(@marks::bytea[]) AS mark) u CROSS JOIN LATERAL (
    SELECT l.id, l.created, coalesce(l.tx, '0'::xid8) AS tx FROM tickets l
    WHERE l.region = @universe AND l.id = u.id AND l.paused_at IS NULL
      AND (l.pending_at IS NULL OR l.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval OR l.matched_in = u.mark)
      AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
    FOR UPDATE) t;

-- name: LockTicketPlayers :exec
-- The players of tickets. The region is compared as an expression so that the planner finds them by the index of tickets.
SELECT FROM (
    SELECT f.sub, f.profile FROM unnest(@tickets::text[]) AS u(id) CROSS JOIN LATERAL (
        SELECT q.sub, q.profile FROM ticket_players q WHERE q.region || '' = @universe::text AND q.ticket_id = u.id OFFSET 0) f
    ORDER BY 1, 2) w
CROSS JOIN LATERAL (
    SELECT FROM ticket_players p
    WHERE p.region = @universe AND p.sub = w.sub AND p.profile = w.profile AND p.ticket_id = ANY (@tickets::text[]) FOR UPDATE) l;

-- name: LockAcceptedMatches :many
SELECT m.id FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state = 'accepted' ORDER BY m.id FOR UPDATE;

-- name: LockMatchSessions :many
-- Sessions that matches join, and those in which their players give seats up.
SELECT s.id, s.handle, s.mode, s.instance_id, s.player_count, s.max_players, i.endpoint,
       (v.instance_status IS NOT DISTINCT FROM 'ready')::bool AS takes_players
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id
LEFT JOIN live_sessions v ON v.region = s.region AND v.id = s.id
WHERE s.region = @region AND s.id = ANY (@ids::uuid[])
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: PlayingMatches :many
-- The matches of sessions that this transaction holds, and who has seats in them.
SELECT m.session_id::uuid AS session_id, m.id, octet_length(m.roster::text)::int AS roster_bytes,
       ARRAY(SELECT st.sub FROM seats st WHERE st.region = m.region AND st.session_id = m.session_id)::text[] AS subs
FROM matches m WHERE m.region = @region AND m.session_id = ANY (@sessions::uuid[]) AND m.state = 'playing';

-- name: TakeMatchSeats :exec
-- As TakeSeats: in sessions that this transaction holds or opens, by player. Players of a match reserve for themselves, so that no
-- other party takes them away.
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at, match_id, team)
SELECT @region, n.session_id, n.sub, n.mode, n.party, n.sub, now() + sqlc.arg(seat_ttl)::interval, now() + sqlc.arg(seat_ttl)::interval,
       n.match_id, nullif(n.team, '')
FROM (SELECT unnest(@sessions::uuid[]) AS session_id, unnest(@subs::text[]) AS sub, unnest(@modes::text[]) AS mode,
             unnest(@parties::uuid[]) AS party, unnest(@matches::uuid[]) AS match_id, unnest(@teams::text[]) AS team) n
ORDER BY n.sub, n.mode;

-- name: StartMatches :exec
-- Matches that play from now on, in sessions that this transaction opens.
INSERT INTO matches (region, id, universe, profile, version, state, session_id, chosen, roster, data, tickets, decided_at)
SELECT @region, n.id, @universe, n.profile, n.version, 'playing', n.session_id, n.chosen::jsonb, n.roster::jsonb, nullif(n.data, '')::jsonb,
       (@tickets::text[])[n.tickets_from:n.tickets_to], n.decided_at
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
             unnest(@sessions::uuid[]) AS session_id, unnest(@chosen::text[]) AS chosen, unnest(@rosters::text[]) AS roster,
             unnest(@data::text[]) AS data, unnest(@tickets_from::int[]) AS tickets_from, unnest(@tickets_to::int[]) AS tickets_to,
             unnest(@decided_at::timestamptz[]) AS decided_at) n
ORDER BY n.id;

-- name: JoinMatches :exec
-- Newcomers of matches whose sessions this transaction holds.
UPDATE matches m SET roster = m.roster || n.roster::jsonb, tickets = m.tickets || (@tickets::text[])[n.tickets_from:n.tickets_to]
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@rosters::text[]) AS roster,
             unnest(@tickets_from::int[]) AS tickets_from, unnest(@tickets_to::int[]) AS tickets_to) n
WHERE m.region = @region AND m.id = n.id;

-- name: EndProposals :exec
-- Of matches that this transaction holds.
WITH answers AS (
    DELETE FROM match_accepts a WHERE a.region = @universe AND a.match_id = ANY (@ids::uuid[])
)
DELETE FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state <> 'playing';

-- name: ForgetTicketPlayers :exec
-- Of tickets that this transaction holds.
WITH held AS MATERIALIZED (
    SELECT f.region, f.sub, f.profile FROM unnest(@tickets::text[]) AS u(id) CROSS JOIN LATERAL (
        SELECT q.region, q.sub, q.profile FROM ticket_players q WHERE q.region || '' = @universe::text AND q.ticket_id = u.id OFFSET 0) f
    ORDER BY 2, 3
)
DELETE FROM ticket_players p USING held h WHERE p.region = h.region AND p.sub = h.sub AND p.profile = h.profile;

-- name: SettleMatched :exec
-- Assigns tickets that this transaction holds: they leave the queue with their last state. It does not ask again whether a ticket
-- has expired, which may have happened since.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.match, w.detail, w.subs_from, w.subs_to
    FROM (SELECT unnest(@ids::text[]) AS id, unnest(@match::int[]) AS match, unnest(@details::text[]) AS detail,
                 unnest(@subs_from::int[]) AS subs_from, unnest(@subs_to::int[]) AS subs_to) w
    CROSS JOIN LATERAL (SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id OFFSET 0) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.body, t.version
), settled AS (
    INSERT INTO settled_tickets (region, id, body, assignment)
    SELECT @universe, g.id, g.body, coalesce((@assignments::bytea[])[h.match], '') FROM gone g JOIN held h ON h.id = g.id
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @universe AND b.ticket_id IN (SELECT g.id FROM gone g)
)
INSERT INTO ticket_events (region, ticket_id, n, state, match_id, detail, party)
SELECT @universe, g.id, g.version + 1, 'assigned', (@playing::uuid[])[h.match], h.detail::jsonb, (@subs::text[])[h.subs_from:h.subs_to]
FROM gone g JOIN held h ON h.id = g.id;

-- name: KeepTickets :exec
-- The history of tickets that leave the queue. A ticket that was never seen has the epoch as that time.
INSERT INTO ticket_history (region, id, created, seen_at, profiles, party, attributes, latencies, outcome, profile, match_id)
SELECT @universe, k.id, to_timestamp(k.created / 1e9), nullif(k.seen_at, 'epoch'), (@profiles::text[])[k.profiles_from:k.profiles_to],
       (@parties::text[])[k.parties_from:k.parties_to], nullif(k.attributes, '')::jsonb, nullif(k.latencies, '')::jsonb, @outcome,
       k.decided_by, k.match_id
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@seen_at::timestamptz[]) AS seen_at,
             unnest(@profiles_from::int[]) AS profiles_from, unnest(@profiles_to::int[]) AS profiles_to,
             unnest(@parties_from::int[]) AS parties_from, unnest(@parties_to::int[]) AS parties_to,
             unnest(@attributes::text[]) AS attributes, unnest(@latencies::text[]) AS latencies,
             unnest(@decided_by::text[]) AS decided_by, unnest(@matches::uuid[]) AS match_id) k;

-- name: RecordMatches :exec
-- The history of committed matches, and an event for each.
WITH kept AS (
    INSERT INTO match_history (region, id, profile, version, epoch, seed, game_region, mode, session_id, joined, tickets, players, why, decided_at)
    SELECT @universe, n.id, n.profile, n.version, n.epoch, n.seed, CASE WHEN n.mode <> '' THEN @region::text END, nullif(n.mode, ''),
           nullif(n.session_id, '00000000-0000-0000-0000-000000000000'), n.joined, (@tickets::text[])[n.tickets_from:n.tickets_to], n.players,
           n.why::jsonb, n.decided_at
    FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
                 unnest(@epochs::bigint[]) AS epoch, unnest(@seeds::bigint[]) AS seed, unnest(@modes::text[]) AS mode,
                 unnest(@sessions::uuid[]) AS session_id, unnest(@joined::bool[]) AS joined, unnest(@tickets_from::int[]) AS tickets_from,
                 unnest(@tickets_to::int[]) AS tickets_to, unnest(@players::int[]) AS players, unnest(@why::text[]) AS why,
                 unnest(@decided_at::timestamptz[]) AS decided_at) n
    RETURNING *
)
INSERT INTO events (region, kind, session_id, detail)
SELECT coalesce(k.game_region, k.region), 'match.committed', k.session_id, jsonb_strip_nulls(jsonb_build_object('match', k.id, 'profile', k.profile,
    'version', k.version, 'tickets', cardinality(k.tickets), 'players', k.players, 'mode', k.mode, 'joined', nullif(k.joined, false)))
FROM kept k;

-- name: EndDemand :exec
WITH held AS (
    SELECT d.mode, d.key FROM demand d
    JOIN (SELECT unnest(@modes::text[]) AS mode, unnest(@keys::text[]) AS key) n ON n.mode = d.mode AND n.key = d.key
    WHERE d.region = @region ORDER BY d.mode, d.key FOR UPDATE OF d
)
DELETE FROM demand d USING held h WHERE d.region = @region AND d.mode = h.mode AND d.key = h.key;

-- name: AwaitTicket :exec
-- Waits until no transaction holds the ticket.
SELECT FROM tickets t WHERE t.region = @universe AND t.id = @id FOR NO KEY UPDATE;

-- name: MatchRecorded :one
SELECT EXISTS (SELECT FROM match_history h WHERE h.region = @universe AND h.id = @id)::bool AS recorded;

-- name: MatchProposed :one
SELECT EXISTS (SELECT FROM matches m WHERE m.region = @universe AND m.id = @id AND m.state <> 'playing')::bool AS proposed;

-- name: ProposeMatches :exec
-- Matches whose players are asked, and whose tickets this transaction holds.
INSERT INTO matches (region, id, universe, profile, version, state, deadline, chosen, roster, data, tickets, decision, decided_at)
SELECT @universe, n.id, @universe, n.profile, n.version, 'proposed', clock_timestamp() + sqlc.arg(within)::interval, n.chosen::jsonb,
       n.roster::jsonb, nullif(n.data, '')::jsonb, (@tickets::text[])[n.tickets_from:n.tickets_to], n.decision::jsonb, n.decided_at
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
             unnest(@chosen::text[]) AS chosen, unnest(@rosters::text[]) AS roster, unnest(@data::text[]) AS data,
             unnest(@tickets_from::int[]) AS tickets_from, unnest(@tickets_to::int[]) AS tickets_to, unnest(@decisions::text[]) AS decision,
             unnest(@decided_at::timestamptz[]) AS decided_at) n
ORDER BY n.id;

-- name: MarkProposed :exec
-- Puts tickets, which this transaction holds, into proposed matches. tx stays: a mark says nothing about the ticket.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.match_id, w.mark FROM (
        SELECT unnest(@ids::text[]) AS id, unnest(@matches::uuid[]) AS match_id, unnest(@marks::bytea[]) AS mark) w
    CROSS JOIN LATERAL (SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id OFFSET 0) l
), marked AS (
    UPDATE tickets t SET pending_at = clock_timestamp(), matched_in = h.mark, version = t.version + 1
    FROM held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.version
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @universe AND b.ticket_id IN (SELECT m.id FROM marked m)
)
INSERT INTO ticket_events (region, ticket_id, n, state, match_id)
SELECT @universe, m.id, m.version, 'accepting', h.match_id FROM marked m JOIN held h ON h.id = m.id;

-- name: TicketMark :one
-- The match that a ticket is in, and whether the player is of its party: while it waits, or by its last state.
SELECT coalesce(t.matched_in, '')::bytea AS mark,
       (EXISTS (SELECT FROM ticket_players p WHERE p.region || '' = @universe::text AND p.ticket_id = @ticket AND p.sub = @sub)
        OR EXISTS (SELECT FROM ticket_events e WHERE e.region = @universe AND e.ticket_id = @ticket AND e.party @> ARRAY[@sub::text]))::bool AS member
FROM (SELECT @ticket::text AS id) w LEFT JOIN tickets t ON t.region = @universe AND t.id = w.id;

-- name: SeeTicket :exec
-- The player has seen the ticket itself.
UPDATE ticket_players p SET seen_at = clock_timestamp()
WHERE p.region = @universe AND p.sub = @sub AND p.ticket_id = @ticket AND p.seen_at IS NULL;

-- name: LockProposal :many
-- The ready check, while nobody else answers or ends it.
SELECT m.state, m.deadline::timestamptz AS deadline, (m.deadline > clock_timestamp())::bool AS open, m.roster FROM matches m
WHERE m.region = @universe AND m.id = @id AND m.state <> 'playing' FOR NO KEY UPDATE;

-- name: MatchAnswers :many
SELECT a.match_id, a.sub, a.accepted FROM match_accepts a WHERE a.region = @universe AND a.match_id = ANY (@ids::uuid[]);

-- name: AnswerMatch :exec
-- A player who accepted may still decline, and not the other way round.
INSERT INTO match_accepts AS a (region, match_id, sub, accepted) VALUES (@universe, @id, @sub, @accepted)
ON CONFLICT (region, match_id, sub) DO UPDATE SET accepted = false, at = now() WHERE a.accepted AND NOT excluded.accepted;

-- name: EndReadyCheck :exec
-- All have answered. An accepted match keeps its tickets for a while, and one that somebody declined can be judged at once.
UPDATE matches m SET state = CASE WHEN @accepted::bool THEN 'accepted' ELSE m.state END,
    deadline = CASE WHEN @accepted::bool THEN m.deadline + sqlc.arg(hold)::interval ELSE least(m.deadline, clock_timestamp()) END
WHERE m.region = @universe AND m.id = @id;

-- name: DueMatches :many
-- Matches that do not play and whose deadline has passed, of these profiles or, without any, of all.
SELECT m.id, m.tickets FROM matches m
WHERE m.region = @universe AND m.state <> 'playing' AND m.deadline <= clock_timestamp() - sqlc.arg(overdue)::interval
  AND (cardinality(@profiles::text[]) = 0 OR m.profile = ANY (@profiles::text[]))
ORDER BY m.deadline LIMIT @batch;

-- name: LockMarkedTickets :many
-- Holds the tickets that are still in these matches, in the order of @ids, which is theirs.
SELECT t.id, t.created FROM (SELECT unnest(@ids::text[]) AS id, unnest(@marks::bytea[]) AS mark) u CROSS JOIN LATERAL (
    SELECT l.id, l.created FROM tickets l WHERE l.region = @universe AND l.id = u.id AND l.matched_in = u.mark AND l.pending_at IS NOT NULL FOR UPDATE) t;

-- name: LockDueMatches :many
SELECT m.id, m.state, m.profile, m.roster, m.decision::jsonb AS decision FROM matches m
WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state <> 'playing' AND m.deadline <= clock_timestamp() - sqlc.arg(overdue)::interval
ORDER BY m.id FOR UPDATE;

-- name: RequeueTickets :exec
-- Gives tickets of proposed matches, which this transaction holds, back to the queue, at their place.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.match_id FROM (SELECT unnest(@ids::text[]) AS id, unnest(@matches::uuid[]) AS match_id) w
    CROSS JOIN LATERAL (SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id OFFSET 0) l
), back AS (
    UPDATE tickets t SET pending_at = NULL, matched_in = NULL, version = t.version + 1, tx = pg_current_xact_id()
    FROM held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.version
)
INSERT INTO ticket_events (region, ticket_id, n, state, reason, match_id)
SELECT @universe, b.id, b.version, 'queued', 'others_declined', h.match_id FROM back b JOIN held h ON h.id = b.id;

-- name: DeclineTickets :exec
-- Tickets, which this transaction holds, leave the queue for good.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.match_id, w.subs_from, w.subs_to
    FROM (SELECT unnest(@ids::text[]) AS id, unnest(@matches::uuid[]) AS match_id, unnest(@subs_from::int[]) AS subs_from, unnest(@subs_to::int[]) AS subs_to) w
    CROSS JOIN LATERAL (SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id OFFSET 0) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.version
), settled AS (
    INSERT INTO settled_tickets (region, id) SELECT @universe, g.id FROM gone g
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @universe AND b.ticket_id IN (SELECT g.id FROM gone g)
)
INSERT INTO ticket_events (region, ticket_id, n, state, reason, match_id, party)
SELECT @universe, g.id, g.version + 1, 'declined', 'not_accepted', h.match_id, (@subs::text[])[h.subs_from:h.subs_to]
FROM gone g JOIN held h ON h.id = g.id;

-- name: RenewMarks :exec
-- Of tickets that this transaction holds.
UPDATE tickets t SET pending_at = clock_timestamp() FROM (SELECT unnest(@ids::text[]) AS id) n WHERE t.region = @universe AND t.id = n.id;

-- name: RenewAccepted :many
-- Accepted matches that wait on. Those that are missing in the answer have ended.
WITH held AS (
    SELECT m.id FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state = 'accepted' ORDER BY m.id FOR NO KEY UPDATE
)
UPDATE matches m SET deadline = clock_timestamp() + sqlc.arg(hold)::interval FROM held h WHERE m.region = @universe AND m.id = h.id
RETURNING m.id;

-- name: OpenProposals :many
-- A page of the matches of a profile that are proposed or accepted, for the worker that takes it over.
SELECT m.id, m.state, m.deadline::timestamptz AS deadline, m.decision::jsonb AS decision FROM matches m
WHERE m.region = @universe AND m.universe = @universe AND m.profile = @profile AND m.state <> 'playing' AND m.id > @after
ORDER BY m.id LIMIT @page;
