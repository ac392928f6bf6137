-- The indexes by which rooms of the realtime lobby are found, made beside running replicas, so each statement is a transaction of its own.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS a_code_names_one_room;
CREATE UNIQUE INDEX CONCURRENTLY a_code_names_one_room ON lobbies (region, project, code) WHERE code IS NOT NULL;
-- The newest rooms that a list may show. None of its columns changes often, so that updates of rooms stay HOT.
DROP INDEX CONCURRENTLY IF EXISTS lobbies_listed;
CREATE INDEX CONCURRENTLY lobbies_listed ON lobbies (region, project, type, created_at DESC) WHERE NOT private;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS lobbies_listed;
DROP INDEX CONCURRENTLY IF EXISTS a_code_names_one_room;
