-- name: EnrolmentDigests :many
-- The digests of the secrets of enrolments, in the order of the ids. One that is not known has no row. Whether an enrolment may still be
-- used is decided when a game server registers.
SELECT e.region, e.id, e.digest FROM (SELECT unnest(@regions::text[]) AS region, unnest(@ids::uuid[]) AS id) w
JOIN enrolments e ON e.region = w.region AND e.id = w.id;

-- name: LockEnrolment :one
-- Locks an enrolment for a registration by it: it is first of all locks, and the one that makes two replicas count its servers in turn.
SELECT e.name, e.modes, e.max_servers, (e.expires_at <= clock_timestamp())::bool AS expired, (e.revoked_at IS NOT NULL)::bool AS revoked
FROM enrolments e WHERE e.region = @region AND e.id = @id FOR NO KEY UPDATE;

-- name: HolderOfInstance :one
-- Whose an instance id is, read under the lock of its row in the directory: the instance, and the credential that its present incarnation got.
-- The id of a deployment is taken also before its server has registered.
SELECT (i.id IS NOT NULL AND i.status <> 'gone')::bool AS runs,
       (i.deployment_id IS NOT NULL OR EXISTS (SELECT FROM deployments p WHERE p.region = @region AND p.id = sqlc.narg(as_deployment)::uuid))::bool AS deployed,
       s.enrolment, s.credential, (s.revoked_at IS NOT NULL)::bool AS revoked
FROM instance_directory d
LEFT JOIN instances i ON i.region = d.region AND i.id = d.instance_id
LEFT JOIN enrolled_servers s ON s.region = d.region AND s.instance_id = d.instance_id AND s.incarnation = d.incarnation
WHERE d.instance_id = @instance_id;

-- name: PutEnrolledServer :one
-- Notes what a registration by an enrolment was answered with. A registration that is repeated by the same incarnation keeps its credential,
-- because the answer to the first may have been lost.
INSERT INTO enrolled_servers (region, instance_id, enrolment, credential, incarnation, tokens_by, expires_at)
VALUES (@region, @instance_id, @enrolment, @credential, @incarnation, @tokens_by, now() + sqlc.arg(life)::interval)
ON CONFLICT (region, instance_id) DO UPDATE SET
    credential  = CASE WHEN enrolled_servers.incarnation = excluded.incarnation AND enrolled_servers.enrolment = excluded.enrolment
                       AND enrolled_servers.revoked_at IS NULL THEN enrolled_servers.credential ELSE excluded.credential END,
    enrolled_at = CASE WHEN enrolled_servers.enrolment = excluded.enrolment AND enrolled_servers.credential = excluded.credential
                       THEN enrolled_servers.enrolled_at ELSE now() END,
    enrolment   = excluded.enrolment,
    incarnation = excluded.incarnation,
    tokens_by   = excluded.tokens_by,
    expires_at  = excluded.expires_at,
    revoked_at  = NULL
RETURNING credential, expires_at;

-- name: CountEnrolled :one
-- How many instances of an enrolment have not ended.
SELECT count(*) FROM enrolled_servers s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
WHERE s.region = @region AND s.enrolment = @enrolment;

-- name: RenewCredential :one
-- Extends the credential of an instance that lives, by the database's clock. A credential that was revoked or replaced gets no row.
UPDATE enrolled_servers s SET expires_at = greatest(s.expires_at, now() + sqlc.arg(life)::interval), tokens_by = @tokens_by
WHERE s.region = @region AND s.instance_id = @instance_id AND s.credential = @credential AND s.revoked_at IS NULL
RETURNING s.expires_at;
