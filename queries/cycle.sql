-- name: EndDesertedCycle :exec
-- Ends a cycle whose lease has expired and that no other replica can take over, so that another cycle can begin.
UPDATE match_cycles c SET state = 'ended', ended_at = clock_timestamp(), failure = 'the replica that ran the cycle is gone'
WHERE c.region = @region AND c.state <> 'ended' AND c.lease_until <= clock_timestamp()
  AND NOT EXISTS (SELECT FROM match_callers k WHERE k.region = @region AND k.cycle = c.id AND k.replica <> c.owner
                  AND k.seen_at > clock_timestamp() - sqlc.arg(lease)::interval);

-- name: JoinCycle :many
-- Adds callers to the cycle that is registering. Returns no row when none is.
WITH cycle AS (
    SELECT c.id, c.owner, c.state, c.registers_until, c.collects_until FROM match_cycles c
    WHERE c.region = @region AND c.state = 'registering' AND c.registers_until > clock_timestamp() AND c.lease_until > clock_timestamp()
    FOR SHARE
), joined AS (
    INSERT INTO match_callers (region, cycle, id, replica)
    SELECT @region, c.id, u.id, @replica FROM cycle c, unnest(@callers::uuid[]) AS u(id)
    ON CONFLICT DO NOTHING
    RETURNING cycle
)
SELECT c.id, c.owner, c.state, (c.registers_until - clock_timestamp())::interval AS registers_in, (c.collects_until - clock_timestamp())::interval AS collects_in
FROM cycle c WHERE EXISTS (SELECT FROM joined);

-- name: OpenCycle :many
-- Opens a cycle that the replica owns, with its callers in it. Returns no row while another cycle runs.
WITH cycle AS (
    INSERT INTO match_cycles (region, id, owner, lease_until, state, registers_until, collects_until)
    VALUES (@region, @id, @replica, clock_timestamp() + sqlc.arg(lease)::interval,
            CASE WHEN sqlc.arg(registration)::interval > '0' THEN 'registering' ELSE 'collecting' END,
            clock_timestamp() + sqlc.arg(registration)::interval,
            clock_timestamp() + sqlc.arg(registration)::interval + sqlc.arg(collection)::interval)
    ON CONFLICT (region) WHERE state <> 'ended' DO NOTHING
    RETURNING id, owner, state, registers_until, collects_until
), joined AS (
    INSERT INTO match_callers (region, cycle, id, replica)
    SELECT @region, c.id, u.id, @replica FROM cycle c, unnest(@callers::uuid[]) AS u(id)
)
SELECT c.id, c.owner, c.state, (c.registers_until - clock_timestamp())::interval AS registers_in, (c.collects_until - clock_timestamp())::interval AS collects_in
FROM cycle c;

-- name: RenewCycle :execrows
UPDATE match_cycles c SET lease_until = clock_timestamp() + sqlc.arg(lease)::interval
WHERE c.region = @region AND c.id = @id AND c.owner = @replica AND c.state <> 'ended' AND c.lease_until > clock_timestamp();

-- name: TakeOverCycle :many
-- Checks the lease under the row's lock, which the owner holds while it commits matches.
UPDATE match_cycles c SET owner = @replica, lease_until = clock_timestamp() + sqlc.arg(lease)::interval
WHERE c.region = @region AND c.id = @id AND c.state <> 'ended' AND c.lease_until <= clock_timestamp()
RETURNING c.id, c.owner, c.state, (c.registers_until - clock_timestamp())::interval AS registers_in, (c.collects_until - clock_timestamp())::interval AS collects_in;

-- name: ResignCycle :exec
-- Expires the lease, so that another replica with callers in the cycle can take it over at once.
UPDATE match_cycles c SET lease_until = clock_timestamp()
WHERE c.region = @region AND c.id = @id AND c.owner = @replica AND c.state <> 'ended';

-- name: AdvanceCycle :execrows
-- Waits for running transactions that join or propose, so that the statements after it read all callers and proposals.
UPDATE match_cycles c SET state = @state, lease_until = clock_timestamp() + sqlc.arg(lease)::interval
WHERE c.region = @region AND c.id = @id AND c.owner = @replica AND c.state <> 'ended' AND c.lease_until > clock_timestamp();

-- name: EndCycle :execrows
UPDATE match_cycles c SET state = 'ended', ended_at = clock_timestamp(), failure = nullif(@failure::text, '')
WHERE c.region = @region AND c.id = @id AND c.owner = @replica AND c.state <> 'ended';

-- name: CallersOfCycle :many
-- A caller is alive while its replica renews it within a lease.
SELECT k.id, k.replica, k.proposing, (k.seen_at > clock_timestamp() - sqlc.arg(lease)::interval)::bool AS alive
FROM match_callers k WHERE k.region = @region AND k.cycle = @cycle;

-- name: RenewCallers :exec
-- Renews callers that were not renewed for a quarter of the lease: a caller counts as gone a lease after the last renewal.
UPDATE match_callers k SET seen_at = clock_timestamp()
WHERE k.region = @region AND k.cycle = @cycle AND k.id = ANY (@ids::uuid[]) AND k.seen_at < clock_timestamp() - sqlc.arg(lease)::interval / 4;

-- name: LeaveCycle :exec
-- Removes callers, after which their undecided proposals no longer count. Waits for a running acceptance.
WITH cycle AS MATERIALIZED (
    SELECT c.id FROM match_cycles c WHERE c.region = @region AND c.id = @cycle FOR SHARE
)
DELETE FROM match_callers k USING cycle WHERE k.region = @region AND k.cycle = @cycle AND k.id = ANY (@ids::uuid[]);

-- name: Propose :one
-- Inserts proposals, and marks callers that will propose no more. Does nothing and returns false when the cycle takes no more
-- proposals.
WITH cycle AS (
    SELECT c.id FROM match_cycles c
    WHERE c.region = @region AND c.id = @cycle AND c.state IN ('registering', 'collecting') FOR SHARE
), put AS (
    INSERT INTO match_proposals (region, cycle, caller, seq, match_id, score, tickets, backfill, match)
    SELECT @region, c.id, p.caller, p.seq, p.match_id, p.score, p.tickets, p.backfill, p.match
    FROM cycle c, (SELECT unnest(@callers::uuid[]) AS caller, unnest(@seqs::int[]) AS seq, unnest(@match_ids::bytea[]) AS match_id,
                          unnest(@scores::float8[]) AS score, unnest(@tickets::bytea[]) AS tickets,
                          unnest(@backfills::bytea[]) AS backfill, unnest(@matches::bytea[]) AS match) p
    ON CONFLICT DO NOTHING -- a replica sends a batch again when the answer was lost
), finished AS (
    UPDATE match_callers k SET proposing = false FROM cycle
    WHERE k.region = @region AND k.cycle = @cycle AND k.id = ANY (@finished::uuid[])
)
SELECT EXISTS (SELECT FROM cycle) AS collecting;

-- name: ProposalsSince :many
-- Proposals of other replicas' callers. The batches of one caller commit one after the other, so the numbers of its proposals
-- are read without a gap.
SELECT p.caller, p.seq, p.match_id, p.score, p.tickets, p.backfill, p.match, p.accepted
FROM match_callers k
LEFT JOIN (SELECT unnest(@callers::uuid[]) AS caller, unnest(@seqs::int[]) AS seq) w ON w.caller = k.id
CROSS JOIN LATERAL (
    SELECT r.* FROM match_proposals r
    WHERE r.region = @region AND r.cycle = @cycle AND r.caller = k.id AND r.seq > coalesce(w.seq, 0) ORDER BY r.seq OFFSET 0) p
WHERE k.region = @region AND k.cycle = @cycle AND k.replica <> @replica;

-- name: LockCycle :one
-- The fence of an acceptance: the replica that holds this lock owns the cycle until commit, even when its lease expires.
SELECT c.state FROM match_cycles c
WHERE c.region = @region AND c.id = @id AND c.owner = @replica AND c.state <> 'ended' AND c.lease_until > clock_timestamp()
FOR NO KEY UPDATE;

-- name: AwaitAcceptance :exec
-- Waits until no transaction holds the cycle, so that a running acceptance has ended.
SELECT FROM match_cycles c WHERE c.region = @region AND c.id = @id FOR NO KEY UPDATE;

-- name: LockFreeTickets :many
-- Locks and returns the tickets that may be matched; the others are pending, paused, assigned, deleted or expired. @ids must be
-- sorted and without duplicates, since rows are locked in their order. The LATERAL subquery makes the planner look up each by
-- primary key, whatever its statistics say.
SELECT t.id FROM unnest(@ids::text[]) AS u(id) CROSS JOIN LATERAL (
    SELECT l.id FROM tickets l
    WHERE l.region = @region AND l.id = u.id AND l.paused_at IS NULL
      AND (l.pending_at IS NULL OR l.pending_at <= clock_timestamp() - sqlc.arg(pending_for)::interval)
      AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
    FOR NO KEY UPDATE) t;

-- name: MarkPending :exec
-- Puts tickets, which this transaction has locked, into matches, and deletes their associations with backfills of earlier
-- matches. OFFSET 0 makes the planner look up each by primary key, whatever its statistics say.
WITH held AS MATERIALIZED (
    SELECT t.region, t.id, w.matched_in FROM (SELECT unnest(@ids::text[]) AS id, unnest(@matched_in::bytea[]) AS matched_in) w
    CROSS JOIN LATERAL (SELECT l.region, l.id FROM tickets l WHERE l.region = @region AND l.id = w.id OFFSET 0) t
), unmatched AS (
    DELETE FROM backfill_tickets b USING held h WHERE b.region = h.region AND b.ticket_id = h.id
)
UPDATE tickets t SET pending_at = clock_timestamp(), matched_in = h.matched_in
FROM held h WHERE t.region = h.region AND t.id = h.id;

-- name: MatchesOfTickets :many
-- The matches that tickets are in. OFFSET 0 makes the planner look up each by primary key.
SELECT t.id, t.matched_in FROM unnest(@ids::text[]) AS u(id) CROSS JOIN LATERAL (
    SELECT l.id, l.matched_in FROM tickets l WHERE l.region = @region AND l.id = u.id OFFSET 0) t;

-- name: StoreVerdicts :exec
-- Stores the verdicts on proposals of other replicas' callers.
UPDATE match_proposals p SET accepted = v.accepted, created_backfill = nullif(v.created_backfill, ''), backfill_created = v.backfill_created
FROM (SELECT unnest(@callers::uuid[]) AS caller, unnest(@seqs::int[]) AS seq, unnest(@accepted::bool[]) AS accepted,
             unnest(@created_backfills::text[]) AS created_backfill, unnest(@backfills_created::bigint[]) AS backfill_created) v
WHERE p.region = @region AND p.cycle = @cycle AND p.caller = v.caller AND p.seq = v.seq;

-- name: DecidedProposals :many
-- Proposals of callers that an owner of the cycle has decided about.
SELECT p.caller, p.seq, p.accepted::bool AS accepted, p.created_backfill, p.backfill_created FROM unnest(@callers::uuid[]) AS k(id) CROSS JOIN LATERAL (
    SELECT r.* FROM match_proposals r
    WHERE r.region = @region AND r.cycle = @cycle AND r.caller = k.id AND r.accepted IS NOT NULL ORDER BY r.seq OFFSET 0) p;

-- name: GetCycle :many
SELECT c.owner, c.state, coalesce(c.failure, '')::text AS failure, (c.lease_until > clock_timestamp())::bool AS alive
FROM match_cycles c WHERE c.region = @region AND c.id = @id;

-- name: ForgetCycles :execrows
WITH old AS (
    SELECT c.id FROM match_cycles c WHERE c.region = @region
      AND (c.ended_at < clock_timestamp() - interval '30 seconds' OR c.lease_until < clock_timestamp() - interval '1 minute')
    ORDER BY c.id FOR UPDATE SKIP LOCKED
), proposals AS (
    DELETE FROM match_proposals p WHERE p.region = @region AND p.cycle = ANY (ARRAY(SELECT o.id FROM old o))
), callers AS (
    DELETE FROM match_callers k WHERE k.region = @region AND k.cycle = ANY (ARRAY(SELECT o.id FROM old o))
)
DELETE FROM match_cycles c WHERE c.region = @region AND c.id = ANY (ARRAY(SELECT o.id FROM old o));
