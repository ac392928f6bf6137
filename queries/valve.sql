-- Who is admitted by a valve, and where in its line do the others wait? Here, and in the functions of migration 00059, which give out places and
-- admissions under the lock of the line.

-- name: LoginLines :many
-- The valves with their lines, as replicas keep them in memory. Their number is bounded.
SELECT v.name, v.region, v.build, v.mode, v.rate, v.staff_share, v.max_players, v.max_waiting, q.players, q.waiting, q.waiting_staff, q.head, q.staff_head, q.admitted,
       q.recent, extract(epoch FROM greatest(clock_timestamp() - q.refilled_at, '0'))::float8 AS recent_age,
       extract(epoch FROM greatest(clock_timestamp() - q.recent_since, '0'))::float8 AS recent_for,
       coalesce(m.marks, '{}')::bigint[] AS marks, coalesce(m.step, 1)::int AS step, coalesce(m.waiting, 0)::int AS marked_waiting,
       coalesce(m.admitted, q.admitted)::bigint AS marked_admitted, coalesce(m.next_place, 0)::bigint AS marked_next, q.next_place,
       clock_timestamp()::timestamptz AS read_at, CASE WHEN is_estimate_usable(m.estimated_at) THEN m.estimate_upto ELSE '{}' END::int[] AS estimate_upto,
       coalesce(m.estimate_p50, '{}')::float8[] AS estimate_p50, coalesce(m.estimate_p90, '{}')::float8[] AS estimate_p90
FROM valves v JOIN login_queues q ON q.valve = v.name LEFT JOIN login_queue_marks m ON m.valve = v.name
ORDER BY v.name;

-- name: ReadAdmissions :many
-- The rows of players. is_fading asks for ExtendAdmissions: less than the promised time is left.
SELECT a.sub, a.is_staff, a.place, (a.admitted_at IS NOT NULL)::bool AS admitted, (a.expires_at <= clock_timestamp() + admission_kept_for())::bool AS is_fading
FROM admissions a WHERE a.valve = @valve AND a.sub = ANY (@subs::text[]);

-- name: ExtendAdmissions :exec
-- Keeps the rows of players who were seen. Rows that somebody has locked are being admitted or deleted: waiting for them could end in a deadlock.
UPDATE admissions a SET expires_at = clock_timestamp() + admission_life() FROM (
    SELECT e.sub FROM admissions e WHERE e.valve = @valve AND e.sub = ANY (@subs::text[]) ORDER BY e.sub FOR NO KEY UPDATE SKIP LOCKED) k
WHERE a.valve = @valve AND a.sub = k.sub;

-- name: JoinLoginQueue :one
-- Gives players without a place one, in their order, and admits whom the valve has room for. It returns how many of those without a name are
-- admitted.
SELECT join_login_queue(@valve::text, @subs::text[], @are_staff::bool[], @nameless::int)::int AS nameless_admitted;

-- name: LeaveLoginQueue :one
SELECT leave_login_queue(@valve::text, @subs::text[])::int AS gone;

-- name: TurnLoginQueue :exec
-- Admits whom the valve has room for, unless somebody else decides about the line now.
SELECT turn_login_queue(q.valve, 0) FROM (SELECT l.valve FROM login_queues l WHERE l.valve = @valve FOR UPDATE SKIP LOCKED) q;

-- name: MarkLoginQueue :exec
SELECT mark_login_queue(@valve::text);

-- name: SampleLoginQueue :many
-- Those of some places whose players wait, for estimates.
SELECT a.place, a.sub, a.joined_at FROM admissions a WHERE a.valve = @valve AND NOT a.is_staff AND a.admitted_at IS NULL AND a.place = ANY (@places::bigint[]);

-- name: AdmittedSample :many
-- When players of a sample were admitted. Those who have left have no row.
SELECT a.sub, a.admitted_at::timestamptz AS admitted_at FROM admissions a WHERE a.valve = @valve AND a.sub = ANY (@subs::text[]) AND a.admitted_at IS NOT NULL;

-- name: PutLineEstimate :execrows
-- Replaces the estimates of a line, unless another worker has put some within ten seconds: each worker has a sample of its own, and its
-- corrections fit its own estimates. @keeps leaves estimates that are usable where there are no new ones.
UPDATE login_queue_marks m SET
    estimate_upto = CASE WHEN n.keeps THEN m.estimate_upto ELSE @upto::int[] END, estimate_p50 = CASE WHEN n.keeps THEN m.estimate_p50 ELSE @p50::float8[] END,
    estimate_p90 = CASE WHEN n.keeps THEN m.estimate_p90 ELSE @p90::float8[] END, estimate_waits = m.estimate_waits * n.faded + @waits::int,
    estimate_before_p50 = m.estimate_before_p50 * n.faded + @before_p50::int, estimate_before_p90 = m.estimate_before_p90 * n.faded + @before_p90::int,
    estimator = @worker::uuid, estimated_at = clock_timestamp()
FROM (SELECT o.valve, sqlc.arg(keeps)::bool AND is_estimate_usable(o.estimated_at) AS keeps,
             coalesce(exp(-least(extract(epoch FROM clock_timestamp() - o.estimated_at), 864000)::float8 / 86400), 0) AS faded
      FROM login_queue_marks o WHERE o.valve = @valve) n
WHERE m.valve = n.valve AND (m.estimator IS NOT DISTINCT FROM @worker::uuid OR m.estimated_at IS NULL OR m.estimated_at < clock_timestamp() - interval '10 seconds');

-- name: PruneLoginQueue :one
SELECT prune_login_queue(@valve::text, @most::int)::int AS gone;

-- name: AdoptPlayers :one
SELECT adopt_players(@valve::text, @most::int)::int AS adopted;

-- name: LockValves :exec
-- Valves are made, changed and deleted one at a time: ops.set_valve and the other functions take the same lock.
SELECT pg_advisory_xact_lock(hashtext('director.valves'));

-- name: HasValve :one
SELECT EXISTS (SELECT FROM ops.valves v WHERE v.valve = @name::text) AS found;

-- name: OpsSetValve :one
SELECT ops.set_valve(@name::text, sqlc.narg(rate)::float8, sqlc.narg(max_players)::int, sqlc.narg(region)::text, sqlc.narg(build)::text,
    sqlc.narg(staff_share)::float8, sqlc.narg(max_waiting)::int, @reason::text)::bool AS changed;

-- name: OpsOpenValve :one
SELECT ops.open_valve(@name::text, @reason::text)::bool AS changed;

-- name: OpsCloseValve :one
SELECT ops.close_valve(@name::text, @reason::text)::bool AS changed;

-- name: OpsDeleteValve :one
SELECT ops.delete_valve(@name::text, @reason::text)::bool AS changed;

-- name: OpsAdmitPlayer :one
SELECT ops.admit_player(@valve::text, @player::text, @reason::text)::bool AS changed;
