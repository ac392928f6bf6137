-- name: PruneDefaultPartition :one
SELECT prune_default_partition(@history_table, now() - sqlc.arg(keep)::interval, @batch::int)::int AS pruned;

-- name: BoundDefaultPartition :one
SELECT bound_default_partition(@history_table)::bool AS bounded;

-- name: ReplaceDefaultPartition :one
-- Validates the CHECK that BoundDefaultPartition has added to the default partition. That must be an earlier transaction: it
-- locks the table, and would block inserts for as long as the validation takes.
SELECT replace_default_partition(@history_table)::bool AS replaced;

-- name: EnsurePartitions :one
-- Makes one partition at most, since each locks the default partition for a moment.
SELECT ensure_day_partitions(@history_table, @ahead::int)::int AS made;

-- name: DropPartitions :one
-- Drops one partition at most, since each locks the table for a moment.
SELECT drop_day_partitions(@history_table, now() - sqlc.arg(keep)::interval)::int AS dropped;
