-- name: EnsurePartitions :one
SELECT ensure_day_partitions(@history_table, @ahead::int)::int AS made;

-- name: DropPartitions :one
SELECT drop_day_partitions(@history_table, now() - sqlc.arg(keep)::interval)::int AS dropped;
