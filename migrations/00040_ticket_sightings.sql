-- When a worker of the director loop saw tickets come and leave, which a replay repeats. A worker records it after the fact, in batches: of tickets
-- that have waited for some seconds in their rows, and of those that were cancelled or expired in their history.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE tickets ADD COLUMN seen_at timestamptz;             -- as in ticket_history
ALTER TABLE ticket_history ADD COLUMN left_seen_at timestamptz; -- when a worker learned that it had left

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE ticket_history DROP COLUMN left_seen_at;
ALTER TABLE tickets DROP COLUMN seen_at;
