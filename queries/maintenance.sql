-- name: OldestSnapshotAge :one
-- Seconds vacuum has been kept from cleaning behind the hot tables.
SELECT coalesce(extract(epoch FROM max(age)), 0)::float8 AS seconds FROM ops.oldest_snapshot;

-- name: AnalyzeGrown :one
SELECT analyze_grown()::int AS analyzed;

-- name: WornTables :many
SELECT worn_tables()::text AS name;
