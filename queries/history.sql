-- name: PruneDefaultPartition :one
SELECT prune_default_partition(@history_table, now() - sqlc.arg(keep)::interval, @batch::int)::int AS pruned;

-- name: BoundDefaultPartition :one
SELECT bound_default_partition(@history_table)::bool AS bounded;

-- name: ReplaceDefaultPartition :one
-- Validates what BoundDefaultPartition, in a transaction of its own, gave the default partition: both in one would keep others
-- from inserting meanwhile.
SELECT replace_default_partition(@history_table)::bool AS replaced;

-- name: EnsurePartitions :one
-- One at a time: each locks the default partition for a moment.
SELECT ensure_day_partitions(@history_table, @ahead::int)::int AS made;

-- name: DropPartitions :one
-- One at a time: each locks the table for a moment.
SELECT drop_day_partitions(@history_table, now() - sqlc.arg(keep)::interval)::int AS dropped;
