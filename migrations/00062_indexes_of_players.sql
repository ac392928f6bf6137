-- Indexes by which an erasure finds the tickets and events of a player in history, and who may take the player into a party.
--
-- Each partition is indexed in a transaction of its own: see 00030. Events that name no player are in no index, so that only seats and tickets
-- that are recorded on demand, and what operators do to players, cost an entry.

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

CALL index_history('events_of_players', 'events', 'USING gin (event_names(detail)) WHERE detail ? ''player'' OR detail ? ''subs'' OR detail ? ''metadata'' OR jsonb_typeof(detail -> ''players'') = ''array''');
CALL index_history('ticket_events_of_players', 'ticket_events', 'USING gin (party) WHERE party IS NOT NULL');
CALL index_history('ticket_history_of_players', 'ticket_history', 'USING gin (party)');
DROP PROCEDURE index_history;

DROP INDEX CONCURRENTLY IF EXISTS stored_players_that_may_party;
CREATE INDEX CONCURRENTLY stored_players_that_may_party ON stored_players USING gin (may_party_with) WHERE may_party_with <> '{}';

-- +goose Down
DROP INDEX IF EXISTS events_of_players, ticket_events_of_players, ticket_history_of_players, stored_players_that_may_party;
