-- name: ClaimDeployments :many
-- Claims due deployments of a provider for one step each. A claim that ends without an answer makes its rows due again when its lease is
-- over. The owner is compared in the statement, so that a worker on a restored copy of the database claims nothing.
WITH due AS (
    SELECT d.id FROM deployments d
    WHERE d.region = @region AND d.provider = @provider AND d.next_at <= coalesce(sqlc.narg('now')::timestamptz, now())
      AND (d.leased_until IS NULL OR d.leased_until <= coalesce(sqlc.narg('now')::timestamptz, now()))
      AND EXISTS (SELECT FROM installation o WHERE o.provision_owner = @owner)
    ORDER BY d.next_at LIMIT @batch FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE deployments d
SET lease = @lease::uuid, leased_until = coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(hold)::interval, generation = d.generation + 1,
    next_at = coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(hold)::interval
FROM due WHERE d.region = @region AND d.id = due.id
RETURNING d.id, d.app, d.version, d.tag, d.origin, (d.desired = 'stopped')::bool AS stop, d.phase, d.generation, d.attempt, d.intent_at, coalesce(d.ref, '') AS ref, coalesce(d.claimed_ref, '') AS claimed_ref, d.polls,
          d.find_at, d.missing_since, d.address, d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at, coalesce(d.woken_at, 'epoch')::timestamptz AS woken_at,
          d.netcode_key, coalesce(d.sealed_by, '') AS sealed_by, coalesce(d.reason, '') AS reason, d.created_at,
          CASE WHEN d.refused_at > coalesce(d.registered_at, '-infinity') THEN d.refused ELSE '' END::text AS refused,
          coalesce((SELECT i.open_sessions FROM instances i WHERE i.region = d.region AND i.id = d.id::text), 0)::int AS open_sessions,
          coalesce(greatest((SELECT s.until FROM start_pauses s WHERE s.region = d.region AND s.app = d.app AND s.version = d.version AND s.cause = 'failures'),
                            (SELECT v.paused_until FROM app_versions v WHERE v.app = d.app AND v.version = d.version)), 'epoch')::timestamptz AS paused_until,
          (SELECT p.latitude FROM pools p WHERE p.region = d.region AND p.app = d.app AND p.version = d.version) AS latitude,
          (SELECT p.longitude FROM pools p WHERE p.region = d.region AND p.app = d.app AND p.version = d.version) AS longitude,
          coalesce(sqlc.narg('now')::timestamptz, now())::timestamptz AS claimed_at;

-- name: PutBackDeployments :exec
-- Ends claims without a step. A deployment that was woken meanwhile stays due.
UPDATE deployments d
SET lease = NULL, leased_until = NULL,
    next_at = CASE WHEN coalesce(d.woken_at, 'epoch') <> b.woken_at THEN d.next_at ELSE b.next_at END
FROM (SELECT l.id, n.woken_at, n.next_at FROM deployments l
      JOIN (SELECT unnest(@ids::uuid[]) AS id, unnest(@wakes::timestamptz[]) AS woken_at, unnest(@nexts::timestamptz[]) AS next_at) n ON n.id = l.id
      WHERE l.region = @region AND l.id = ANY (@ids::uuid[]) AND l.lease = @lease::uuid ORDER BY l.id FOR NO KEY UPDATE OF l) b
WHERE d.region = @region AND d.id = b.id;

-- name: PutIntent :one
-- The intent to call Deploy is committed before the call: after a crash somebody looks for the server before a second call. While an earlier
-- call may have started a server that no list has yet, the tag is looked up again later.
UPDATE deployments d
SET phase = 'deploying', attempt = d.attempt + 1, polls = 0, missing_since = NULL, generation = d.generation + 1,
    find_at = CASE WHEN d.intent_at IS NOT NULL THEN coalesce(sqlc.narg('now')::timestamptz, now()) + interval '30 seconds' ELSE d.find_at END,
    intent_at = coalesce(sqlc.narg('now')::timestamptz, now()),
    ends_at = coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(lifetime)::interval,
    drain_at = coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(lifetime)::interval - sqlc.arg(drain_ahead)::interval
WHERE d.region = @region AND d.id = @id AND d.generation = @generation AND d.desired = 'running' AND d.ref IS NULL
RETURNING d.generation, d.attempt, d.intent_at, d.find_at, d.drain_at, d.ends_at;

-- name: DecideDeployment :one
-- Writes the decision of a step unless another one was made since the step was claimed. A deployment that was woken during the step is due at once.
UPDATE deployments d
SET phase = @phase, polls = @polls, intent_at = sqlc.narg(intent_at), find_at = sqlc.narg(find_at), missing_since = sqlc.narg(missing_since), generation = d.generation + 1,
    desired = CASE WHEN @stop::bool THEN 'stopped' ELSE d.desired END,
    stop_at = CASE WHEN @stop::bool THEN coalesce(d.stop_at, coalesce(sqlc.narg('now')::timestamptz, now())) ELSE d.stop_at END,
    reason = coalesce(d.reason, nullif(@reason::text, '')), last_error = coalesce(nullif(@last_error::text, ''), d.last_error),
    lease = NULL, leased_until = NULL,
    next_at = CASE WHEN coalesce(d.woken_at, 'epoch') <> @woken_at::timestamptz THEN coalesce(sqlc.narg('now')::timestamptz, now())
                   ELSE sqlc.narg(next_at)::timestamptz END
WHERE d.region = @region AND d.id = @id AND d.generation = @generation
RETURNING d.generation;

-- name: ReleaseDeployment :exec
-- Ends the claim of a step that decides nothing. The decision that came before it has said when the deployment is due.
UPDATE deployments SET lease = NULL, leased_until = NULL
WHERE region = @region AND id = @id AND lease = @lease::uuid;

-- name: DrainInstance :exec
UPDATE instances SET status = 'draining' WHERE region = @region AND id = @id AND status IN ('starting', 'ready');

-- name: LogDeployment :exec
INSERT INTO events (region, kind, instance_id, detail) VALUES (@region, @kind, @id, @detail);

-- name: NoteRef :one
-- A fact, whatever the generation. Returns the ref that the deployment has: another one than the argument is a second server.
UPDATE deployments
SET ref = coalesce(ref, @ref::text), address = NULL, missing_since = NULL, intent_at = coalesce(intent_at, coalesce(sqlc.narg('now')::timestamptz, now()))
WHERE region = @region AND id = @id
RETURNING ref::text;

-- name: AdoptClaimedRef :execrows
-- Changes nothing if the deployment has a ref, or another server has registered meanwhile.
UPDATE deployments SET ref = claimed_ref, address = NULL, missing_since = NULL
WHERE region = @region AND id = @id AND ref IS NULL AND claimed_ref = @ref::text AND intent_at IS NOT NULL;

-- name: DropClaimedRef :exec
UPDATE deployments SET claimed_ref = NULL WHERE region = @region AND id = @id AND claimed_ref = @ref::text;

-- name: NoteObservation :exec
-- Facts, whatever the generation. What an observation does not say stays. A provider may end servers earlier than the app version does: then
-- they drain for a quarter of their life at most, as PutIntent's caller decides for providers that say it beforehand.
UPDATE deployments
SET location = coalesce(nullif(@location::text, ''), location), ip = coalesce(nullif(@ip::text, '')::inet, ip), ports = coalesce(sqlc.narg(ports)::jsonb, ports),
    ends_at = least(ends_at, sqlc.narg(ends_at)::timestamptz),
    drain_at = least(drain_at, sqlc.narg(ends_at)::timestamptz - least(sqlc.arg(drain_ahead)::interval, greatest(sqlc.narg(ends_at)::timestamptz - coalesce(intent_at, created_at), '0') / 4)),
    provider_ready_at = CASE WHEN @ready::bool THEN coalesce(provider_ready_at, coalesce(sqlc.narg('now')::timestamptz, now())) ELSE provider_ready_at END,
    unlisted = 0, missing_since = NULL
WHERE region = @region AND id = @id AND ref = @ref::text;

-- name: MoveToFallback :execrows
-- Ends the claim, too. Another worker may have the provider.
WITH moved AS (
    UPDATE deployments d
    SET provider = @provider, phase = 'wanted', intent_at = NULL, missing_since = NULL, find_at = NULL, ends_at = NULL, drain_at = NULL, polls = 0, generation = d.generation + 1,
        last_error = @last_error::text, lease = NULL, leased_until = NULL, next_at = coalesce(sqlc.narg('now')::timestamptz, now()), woken_at = clock_timestamp()
    FROM (SELECT x.id, x.provider FROM deployments x WHERE x.region = @region AND x.id = @id AND x.generation = @generation AND x.ref IS NULL
            AND x.desired = 'running' FOR NO KEY UPDATE) was
    WHERE d.region = @region AND d.id = was.id
    RETURNING d.id, d.app, d.version, d.provider, was.provider AS former
)
INSERT INTO events (region, kind, instance_id, detail)
SELECT @region, 'deployment.fell_back', m.id::text,
       jsonb_build_object('app', m.app, 'version', m.version, 'provider', m.provider, 'from', m.former, 'error', @last_error::text) FROM moved m;

-- name: LockDeployment :one
SELECT coalesce(ref, '') AS ref, generation FROM deployments WHERE region = @region AND id = @id FOR UPDATE;

-- name: EndInstanceOfDeployment :exec
SELECT end_instance(i.region, i.id, @reason) FROM instances i WHERE i.region = @region AND i.id = @instance_id AND i.status <> 'gone';

-- name: MoveToHistory :one
WITH gone AS (
    DELETE FROM deployments d WHERE d.region = @region AND d.id = @id RETURNING d.*
), kept AS (
    INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, ref, location, endpoint, created_at, provider_ready_at,
                                    registered_at, ready_at, stop_at, reason, last_error, gone_at)
    SELECT g.region, g.id, g.app, g.version, g.provider, g.tag, g.origin, g.attempt, g.ref, g.location, g.endpoint, g.created_at, g.provider_ready_at,
           g.registered_at, g.ready_at, g.stop_at, coalesce(g.reason, @reason::text), coalesce(g.last_error, nullif(@last_error::text, '')), coalesce(sqlc.narg('now')::timestamptz, now())
    FROM gone g
)
INSERT INTO events (region, kind, instance_id, detail)
SELECT g.region, 'deployment.ended', g.id::text,
       jsonb_build_object('app', g.app, 'version', g.version, 'provider', g.provider, 'reason', coalesce(g.reason, @reason::text), 'ref', g.ref, 'location', g.location)
       || CASE WHEN @last_error::text <> '' THEN jsonb_build_object('error', @last_error::text) ELSE '{}' END
FROM gone g
RETURNING instance_id;

-- name: CrashesOfVersion :one
-- Counts the servers of a version that crashed soon after they were ready, within an hour and since the last one that survived @survives; and those
-- that are ready for less than that. It reads the deployments of one pool and the history of an hour.
WITH clock AS (
    SELECT coalesce(sqlc.narg('now')::timestamptz, now()) AS now
), live AS (
    SELECT d.ready_at, starts_with(coalesce(d.reason, ''), sqlc.arg(crash)::text) OR coalesce(d.reason, '') = sqlc.arg(too_many_boots)::text AS crashed,
           d.ready_at <= c.now - sqlc.arg(survives)::interval AND d.lost_at IS NULL AS survived
    FROM deployments d CROSS JOIN clock c
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND d.ready_at IS NOT NULL
), ended AS (
    SELECT h.ready_at, starts_with(coalesce(h.reason, ''), sqlc.arg(crash)::text) OR coalesce(h.reason, '') = sqlc.arg(too_many_boots)::text AS crashed,
           coalesce(h.stop_at, h.gone_at) >= h.ready_at + sqlc.arg(survives)::interval AS survived
    FROM deployment_history h CROSS JOIN clock c
    WHERE h.region = @region AND h.app = @app AND h.version = @version AND h.ready_at IS NOT NULL AND h.gone_at > c.now - interval '1 hour'
), servers AS (
    SELECT * FROM live UNION ALL SELECT * FROM ended
), last_survivor AS (
    SELECT coalesce(max(s.ready_at), '-infinity') AS ready_at FROM servers s WHERE s.survived AND NOT s.crashed
)
SELECT (SELECT count(*) FROM servers s, last_survivor l WHERE s.crashed AND s.ready_at > l.ready_at)::int AS crashed,
       (SELECT count(*) FROM live l WHERE NOT l.crashed AND NOT l.survived)::int AS young;

-- name: CountStartPause :one
-- Counts a failure or a refusal of an app version in a region, and pauses it there as start_pause says. There were @least of them at least. While
-- the pause lasts none is counted: the others have the same cause.
INSERT INTO start_pauses AS s (region, app, version, cause, count, until, reason)
VALUES (@region, @app, @version, @cause::text, greatest(1, @least::int),
        coalesce(sqlc.narg('now')::timestamptz, now()) + start_pause(@cause::text, greatest(1, @least::int)), @reason)
ON CONFLICT (region, app, version, cause) DO UPDATE
SET count = greatest(s.count + 1, @least::int), reason = excluded.reason,
    until = coalesce(sqlc.narg('now')::timestamptz, now()) + start_pause(excluded.cause, greatest(s.count + 1, @least::int))
WHERE s.until IS NULL OR s.until <= coalesce(sqlc.narg('now')::timestamptz, now())
RETURNING (s.until IS NOT NULL)::bool AS paused;

-- name: ForgiveRefusals :exec
-- The provider has started a server. A pause that lasts stays: the provider has little room.
UPDATE start_pauses SET count = 0 WHERE region = @region AND app = @app AND version = @version AND cause = 'capacity' AND count > 0;

-- name: PutBudgets :exec
INSERT INTO provider_budgets (provider, class, tokens, refilled_at)
SELECT @provider, b.class, greatest(b.rate / 2, 1), coalesce(sqlc.narg('now')::timestamptz, now())
FROM (SELECT unnest(@classes::text[]) AS class, unnest(@rates::float8[]) AS rate) b
ON CONFLICT (provider, class) DO NOTHING;

-- name: TakeBudgets :many
-- Takes calls from the budgets that all workers share, as many as there are. A budget saves half a second of calls at most: a call that a busy
-- worker delays after its grant then still fits the provider's limit.
WITH wants AS (
    SELECT unnest(@classes::text[]) AS class, unnest(@wants::int[]) AS want, unnest(@rates::float8[]) AS rate
), held AS (
    SELECT b.class, w.want, CASE WHEN b.blocked_until > coalesce(sqlc.narg('now')::timestamptz, now()) THEN 0
        ELSE least(greatest(w.rate / 2, 1), b.tokens + w.rate * greatest(extract(epoch FROM coalesce(sqlc.narg('now')::timestamptz, now()) - b.refilled_at)::float8, 0)) END AS filled
    FROM provider_budgets b JOIN wants w ON w.class = b.class
    WHERE b.provider = @provider ORDER BY b.class FOR NO KEY UPDATE OF b
)
UPDATE provider_budgets b
SET tokens = h.filled - least(h.want, floor(h.filled)), refilled_at = greatest(b.refilled_at, coalesce(sqlc.narg('now')::timestamptz, now()))
FROM held h WHERE b.provider = @provider AND b.class = h.class
RETURNING b.class, least(h.want, floor(h.filled))::int AS granted,
          greatest(b.blocked_until, coalesce(sqlc.narg('now')::timestamptz, now()))::timestamptz AS free_at;

-- name: BlockBudget :exec
INSERT INTO provider_budgets (provider, class, tokens, refilled_at, blocked_until)
VALUES (@provider, @class, 0, coalesce(sqlc.narg('now')::timestamptz, now()), coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(pause)::interval)
ON CONFLICT (provider, class) DO UPDATE SET tokens = 0, blocked_until = greatest(provider_budgets.blocked_until, excluded.blocked_until);

-- name: ClaimOwner :one
-- The first worker that provisions stores its owner. A restored copy of the database keeps it.
INSERT INTO installation (only_row, provision_owner) VALUES (true, @owner::text)
ON CONFLICT (only_row) DO UPDATE SET provision_owner = coalesce(installation.provision_owner, excluded.provision_owner)
RETURNING provision_owner::text;

-- name: CountDeployments :many
SELECT d.provider, d.phase, count(*)::int AS n FROM deployments d WHERE d.region = ANY (@regions::text[]) GROUP BY d.provider, d.phase;

-- name: ReadySince :many
-- How long servers took from the decision to start them until they were ready.
SELECT d.provider, d.ready_at::timestamptz AS ready_at, extract(epoch FROM d.ready_at - d.created_at)::float8 AS seconds
FROM deployments d WHERE d.region = @region AND d.ready_at > @since::timestamptz ORDER BY d.ready_at LIMIT 1000;

-- name: ClaimSweep :one
-- One worker sweeps a provider in an interval. The row says when the next sweep is due.
INSERT INTO provider_budgets AS b (provider, class, tokens, refilled_at, blocked_until)
VALUES (@provider, 'sweep', 0, coalesce(sqlc.narg('now')::timestamptz, now()), coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(every)::interval)
ON CONFLICT (provider, class) DO UPDATE SET refilled_at = excluded.refilled_at, blocked_until = excluded.blocked_until
WHERE b.blocked_until IS NULL OR b.blocked_until <= excluded.refilled_at
RETURNING b.refilled_at;

-- name: DelaySweep :exec
UPDATE provider_budgets SET blocked_until = coalesce(sqlc.narg('now')::timestamptz, now()) + sqlc.arg(pause)::interval WHERE provider = @provider AND class = 'sweep';

-- name: RefsOfTags :many
SELECT tag, coalesce(ref, '') AS ref FROM deployments WHERE region = @region AND tag = ANY (@tags::text[]);

-- name: NoteList :one
-- Compares a complete list of a provider with the servers that were ready before it began. One that two lists in a row lack is due: its provider
-- is asked about it.
WITH lacking AS ( -- NOT IN hashes the list; with <> ALL, 10,000 servers are a hundred million comparisons
    SELECT d.id, d.ref NOT IN (SELECT unnest(@refs::text[])) AS absent FROM deployments d
    WHERE d.region = @region AND d.provider = @provider AND d.phase IN ('ready', 'draining') AND d.provider_ready_at < @began
      AND (d.unlisted > 0 OR d.ref NOT IN (SELECT unnest(@refs::text[])))
    ORDER BY d.id LIMIT 10000 FOR NO KEY UPDATE SKIP LOCKED
), noted AS (
    UPDATE deployments d
    SET unlisted = CASE WHEN l.absent THEN d.unlisted + 1 ELSE 0 END,
        next_at = CASE WHEN l.absent AND d.unlisted >= 1 THEN coalesce(sqlc.narg('now')::timestamptz, now()) ELSE d.next_at END,
        woken_at = CASE WHEN l.absent AND d.unlisted >= 1 THEN clock_timestamp() ELSE d.woken_at END
    FROM lacking l WHERE d.region = @region AND d.id = l.id
    RETURNING l.absent AND d.unlisted >= 2 AS due
)
SELECT count(*) FILTER (WHERE n.due)::int AS due FROM noted n;
