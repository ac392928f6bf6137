-- Profiles and their versions. Which version decides? profiles.live, while retired_at is null. A version is never deleted,
-- and all that changes of it is was_live, once.

-- name: LockProfiles :exec
-- Changes of a region's profiles come one after the other. They take no other lock than those of their own rows, but for a declaration,
-- which locks projects and pools after it.
SELECT pg_advisory_xact_lock(hashtext('director.profiles:' || sqlc.arg(region)::text));

-- name: ProfileForChange :one
-- What a change is decided on. Read it under LockProfiles.
SELECT p.live, p.shadow, p.retired_at, p.paused_at,
       (SELECT max(v.version) FROM profile_versions v WHERE v.region = p.region AND v.name = p.name)::int AS latest,
       coalesce((SELECT max(f.version) FROM profile_versions f WHERE f.region = p.region AND f.name = p.name AND f.version < p.live AND f.was_live), 0)::int AS former,
       l.canonical AS live_canonical, s.canonical AS shadow_canonical
FROM profiles p
JOIN profile_versions l ON l.region = p.region AND l.name = p.name AND l.version = p.live
LEFT JOIN profile_versions s ON s.region = p.region AND s.name = p.name AND s.version = p.shadow
WHERE p.region = @region AND p.name = @name;

-- name: CountProfiles :one
SELECT count(*) FROM profiles WHERE region = @region;

-- name: InsertProfileVersion :exec
-- An author of '' is the database login. SaveProfile says which version is live.
INSERT INTO profile_versions (region, name, version, document, canonical, author, reason, was_live)
VALUES (@region, @name, @version, @document, @canonical, coalesce(nullif(sqlc.arg(author)::text, ''), 'sql:' || session_user), @reason, false);

-- name: SaveProfile :exec
WITH lives AS (
    UPDATE profile_versions v SET was_live = true WHERE v.region = @region AND v.name = @name AND v.version = @live AND NOT v.was_live
)
INSERT INTO profiles (region, name, live, shadow, retired_at)
VALUES (@region, @name, @live, sqlc.narg(shadow), CASE WHEN sqlc.arg(retired)::bool THEN now() END)
ON CONFLICT (region, name) DO UPDATE SET live = excluded.live, shadow = excluded.shadow, retired_at = excluded.retired_at;

-- name: LogProfile :exec
INSERT INTO events (region, kind, actor, detail)
VALUES (@region, @kind, coalesce(nullif(sqlc.arg(author)::text, ''), 'sql:' || session_user), @detail);

-- name: ListProfiles :many
-- Without documents, of which a region may have 64 MB.
SELECT p.name, p.live, p.shadow, p.retired_at, p.paused_at, coalesce(p.pause_reason, '') AS pause_reason, v.author, v.reason, v.created_at,
       (SELECT count(*) FROM profile_versions c WHERE c.region = p.region AND c.name = p.name)::int AS versions
FROM profiles p
JOIN profile_versions v ON v.region = p.region AND v.name = p.name AND v.version = p.live
WHERE p.region = @region AND (p.retired_at IS NULL OR sqlc.arg(retired)::bool)
ORDER BY p.name;

-- name: GetProfileVersion :one
-- A version of 0 is the live one.
SELECT v.version, v.document, v.author, v.reason, v.created_at, p.live, p.shadow, p.retired_at
FROM profiles p
JOIN profile_versions v ON v.region = p.region AND v.name = p.name AND v.version = CASE WHEN sqlc.arg(version)::int = 0 THEN p.live ELSE sqlc.arg(version)::int END
WHERE p.region = @region AND p.name = @name;

-- name: ListProfileDocuments :many
-- The documents of one version of each of these profiles.
SELECT v.name, v.document FROM (SELECT unnest(@names::text[]) COLLATE "C" AS name, unnest(@versions::int[]) AS version) n
JOIN profile_versions v ON v.region = @region AND v.name = n.name AND v.version = n.version;

-- name: LiveVersions :many
-- The versions that decide. Profiles that are retired have none.
SELECT name, live FROM profiles WHERE region = @region AND name = ANY (@names::text[]) AND retired_at IS NULL;

-- name: CountTicketsOfProfiles :many
-- How many tickets wait for each of these profiles, whether they name others as well or not. It reads all of ticket_players.
SELECT p.profile, count(DISTINCT p.ticket_id)::int AS tickets FROM ticket_players p
WHERE p.region = @region AND p.profile = ANY (@names::text[]) GROUP BY p.profile;

-- name: ListProfileVersions :many
SELECT version, author, reason, created_at FROM profile_versions WHERE region = @region AND name = @name ORDER BY version DESC;

-- name: RecordShadow :exec
-- Adds matches to the comparison of a shadow with the live version, while these are the versions of the profile. It deletes the
-- oldest of a side beyond @keep, and those of other versions.
WITH compared AS (
    SELECT FROM profiles p WHERE p.region = @region AND p.name = @profile AND p.live = @live AND p.shadow = @shadow AND p.retired_at IS NULL
), last AS MATERIALIZED (
    SELECT s.side, coalesce((SELECT max(m.n) FROM shadow_matches m WHERE m.region = @region AND m.profile = @profile AND m.side = s.side), 0) AS n
    FROM (SELECT unnest('{live,shadow}'::text[]) COLLATE "C" AS side) s
), dropped AS (
    DELETE FROM shadow_matches m USING last l
    WHERE m.region = @region AND m.profile = @profile AND m.side = l.side
      AND (m.n <= l.n - sqlc.arg(keep)::bigint OR m.live <> @live OR m.shadow <> @shadow) AND EXISTS (SELECT FROM compared)
)
INSERT INTO shadow_matches (region, profile, side, n, live, shadow, decided_at, measures)
SELECT @region, @profile, l.side, l.n + row_number() OVER (PARTITION BY l.side ORDER BY a.decided_at), @live, @shadow, a.decided_at, a.measures::jsonb
FROM (SELECT unnest(@sides::text[]) COLLATE "C" AS side, unnest(@decided_at::timestamptz[]) AS decided_at, unnest(@measures::text[]) AS measures) a
JOIN last l ON l.side = a.side WHERE EXISTS (SELECT FROM compared);

-- name: ForgetShadow :exec
-- Deletes the comparison of a shadow that ended or was replaced.
DELETE FROM shadow_matches WHERE region = @region AND profile = @profile;
