-- name: MarkVersionsUsed :exec
-- From the first server on, what running servers depend on does not change.
UPDATE app_versions v SET used_at = now()
FROM (SELECT DISTINCT unnest(@apps::text[]) AS app, unnest(@versions::text[]) AS version) u
WHERE v.app = u.app AND v.version = u.version AND v.used_at IS NULL;

-- name: InsertDeployments :exec
WITH made AS (
    INSERT INTO deployments (region, id, app, version, provider, tag, origin, netcode_key, sealed_by, address)
    SELECT @region, n.id, n.app, n.version, n.provider, n.tag, n.origin, n.netcode_key, nullif(n.sealed_by, ''), nullif(n.address, '')::inet
    FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@apps::text[]) AS app, unnest(@versions::text[]) AS version, unnest(@providers::text[]) AS provider,
                 unnest(@tags::text[]) AS tag, unnest(@origins::text[]) AS origin, unnest(@netcode_keys::bytea[]) AS netcode_key,
                 unnest(@sealed_bys::text[]) AS sealed_by, unnest(@addresses::text[]) AS address) n
    ORDER BY n.id
    RETURNING id, app, version, origin
)
INSERT INTO events (region, kind, instance_id, detail)
SELECT @region, 'deployment.wanted', m.id::text, jsonb_build_object('app', m.app, 'version', m.version, 'origin', m.origin) FROM made m;

-- name: StopDeployment :one
SELECT stop_deployment(@region, @id, @reason, coalesce(sqlc.narg('now')::timestamptz, now()))::bool AS stopped;

-- name: DeploymentPhase :one
SELECT phase FROM deployments WHERE region = @region AND id = @id;
