-- name: RecordRun :exec
-- Writes a loop's row once in 10 seconds, however many workers run the loop.
INSERT INTO worker_loops (loop, every) VALUES (@loop, @every)
ON CONFLICT (loop) DO UPDATE SET succeeded_at = now(), every = excluded.every
WHERE worker_loops.succeeded_at < now() - interval '10 seconds';
