-- What processes of the director report of themselves. Each replica and worker writes its own row every few seconds. The write is the test
-- that /readyz makes: a database that answers reads and refuses writes, or whose disk is full, is found by it. A process that does not
-- write any more, and is still connected, is frozen or cut off.
--
-- A row for a process, which is written in place, so that the table does not grow with time. Workers delete the rows of processes that
-- have been silent for an hour.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE process_reports (
    process     text COLLATE "C" PRIMARY KEY,  -- the name of its connections, as in ops.processes
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    troubles    jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT the_troubles_of_a_process_are_a_list CHECK (jsonb_typeof(troubles) = 'array')
) WITH (fillfactor = 50); -- updates stay on their page

CREATE VIEW ops.process_reports AS
SELECT process, reported_at, statement_timestamp() - reported_at AS age, troubles FROM process_reports;
COMMENT ON VIEW ops.process_reports IS 'Replicas and workers as they report of themselves, every few seconds. One that ends without shutting down, is frozen, or cannot write keeps its last report for an hour.';
COMMENT ON COLUMN ops.process_reports.process IS 'What it does, its host and its process id, as in: director serve host-1/7. ops.processes has its connections.';
COMMENT ON COLUMN ops.process_reports.reported_at IS 'When it last wrote its report.';
COMMENT ON COLUMN ops.process_reports.age IS 'How long ago that was.';
COMMENT ON COLUMN ops.process_reports.troubles IS 'What does not work in this process and cannot be seen from outside, such as a key set without a usable key: objects with subject, says, do and section, the heading in docs/operators.md.';

-- For the question how many players were refused in the last minutes. Replicas write the table outside of requests, so that they may wait.
CREATE INDEX player_refusals_by_time ON player_refusals (last_at);

-- +goose Down
DROP INDEX player_refusals_by_time;
DROP VIEW ops.process_reports;
DROP TABLE process_reports;
