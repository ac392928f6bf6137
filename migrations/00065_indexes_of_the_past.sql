-- Indexes by which the sessions and seats of a time are found in history: rows come as sessions close, so those that began before a time and ended
-- after it are in few neighbouring blocks. Each partition is indexed in a transaction of its own: see 00030.

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

CALL index_history('session_history_by_begin', 'session_history', 'USING brin (opened_at)');
CALL index_history('seat_history_by_begin', 'seat_history', 'USING brin (reserved_at)');
DROP PROCEDURE index_history;

-- +goose Down
DROP INDEX IF EXISTS session_history_by_begin, seat_history_by_begin;
