-- Projects and their keys. Both tables are small and the same for all regions.

-- name: CreateProject :one
INSERT INTO projects (id, name, region) VALUES (@id, @name, @region) RETURNING created_at;

-- name: Projects :many
-- The newest first; those that were made before the project after, if it is not empty.
SELECT p.id, p.name, p.region, p.created_at FROM projects p
WHERE @after::text = '' OR (p.created_at, p.id) < (SELECT a.created_at, a.id FROM projects a WHERE a.id = @after)
ORDER BY p.created_at DESC, p.id DESC LIMIT @batch;

-- name: Project :one
SELECT name, region, created_at FROM projects WHERE id = @id;

-- name: ProjectForChange :one
SELECT name, region FROM projects WHERE id = @id FOR NO KEY UPDATE;

-- name: RenameProject :exec
UPDATE projects SET name = @name WHERE id = @id;

-- name: ListProjectNames :many
-- All of them: --prune names those that no file declares.
SELECT id, name, region FROM projects ORDER BY id LIMIT @batch;

-- name: LogProject :exec
INSERT INTO events (region, kind, actor, detail) VALUES (@region, @kind, @actor, @detail);

-- name: CreateProjectKey :one
-- No row: the project has as many keys as it may have.
INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by)
SELECT @project, @id, @name, @scopes, @sealed_secret, @sealed_by
WHERE (SELECT count(*) FROM project_keys k WHERE k.project = @project AND k.revoked_at IS NULL) < sqlc.arg(most)::bigint
RETURNING created_at;

-- name: ProjectKeys :many
-- The newest first; those that were made before the key after, if it is not empty.
SELECT k.* FROM project_keys k
WHERE k.project = @project
  AND (@after::text = '' OR (k.created_at, k.id) < (SELECT a.created_at, a.id FROM project_keys a WHERE a.project = @project AND a.id = @after))
ORDER BY k.created_at DESC, k.id DESC LIMIT @batch;

-- name: ProjectKey :one
SELECT sqlc.embed(k), ((k.retires_at <= now()) IS TRUE)::bool AS retired FROM project_keys k WHERE k.project = @project AND k.id = @id;

-- name: RevokeProjectKey :one
-- The first time stays. A key that retires later retires now.
WITH held AS (SELECT k.retires_at FROM project_keys k WHERE k.project = @project AND k.id = @id FOR NO KEY UPDATE)
UPDATE project_keys k SET revoked_at = coalesce(k.revoked_at, now()), retires_at = least(k.retires_at, now())
FROM held h WHERE k.project = @project AND k.id = @id
RETURNING sqlc.embed(k), (h.retires_at IS NULL OR h.retires_at > now())::bool AS changed;

-- name: RotateProjectKey :one
-- Revokes the key and makes its successor. No row: the key is revoked already, perhaps by another rotation that this one waited for.
WITH old AS (
    UPDATE project_keys k SET revoked_at = now(), retires_at = now() + make_interval(secs => sqlc.arg(grace_seconds)::float8)
    WHERE k.project = @project AND k.id = @old AND k.revoked_at IS NULL
    RETURNING k.name, k.scopes
)
INSERT INTO project_keys AS k (project, id, name, scopes, sealed_secret, sealed_by, rotated_from)
SELECT @project, @id, left(old.name, 192) || '-rotated', old.scopes, @sealed_secret, @sealed_by, @old FROM old
RETURNING k.*;

-- name: CountMintedTokens :many
-- Judges the keys for which tokens are to be minted, and counts the tokens of those that may mint.
WITH asked AS (
    SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id, unnest(@tokens::bigint[]) AS tokens
), held AS (
    SELECT k.project, k.id, a.tokens FROM project_keys k JOIN asked a ON a.project = k.project AND a.id = k.id
    ORDER BY k.project, k.id FOR NO KEY UPDATE OF k
)
UPDATE project_keys k SET tokens_minted = k.tokens_minted + CASE WHEN k.revoked_at IS NULL AND sqlc.arg(scope)::text = ANY (k.scopes) THEN h.tokens ELSE 0 END
FROM held h WHERE k.project = h.project AND k.id = h.id
RETURNING k.*;

-- name: ProjectCounts :one
SELECT (SELECT count(*) FROM projects)::bigint AS projects, count(*)::bigint AS keys, count(k.revoked_at)::bigint AS revoked,
       count(k.rotated_from)::bigint AS rotated, coalesce(sum(k.tokens_minted), 0)::bigint AS tokens
FROM project_keys k;

-- name: SealedProjectKeys :many
-- The secrets of keys, in the order of the keys, without those that a key-encryption key seals already.
SELECT k.project, k.id, k.sealed_secret FROM project_keys k
WHERE k.sealed_by <> sqlc.arg(sealed_by)::text AND (k.project, k.id) > (@after_project::text, @after_id::text)
ORDER BY k.project, k.id LIMIT @batch;

-- name: ResealProjectKeys :execrows
-- Replaces secrets that are still what the worker has read.
UPDATE project_keys k SET sealed_secret = l.sealed, sealed_by = sqlc.arg(sealed_by)::text
FROM (SELECT o.project, o.id, n.sealed FROM project_keys o
      JOIN (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id, unnest(@old::bytea[]) AS old, unnest(@sealed::bytea[]) AS sealed) n
        ON n.project = o.project AND n.id = o.id AND n.old = o.sealed_secret
      ORDER BY o.project, o.id FOR NO KEY UPDATE OF o) l
WHERE k.project = l.project AND k.id = l.id;
