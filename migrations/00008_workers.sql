-- Corrects what workers left out: a region whose last instance has moved to another region, and tables that have grown when
-- another table is locked.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- +goose StatementBegin
-- The regions that have instances, running or ended. Each step finds the next region by an index, however many instances there are.
CREATE FUNCTION fleet_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE r AS (
        (SELECT region FROM instances ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM instances n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- All tables are analyzed in one transaction. Before, a lock timeout on one table rolled back the statistics of the others, but
-- not their sizes, so that they did not count as grown any more. Now a locked table is skipped until the next run.
CREATE OR REPLACE FUNCTION analyze_grown() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    hot  record;
    done integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.analyze')) THEN
        RETURN 0; -- another worker is at it
    END IF;
    FOR hot IN
        SELECT c.oid, c.reltuples FROM pg_class c
        WHERE c.oid = ANY (hot_tables())
          AND c.reltuples < 200000 AND pg_stat_get_live_tuples(c.oid) > greatest(0, c.reltuples * 1.5)
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', hot.oid::regclass);
        IF (SELECT c.reltuples <> hot.reltuples FROM pg_class c WHERE c.oid = hot.oid) THEN
            done := done + 1;
        END IF;
    END LOOP;
    RETURN done;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- The old analyze_grown left tables without statistics, so the new one stays. Going down further, 00005 replaces it.
DROP FUNCTION fleet_regions();
