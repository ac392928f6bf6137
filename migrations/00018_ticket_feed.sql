-- Indexes for the director loop, made beside running replicas, so each statement is a transaction of its own.

-- +goose NO TRANSACTION

-- +goose Up
-- What workers read since they last read: tickets in the order in which they became candidates. Region is not in it: it would
-- attract lookups of tickets that were planned while the queue was empty.
DROP INDEX CONCURRENTLY IF EXISTS tickets_in_commit_order;
CREATE INDEX CONCURRENTLY tickets_in_commit_order ON tickets (tx);
-- The sessions of matches, for the answer to "which match does this session play".
DROP INDEX CONCURRENTLY IF EXISTS sessions_of_matches;
CREATE UNIQUE INDEX CONCURRENTLY sessions_of_matches ON sessions (region, match_id) WHERE match_id IS NOT NULL;
SET lock_timeout = '3s'; -- the constraint holds for new rows already; validating it scans the table beside running replicas
ALTER TABLE seats VALIDATE CONSTRAINT a_team_belongs_to_a_match;
RESET lock_timeout;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS sessions_of_matches;
DROP INDEX CONCURRENTLY IF EXISTS tickets_in_commit_order;
