-- Before, only metrics showed whether workers run. An operator with access to the database alone, and 'director doctor', could
-- not distinguish a fleet without workers from one whose workers have nothing to do.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- A row for each loop, written by whichever worker ran it, at most every 10 seconds. A migration that removes a loop deletes its row.
CREATE TABLE worker_loops (
    loop         text PRIMARY KEY,
    every        interval NOT NULL,
    succeeded_at timestamptz NOT NULL DEFAULT now()
);

CREATE VIEW ops.worker_loops AS
SELECT loop, succeeded_at AS last_success, statement_timestamp() - succeeded_at AS age, every,
       statement_timestamp() - succeeded_at > greatest(3 * every, interval '1 minute') AS late
FROM worker_loops;
COMMENT ON VIEW ops.worker_loops IS 'When each loop of a worker last succeeded, whichever worker it was. No rows: no worker has run since this view came.';
COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, queue, analyze, vacuum or history.';
COMMENT ON COLUMN ops.worker_loops.last_success IS 'When a run last succeeded, written at most every 10 seconds.';
COMMENT ON COLUMN ops.worker_loops.age IS 'How long ago that was.';
COMMENT ON COLUMN ops.worker_loops.every IS 'The interval of the loop.';
COMMENT ON COLUMN ops.worker_loops.late IS 'Whether three intervals, and at least a minute, have passed since: no worker runs, or the loop fails.';

-- +goose Down
DROP VIEW ops.worker_loops;
DROP TABLE worker_loops;
