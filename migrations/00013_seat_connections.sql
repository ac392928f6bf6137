-- Which connection to the game server holds a seat, where the game server names its connections. A second connection with
-- the same session token is then a replay, and the end of a connection frees only the seat that it holds.
--
-- Columns are added without a default, so that no row is rewritten. connection counts only while connection_jti equals the
-- seat's jti: a replica of the previous release writes only jti when a player connects again, and the old connection no longer
-- holds the seat then. Once no such replica can run, connection_jti can be dropped.

-- +goose Up
ALTER TABLE seats ADD COLUMN connection text, ADD COLUMN connection_jti text;

-- +goose Down
ALTER TABLE seats DROP COLUMN connection, DROP COLUMN connection_jti;
