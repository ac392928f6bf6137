-- db/match_commit.go commits a batch of decided matches: it runs these statements in one transaction.
-- Tickets, their players and matches that do not play yet are of the universe; sessions, seats and playing matches of the game
-- region. The lock order is in migrations/00017_director_loop.sql.
-- Lists of a row (its tickets, its party) are parameters in the text form of an array: a slice of one long array would be found by
-- stepping over all elements before it, again for each row.

-- name: HoldProfiles :many
-- Fences the owner: returns the profiles that their worker still owns, at these epochs and with a lease that has not expired. The
-- share lock makes a takeover wait until this transaction ends; commits of other game regions run concurrently.
SELECT o.profile FROM (
    SELECT unnest(@profiles::text[]) COLLATE "C" AS profile, unnest(@workers::uuid[]) AS worker, unnest(@epochs::bigint[]) AS epoch ORDER BY 1) w
CROSS JOIN LATERAL (
    SELECT p.profile FROM profile_owners p
    WHERE p.region = @universe AND p.profile = w.profile AND p.worker = w.worker AND p.epoch = w.epoch
      AND EXISTS (SELECT FROM loop_workers l WHERE l.id = p.worker AND l.lease_until > clock_timestamp())
    FOR SHARE OF p) o;

-- name: LockMatchTickets :many
-- Locks the tickets that may be matched. @ids is sorted and has no duplicates. A ticket that is not returned is pending in another
-- match, paused, assigned, deleted or expired. Each is looked up by its key, whatever the table's statistics say. The body is
-- NULL for tickets of players, which have none once they have left the queue.
SELECT t.id, t.created, t.tx::xid8 AS tx, t.version, t.body::bytea AS body, now()::timestamptz AS now
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@marks::bytea[]) AS mark) u CROSS JOIN LATERAL (
    SELECT l.id, l.created, coalesce(l.tx, '0'::xid8) AS tx, l.version, CASE WHEN l.ends_at IS NULL THEN l.body END AS body FROM tickets l
    WHERE l.region = @universe AND l.id = u.id AND l.paused_at IS NULL
      AND (l.pending_at IS NULL OR l.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval OR l.matched_in = u.mark)
      AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
    FOR UPDATE) t;

-- name: TakeMatchTickets :many
-- Deletes the tickets that LockMatchTickets would lock, in the order of their ids: the scan of the index follows the sorted list. A mark is
-- of one match, so a ticket with one of @marks is in a match of this transaction.
DELETE FROM tickets t
WHERE t.region = @universe AND t.id = ANY (@ids::text[]) AND t.paused_at IS NULL
  AND (t.pending_at IS NULL OR t.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval OR t.matched_in = ANY (@marks::bytea[]))
  AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
RETURNING t.id, t.created, coalesce(t.tx, '0')::xid8 AS tx, t.version, (CASE WHEN t.ends_at IS NULL THEN t.body END)::bytea AS body, now()::timestamptz AS now;

-- name: LockTicketPlayers :exec
-- Locks the players of tickets. The region is compared as an expression so that the planner finds them by the index of tickets.
SELECT FROM (
    SELECT f.sub, f.profile, u.id FROM unnest(@tickets::text[]) AS u(id) CROSS JOIN LATERAL (
        SELECT q.sub, q.profile FROM ticket_players q WHERE q.region || '' = @universe::text AND q.ticket_id = u.id OFFSET 0) f
    ORDER BY 1, 2) w
CROSS JOIN LATERAL (
    SELECT FROM ticket_players p
    WHERE p.region = @universe AND p.sub = w.sub AND p.profile = w.profile AND p.ticket_id = w.id FOR UPDATE) l;

-- name: LockAcceptedMatches :many
SELECT m.id FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state = 'accepted' ORDER BY m.id FOR UPDATE;

-- name: LockMatchSessions :many
-- Locks the sessions that matches join, and those in which their players give up seats.
SELECT s.id, s.handle, s.mode, s.instance_id, s.player_count, s.max_players, i.endpoint,
       (v.instance_status IS NOT DISTINCT FROM 'ready')::bool AS takes_players
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id
LEFT JOIN live_sessions v ON v.region = s.region AND v.id = s.id
WHERE s.region = @region AND s.id = ANY (@ids::uuid[])
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: PlayingMatches :many
-- Returns the matches of sessions that this transaction has locked, and the players with seats in them.
SELECT m.session_id::uuid AS session_id, m.id, octet_length(m.roster::text)::int AS roster_bytes,
       ARRAY(SELECT st.sub FROM seats st WHERE st.region = m.region AND st.session_id = m.session_id)::text[] AS subs
FROM matches m WHERE m.region = @region AND m.session_id = ANY (@sessions::uuid[]) AND m.state = 'playing';

-- name: TakeMatchSeats :exec
-- As TakeSeats, in sessions that this transaction has locked or opens, sorted by player. Each player of a match reserves its own
-- seat, so that no other party can take it.
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at, match_id, team)
SELECT @region, n.session_id, n.sub, n.mode, n.party, n.sub, now() + sqlc.arg(seat_ttl)::interval, now() + sqlc.arg(seat_ttl)::interval,
       n.match_id, nullif(n.team, '')
FROM (SELECT unnest(@sessions::uuid[]) AS session_id, unnest(@subs::text[]) AS sub, unnest(@modes::text[]) AS mode,
             unnest(@parties::uuid[]) AS party, unnest(@matches::uuid[]) AS match_id, unnest(@teams::text[]) AS team) n
ORDER BY n.sub, n.mode;

-- name: StartMatches :exec
-- Inserts playing matches, in sessions that this transaction opens.
INSERT INTO matches (region, id, universe, profile, version, state, session_id, chosen, roster, data, fill_to, tickets, decided_at)
SELECT @region, n.id, @universe, n.profile, n.version, 'playing', n.session_id, n.chosen::jsonb, n.roster::jsonb, nullif(n.data, '')::jsonb, nullif(n.fill_to, '')::jsonb,
       n.tickets::text[], n.decided_at
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
             unnest(@sessions::uuid[]) AS session_id, unnest(@chosen::text[]) AS chosen, unnest(@rosters::text[]) AS roster,
             unnest(@data::text[]) AS data, unnest(@fill_to::text[]) AS fill_to, unnest(@tickets::text[]) AS tickets,
             unnest(@decided_at::timestamptz[]) AS decided_at) n
ORDER BY n.id;

-- name: JoinMatches :exec
-- Adds newcomers to matches whose sessions this transaction has locked.
UPDATE matches m SET roster = m.roster || n.roster::jsonb, tickets = m.tickets || n.tickets::text[]
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@rosters::text[]) AS roster,
             unnest(@tickets::text[]) AS tickets) n
WHERE m.region = @region AND m.id = n.id;

-- name: EndProposals :exec
-- Deletes proposed and accepted matches, which this transaction has locked, with their answers.
WITH answers AS (
    DELETE FROM match_accepts a WHERE a.region = @universe AND a.match_id = ANY (@ids::uuid[])
)
DELETE FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state <> 'playing';

-- name: ForgetTicketPlayers :exec
-- Deletes the players of tickets that this transaction has locked.
WITH held AS MATERIALIZED (
    SELECT f.region, f.sub, f.profile FROM unnest(@tickets::text[]) AS u(id) CROSS JOIN LATERAL (
        SELECT q.region, q.sub, q.profile FROM ticket_players q WHERE q.region || '' = @universe::text AND q.ticket_id = u.id OFFSET 0) f
    ORDER BY 2, 3
)
DELETE FROM ticket_players p USING held h WHERE p.region = h.region AND p.sub = h.sub AND p.profile = h.profile;

-- name: DeleteLockedTickets :exec
-- Deletes tickets that this transaction has locked.
DELETE FROM tickets t WHERE t.region = @universe AND t.id = ANY (@ids::text[]);

-- name: SettleMatched :exec
-- Records the last state and the assignment of tickets that this transaction deletes.
WITH w AS (
    SELECT unnest(@ids::text[]) AS id, unnest(@versions::int[]) AS version, unnest(@bodies::bytea[]) AS body, unnest(@match::int[]) AS match,
           unnest(@details::text[]) AS detail, unnest(@parties::text[]) AS party
), settled AS (
    INSERT INTO settled_tickets (region, id, body, assignment)
    SELECT @universe, w.id, w.body, coalesce((@assignments::bytea[])[w.match], '') FROM w
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @universe AND b.ticket_id IN (SELECT w.id FROM w)
)
INSERT INTO ticket_events (region, ticket_id, n, state, match_id, detail, party)
SELECT @universe, w.id, w.version + 1, 'assigned', (@playing::uuid[])[w.match], w.detail::jsonb, w.party::text[] FROM w;

-- name: KeepTickets :exec
-- Inserts the history of tickets, once. The Unix epoch stands for a ticket that no worker has seen, and for one that leaves the queue in
-- this transaction.
INSERT INTO ticket_history (region, id, created, seen_at, left_at, profiles, party, attributes, latencies, outcome, profile, match_id)
SELECT @universe, k.id, to_timestamp(k.created / 1e9), nullif(k.seen_at, 'epoch'), coalesce(nullif(k.left_at, 'epoch'), now()),
       k.profiles::text[], k.party::text[], nullif(k.attributes, '')::jsonb, nullif(k.latencies, '')::jsonb, @outcome,
       k.decided_by, k.match_id
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@seen_at::timestamptz[]) AS seen_at,
             unnest(@left_at::timestamptz[]) AS left_at,
             unnest(@profiles::text[]) AS profiles, unnest(@parties::text[]) AS party,
             unnest(@attributes::text[]) AS attributes, unnest(@latencies::text[]) AS latencies,
             unnest(@decided_by::text[]) AS decided_by, unnest(@matches::uuid[]) AS match_id) k
ON CONFLICT DO NOTHING;

-- name: RecordMatches :exec
-- Inserts an event for each committed match and, with @keep, its history.
WITH committed AS (
    SELECT @universe::text AS region, n.id, n.profile, n.version, n.epoch, n.seed, CASE WHEN n.mode <> '' THEN @region::text END AS game_region,
           nullif(n.mode, '') AS mode, nullif(n.session_id, '00000000-0000-0000-0000-000000000000') AS session_id, n.joined,
           n.tickets::text[] AS tickets, n.players, n.why::jsonb AS why, n.decided_at
    FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
                 unnest(@epochs::bigint[]) AS epoch, unnest(@seeds::bigint[]) AS seed, unnest(@modes::text[]) AS mode,
                 unnest(@sessions::uuid[]) AS session_id, unnest(@joined::bool[]) AS joined, unnest(@tickets::text[]) AS tickets,
                 unnest(@players::int[]) AS players, unnest(@why::text[]) AS why,
                 unnest(@decided_at::timestamptz[]) AS decided_at) n
), kept AS (
    INSERT INTO match_history (region, id, profile, version, epoch, seed, game_region, mode, session_id, joined, tickets, players, why, decided_at)
    SELECT * FROM committed WHERE @keep::bool
)
INSERT INTO events (region, kind, session_id, detail)
SELECT coalesce(k.game_region, k.region), 'match.committed', k.session_id, jsonb_strip_nulls(jsonb_build_object('match', k.id, 'profile', k.profile,
    'version', k.version, 'tickets', cardinality(k.tickets), 'players', k.players, 'mode', k.mode, 'joined', nullif(k.joined, false), 'bots', k.why -> 'bots'))
FROM committed k;

-- name: ServeDemand :exec
-- Subtracts committed matches from the demand that counted them while they waited for a server. A row at zero is deleted.
WITH served AS (
    SELECT n.mode, n.key, count(*)::int AS matches, sum(n.players)::int AS players
    FROM (SELECT unnest(@modes::text[]) COLLATE "C" AS mode, unnest(@keys::text[]) COLLATE "C" AS key, unnest(@players::int[]) AS players) n
    GROUP BY n.mode, n.key
), held AS MATERIALIZED (
    SELECT l.mode, l.key, l.matches - w.matches AS matches, l.players - w.players AS players
    FROM (SELECT * FROM served ORDER BY mode, key) w CROSS JOIN LATERAL (
        SELECT o.mode, o.key, o.matches, o.players FROM demand o WHERE o.region = @region AND o.mode = w.mode AND o.key = w.key FOR UPDATE) l
), less AS (
    UPDATE demand d SET matches = h.matches, players = greatest(1, h.players), updated_at = now()
    FROM held h WHERE d.region = @region AND d.mode = h.mode AND d.key = h.key AND h.matches > 0
)
DELETE FROM demand d USING held h WHERE d.region = @region AND d.mode = h.mode AND d.key = h.key AND h.matches <= 0;

-- name: AwaitTicket :exec
-- Waits until no other transaction has locked the ticket.
SELECT FROM tickets t WHERE t.region = @universe AND t.id = @id FOR NO KEY UPDATE;

-- name: TicketAssigned :one
-- Reports whether a ticket was assigned to a match within the last hour, which is longer than any transaction lasts.
SELECT EXISTS (SELECT FROM ticket_events e
    WHERE e.region = @universe AND e.ticket_id = @ticket AND e.state = 'assigned' AND e.match_id = sqlc.arg(match_id)::uuid
      AND e.at > statement_timestamp() - interval '1 hour' AND e.at < statement_timestamp() + interval '1 day')::bool AS assigned;

-- name: MatchProposed :one
SELECT EXISTS (SELECT FROM matches m WHERE m.region = @universe AND m.id = @id AND m.state <> 'playing')::bool AS proposed;

-- name: ProposeMatches :exec
-- Inserts matches that wait for their players to accept. This transaction has locked their tickets.
INSERT INTO matches (region, id, universe, profile, version, state, deadline, chosen, roster, data, tickets, decision, decided_at)
SELECT @universe, n.id, @universe, n.profile, n.version, 'proposed', clock_timestamp() + sqlc.arg(within)::interval, n.chosen::jsonb,
       n.roster::jsonb, nullif(n.data, '')::jsonb, n.tickets::text[], n.decision::jsonb, n.decided_at
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@profiles::text[]) AS profile, unnest(@versions::int[]) AS version,
             unnest(@chosen::text[]) AS chosen, unnest(@rosters::text[]) AS roster, unnest(@data::text[]) AS data,
             unnest(@tickets::text[]) AS tickets, unnest(@decisions::text[]) AS decision,
             unnest(@decided_at::timestamptz[]) AS decided_at) n
ORDER BY n.id;

-- name: MarkProposed :exec
-- Marks tickets, which this transaction has locked, as being in proposed matches. tx does not change, since the ticket does not.
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
-- Returns the mark of the match that a ticket is in, and whether the player is a member of its party, now or in its last state.
SELECT coalesce(t.matched_in, '')::bytea AS mark,
       (EXISTS (SELECT FROM ticket_players p WHERE p.region || '' = @universe::text AND p.ticket_id = @ticket AND p.sub = @sub)
        OR EXISTS (SELECT FROM ticket_events e WHERE e.region = @universe AND e.ticket_id = @ticket AND e.party @> ARRAY[@sub::text]))::bool AS member
FROM (SELECT @ticket::text AS id) w LEFT JOIN tickets t ON t.region = @universe AND t.id = w.id;

-- name: SeeTicket :exec
-- Records that the player has read or answered the ticket.
UPDATE ticket_players p SET seen_at = clock_timestamp()
WHERE p.region = @universe AND p.sub = @sub AND p.ticket_id = @ticket AND p.seen_at IS NULL;

-- name: LockProposal :many
-- Locks a ready check, so that no other transaction answers or ends it.
SELECT m.state, m.deadline::timestamptz AS deadline, (m.deadline > clock_timestamp())::bool AS open, m.roster FROM matches m
WHERE m.region = @universe AND m.id = @id AND m.state <> 'playing' FOR NO KEY UPDATE;

-- name: MatchAnswers :many
SELECT a.match_id, a.sub, a.accepted FROM match_accepts a WHERE a.region = @universe AND a.match_id = ANY (@ids::uuid[]);

-- name: AnswerMatch :exec
-- A player that accepted may still decline; a player that declined cannot accept.
INSERT INTO match_accepts AS a (region, match_id, sub, accepted) VALUES (@universe, @id, @sub, @accepted)
ON CONFLICT (region, match_id, sub) DO UPDATE SET accepted = false, at = now() WHERE a.accepted AND NOT excluded.accepted;

-- name: EndReadyCheck :exec
-- Ends a ready check before its deadline. An accepted match keeps its tickets for @hold; a declined one is due at once.
UPDATE matches m SET state = CASE WHEN @accepted::bool THEN 'accepted' ELSE m.state END,
    deadline = CASE WHEN @accepted::bool THEN m.deadline + sqlc.arg(hold)::interval ELSE least(m.deadline, clock_timestamp()) END
WHERE m.region = @universe AND m.id = @id;

-- name: DueMatches :many
-- Returns proposed and accepted matches whose deadline has passed, of these profiles or, if @profiles is empty, of all.
-- The region is compared as an expression, as in OpenProposals.
SELECT m.id, m.tickets FROM matches m
WHERE m.region || '' = @universe::text AND m.state <> 'playing' AND m.deadline <= clock_timestamp() - sqlc.arg(overdue)::interval
  AND (cardinality(@profiles::text[]) = 0 OR m.profile = ANY (@profiles::text[]))
ORDER BY m.deadline LIMIT @batch;

-- name: LockMarkedTickets :many
-- Locks the tickets that are still in these matches. @ids is sorted.
SELECT t.id, t.created FROM (SELECT unnest(@ids::text[]) AS id, unnest(@marks::bytea[]) AS mark) u CROSS JOIN LATERAL (
    SELECT l.id, l.created FROM tickets l WHERE l.region = @universe AND l.id = u.id AND l.matched_in = u.mark AND l.pending_at IS NOT NULL FOR UPDATE) t;

-- name: LockDueMatches :many
SELECT m.id, m.state, m.profile, m.roster, m.decision::jsonb AS decision FROM matches m
WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state <> 'playing' AND m.deadline <= clock_timestamp() - sqlc.arg(overdue)::interval
ORDER BY m.id FOR UPDATE;

-- name: RequeueTickets :exec
-- Returns tickets of proposed matches, which this transaction has locked, to their place in the queue.
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
-- Takes tickets, which this transaction has locked, out of the queue as declined.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.match_id, w.party
    FROM (SELECT unnest(@ids::text[]) AS id, unnest(@matches::uuid[]) AS match_id, unnest(@parties::text[]) AS party) w
    CROSS JOIN LATERAL (SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id OFFSET 0) l
), gone AS (
    DELETE FROM tickets t USING held h WHERE t.region = h.region AND t.id = h.id RETURNING t.id, t.version
), settled AS (
    INSERT INTO settled_tickets (region, id) SELECT @universe, g.id FROM gone g
), unmatched AS (
    DELETE FROM backfill_tickets b WHERE b.region = @universe AND b.ticket_id IN (SELECT g.id FROM gone g)
)
INSERT INTO ticket_events (region, ticket_id, n, state, reason, match_id, party)
SELECT @universe, g.id, g.version + 1, 'declined', 'not_accepted', h.match_id, h.party::text[]
FROM gone g JOIN held h ON h.id = g.id;

-- name: RenewMarks :exec
-- Renews the marks of tickets that this transaction has locked.
UPDATE tickets t SET pending_at = clock_timestamp() FROM (SELECT unnest(@ids::text[]) AS id) n WHERE t.region = @universe AND t.id = n.id;

-- name: RenewAccepted :many
-- Extends the deadlines of accepted matches that still wait for a server. Matches that are not returned have ended.
WITH held AS (
    SELECT m.id FROM matches m WHERE m.region = @universe AND m.id = ANY (@ids::uuid[]) AND m.state = 'accepted' ORDER BY m.id FOR NO KEY UPDATE
)
UPDATE matches m SET deadline = clock_timestamp() + sqlc.arg(hold)::interval FROM held h WHERE m.region = @universe AND m.id = h.id
RETURNING m.id;

-- name: OpenProposals :many
-- Returns a page of the proposed and accepted matches of a profile. The region and the profile are compared as expressions so that
-- the planner does not read all playing matches, but takes the index of those that do not play.
SELECT m.id, m.state, m.deadline::timestamptz AS deadline, m.decision::jsonb AS decision FROM matches m
WHERE m.region || '' = @universe::text AND m.profile || '' = @profile::text AND m.state <> 'playing' AND m.id > @after
ORDER BY m.id LIMIT @page;

-- name: MarkedByFunctions :many
-- Returns tickets in matches of cycles whose match_id, which follows the 16 bytes of the cycle's id, begins with one of @prefixes.
-- It scans the whole queue, but only once for each takeover. With an index instead, marking a ticket would no longer be a HOT update.
SELECT t.id, t.matched_in FROM tickets t
WHERE t.region = @universe AND t.pending_at IS NOT NULL
  AND EXISTS (SELECT FROM unnest(@prefixes::bytea[]) AS p(prefix) WHERE substr(t.matched_in, 17, length(p.prefix)) = p.prefix)
LIMIT @most;
