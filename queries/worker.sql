-- name: RecordRun :exec
-- Workers that run the same loop write its row once in 10 seconds together, not each.
INSERT INTO worker_loops (loop, every) VALUES (@loop, @every)
ON CONFLICT (loop) DO UPDATE SET succeeded_at = now(), every = excluded.every
WHERE worker_loops.succeeded_at < now() - interval '10 seconds';
