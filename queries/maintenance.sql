-- name: OldestSnapshotAge :one
-- For how many seconds the oldest snapshot has prevented vacuum from removing dead rows.
SELECT coalesce(extract(epoch FROM max(age)), 0)::float8 AS seconds FROM ops.oldest_snapshot;

-- name: AnalyzeGrown :one
SELECT analyze_grown()::int AS analyzed;

-- name: WornTables :many
SELECT worn_tables()::text AS name;
