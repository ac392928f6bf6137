-- Indexes of history for operators: what happened to a player, on a game server, and in the queue of the last hour.
--
-- CREATE INDEX on a partitioned table blocks inserts into all of its partitions until the last one is indexed, and Postgres has no
-- CONCURRENTLY for it. So each partition is indexed in a transaction of its own: past days get no rows, and inserts wait for the index
-- of today's partition only. After a failure, run the migration again: it goes on with the partitions that have no index.

-- +goose NO TRANSACTION

-- +goose Up

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE index_history(p_index text, p_table text, p_definition text) LANGUAGE plpgsql AS $$
DECLARE
    part text;
BEGIN
    PERFORM set_config('lock_timeout', '3s', true); -- behind a long reader everybody else would wait as well: then try again
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON ONLY %I %s', p_index, p_table, p_definition); -- later partitions get it when they are attached
    COMMIT;
    LOOP
        SELECT c.relname INTO part FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class c ON c.oid = h.inhrelid
        WHERE h.inhparent = quote_ident(p_table)::regclass AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_inherits k ON k.inhrelid = i.indexrelid
            WHERE i.indrelid = c.oid AND k.inhparent = quote_ident(p_index)::regclass)
        ORDER BY c.relname LIMIT 1;
        EXIT WHEN part IS NULL;
        PERFORM set_config('lock_timeout', '3s', true);
        EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I %s', p_index || replace(part, p_table, ''), part, p_definition);
        EXECUTE format('ALTER INDEX %I ATTACH PARTITION %I', p_index, p_index || replace(part, p_table, ''));
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The region is not first: the region of a player's past seats is not known, and ids of instances are unique over all regions.
CALL index_history('seat_history_of_player', 'seat_history', '(sub, left_at)');
CALL index_history('events_of_instance', 'events', '(instance_id, tx, id) WHERE instance_id IS NOT NULL');
CALL index_history('ticket_history_by_time', 'ticket_history', 'USING brin (left_at)');
DROP PROCEDURE index_history;

-- +goose Down
DROP INDEX IF EXISTS seat_history_of_player, events_of_instance, ticket_history_by_time;
