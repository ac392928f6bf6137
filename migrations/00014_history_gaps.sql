-- While no worker runs, no day partitions are made, and after a week rows of history fall into the default partitions. They
-- used to stay there, and each partition attached later scanned them under an exclusive lock.
--
-- Now a default partition that has rows is attached again as an ordinary partition of the days it holds, and an empty default
-- partition takes its place. No row moves, so no reader misses one or sees it twice. A CHECK that was validated before, beside
-- running inserts, saves ATTACH the scan. An insert waits at most 250 ms, in which the worker waits for its exclusive lock, and
-- then for some catalog changes. When the worker does not get the lock, it tries again later.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- The partitions of a history table except the default one: events_20261122 is one day, events_20261101_20261113 is the days
-- from the first to the last.
CREATE FUNCTION history_partitions(p_table regclass) RETURNS TABLE (name text, first_day date, last_day date) LANGUAGE sql STABLE AS $$
    SELECT c.relname::text, to_date((regexp_match(c.relname, '_([0-9]{8})(_[0-9]{8})?$'))[1], 'YYYYMMDD'), to_date(right(c.relname, 8), 'YYYYMMDD')
    FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class c ON c.oid = h.inhrelid
    WHERE h.inhparent = p_table AND c.relname ~ '_[0-9]{8}$'
$$;

-- The column that a history table is partitioned by.
CREATE FUNCTION history_column(p_table regclass) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT a.attname::text FROM pg_catalog.pg_partitioned_table p
    JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] WHERE p.partrelid = p_table
$$;

-- The CHECK that bounds the default partition of a history table while it is being replaced; NULL without one.
CREATE FUNCTION default_partition_bound(p_table text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT c.conname::text FROM pg_catalog.pg_constraint c
    WHERE c.conrelid = to_regclass(quote_ident(p_table || '_default')) AND c.conname ~ '^rows_are_of_[0-9]{8}_[0-9]{8}$'
$$;

-- Midnight in UTC, when a day begins.
CREATE FUNCTION midnight(p_day date) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT p_day::timestamp AT TIME ZONE 'UTC' $$;

-- Each of the functions below calls it first. It lets one worker at a time change the partitions of a table, and keeps
-- autovacuum, which cancels itself after a second, from the default partition; nobody else waits behind these two locks.
-- Afterwards the transaction waits only briefly for an exclusive lock, because everybody else waits behind it; it then fails, and
-- the next run repeats its work. Sequential scans are allowed: the director's sessions disable them for its hot statements.
-- +goose StatementBegin
CREATE FUNCTION lock_history(p_table text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.history.' || p_table));
    PERFORM set_config('lock_timeout', '5s', true);
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', p_table || '_default');
    PERFORM set_config('lock_timeout', '250ms', true), set_config('enable_seqscan', 'on', true);
END
$$;
-- +goose StatementEnd

-- Deletes rows of the default partition that are of days before the given time, at most p_batch. When no row is left, the
-- partition's file is emptied as well.
-- +goose StatementBegin
CREATE FUNCTION prune_default_partition(p_table text, p_before timestamptz, p_batch integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    fallback text := p_table || '_default';
    pruned   integer;
    has_rows boolean;
BEGIN
    IF pg_relation_size(quote_ident(fallback)::regclass) = 0 THEN
        RETURN 0;
    END IF;
    PERFORM lock_history(p_table);
    EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE %2$I < $1 LIMIT $2))', fallback, history_column(p_table))
        USING midnight((p_before AT TIME ZONE 'UTC')::date), p_batch;
    GET DIAGNOSTICS pruned = ROW_COUNT;
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', fallback) INTO has_rows;
    IF NOT has_rows THEN
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', fallback);
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', fallback) INTO has_rows;
        IF NOT has_rows THEN
            EXECUTE format('TRUNCATE %I', fallback);
        END IF;
    END IF;
    RETURN pruned;
END
$$;
-- +goose StatementEnd

-- The days as which the default partition can be attached, or no row. They begin with the first day that it has rows of, and end
-- with the last such day, or with tomorrow if no partition comes before that. It cannot be attached when another partition lies
-- between its rows, as after two outages of all workers of which the first was not repaired; retention then has to delete the
-- rows before that partition.
--
-- A CHECK of these days rejects all other rows until the default partition is replaced, moments later. So today and tomorrow must
-- be among these days, or have partitions of their own. If no worker ran after that, rows of the day after tomorrow would be
-- rejected; each run of a worker moves the CHECK.
-- +goose StatementBegin
CREATE FUNCTION days_of_default_partition(p_table text) RETURNS TABLE (first_day date, last_day date) LANGUAGE plpgsql AS $$
DECLARE
    today  date := (now() AT TIME ZONE 'UTC')::date;
    oldest date;
    newest date;
BEGIN
    EXECUTE format('SELECT (min(%1$I) AT TIME ZONE ''UTC'')::date, (max(%1$I) AT TIME ZONE ''UTC'')::date FROM %2$I',
        history_column(p_table), p_table || '_default') INTO oldest, newest;
    SELECT greatest(newest, least(min(h.first_day) - 1, today + 1)) INTO newest FROM history_partitions(p_table) h WHERE h.first_day > newest;
    RETURN QUERY SELECT oldest, newest
    WHERE oldest IS NOT NULL
      AND NOT EXISTS (SELECT FROM history_partitions(p_table) h WHERE h.first_day <= newest AND h.last_day >= oldest)
      AND NOT EXISTS (SELECT FROM generate_series(0, 1) n WHERE today + n NOT BETWEEN oldest AND newest
          AND NOT EXISTS (SELECT FROM history_partitions(p_table) h WHERE today + n BETWEEN h.first_day AND h.last_day));
END
$$;
-- +goose StatementEnd

-- Adds the CHECK that replace_default_partition needs to the default partition, or moves it; removes it when the partition cannot
-- be replaced. Returns whether there is a CHECK now.
-- +goose StatementBegin
CREATE FUNCTION bound_default_partition(p_table text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    fallback text := p_table || '_default';
    days     record;
    bound    text := default_partition_bound(p_table);
    wanted   text;
BEGIN
    IF bound IS NULL AND pg_relation_size(quote_ident(fallback)::regclass) = 0 THEN
        RETURN false;
    END IF;
    PERFORM lock_history(p_table);
    bound := default_partition_bound(p_table);
    SELECT * INTO days FROM days_of_default_partition(p_table);
    wanted := 'rows_are_of_' || to_char(days.first_day, 'YYYYMMDD') || '_' || to_char(days.last_day, 'YYYYMMDD');
    IF wanted IS DISTINCT FROM bound THEN
        EXECUTE format('ALTER TABLE %I ', fallback) || concat_ws(', ', 'DROP CONSTRAINT ' || quote_ident(bound),
            'ADD CONSTRAINT ' || quote_ident(wanted) || format(' CHECK (%1$I >= %2$L AND %1$I < %3$L) NOT VALID',
                history_column(p_table), midnight(days.first_day), midnight(days.last_day + 1)));
    END IF;
    RETURN wanted IS NOT NULL;
END
$$;
-- +goose StatementEnd

-- Attaches the default partition as the days that its CHECK names, and puts an empty one in its place. It reads all rows to
-- validate the CHECK, during which others can read and insert; after that it reads none.
-- +goose StatementBegin
CREATE FUNCTION replace_default_partition(p_table text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    fallback text := p_table || '_default';
    bound    text;
    days     text[];
    part     text;
BEGIN
    PERFORM lock_history(p_table);
    bound := default_partition_bound(p_table);
    IF bound IS NULL THEN
        RETURN false;
    END IF;
    days := regexp_match(bound, '([0-9]{8})_([0-9]{8})$');
    part := p_table || '_' || days[1] || '_' || days[2];
    EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', fallback, bound);
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', p_table);
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_table, fallback);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', fallback, part);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p_table, part,
        midnight(to_date(days[1], 'YYYYMMDD')), midnight(to_date(days[2], 'YYYYMMDD') + 1));
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', part, bound);
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', fallback, p_table);
    RETURN true;
END
$$;
-- +goose StatementEnd

-- Makes one day partition, the first that is missing between today and p_ahead days later, and returns how many it made. It makes
-- none for days of which the default partition has rows, and none at all while that is being replaced.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ensure_day_partitions(p_table text, p_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    day   date;
    part  text;
    taken boolean;
BEGIN
    PERFORM lock_history(p_table);
    IF default_partition_bound(p_table) IS NOT NULL THEN
        RETURN 0;
    END IF;
    FOR day IN SELECT today + n FROM generate_series(0, p_ahead) n
        WHERE NOT EXISTS (SELECT FROM history_partitions(p_table) h WHERE today + n BETWEEN h.first_day AND h.last_day)
    LOOP
        part := p_table || '_' || to_char(day, 'YYYYMMDD');
        EXECUTE format('SELECT EXISTS (SELECT FROM %1$I WHERE %2$I >= $1 AND %2$I < $2)', p_table || '_default', history_column(p_table))
            INTO taken USING midnight(day), midnight(day + 1);
        CONTINUE WHEN taken OR to_regclass(quote_ident(part)) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, p_table);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p_table, part, midnight(day), midnight(day + 1));
        RETURN 1;
    END LOOP;
    RETURN 0;
END
$$;
-- +goose StatementEnd

-- Drops one partition, the oldest of those whose last day ended before the given time, and returns how many it dropped. (Postgres
-- refuses DETACH CONCURRENTLY beside a default partition, so lock_timeout bounds the exclusive lock instead.)
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION drop_day_partitions(p_table text, p_before timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part text;
BEGIN
    PERFORM lock_history(p_table);
    SELECT h.name INTO part FROM history_partitions(p_table) h
    WHERE h.last_day < (p_before AT TIME ZONE 'UTC')::date ORDER BY h.last_day LIMIT 1;
    IF part IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %I', part);
    RETURN 1;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, coalesce(sum(h.last_day - h.first_day + 1), 0)::bigint AS days, min(h.first_day) AS first_day, max(h.last_day) AS last_day,
       (SELECT min(n) - 1 FROM generate_series(0, 1000) n WHERE NOT EXISTS (SELECT FROM history_partitions(t.oid) c
           WHERE (statement_timestamp() AT TIME ZONE 'UTC')::date + n BETWEEN c.first_day AND c.last_day)) AS days_ahead,
       coalesce(pg_relation_size(p.partdefid), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.oid
LEFT JOIN history_partitions(t.oid) h ON true
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass)
GROUP BY t.oid, t.relname, p.partdefid;
COMMENT ON VIEW ops.partitions IS 'How far the partitions of the history tables reach. Workers make and drop them.';
COMMENT ON COLUMN ops.partitions.days IS 'Days that partitions are there for, the default one not counted.';
COMMENT ON COLUMN ops.partitions.days_ahead IS 'Days without a gap beyond today; below 0 today has no partition and rows fall into the default one. Alarm below 2.';
COMMENT ON COLUMN ops.partitions.default_bytes IS 'Size of the default partition. Above 0 no worker made partitions for days; the next one to run puts an empty default partition in its place.';

-- +goose Down
CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, count(d.day) AS days, min(d.day) AS first_day, max(d.day) AS last_day,
       coalesce(max(d.day) - (statement_timestamp() AT TIME ZONE 'UTC')::date, -1) AS days_ahead,
       coalesce(sum(d.bytes) FILTER (WHERE d.day IS NULL), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
LEFT JOIN (
    SELECT relnamespace, regexp_replace(relname, '_([0-9]{8}|default)$', '') AS parent, pg_relation_size(oid) AS bytes,
           CASE WHEN relname ~ '_[0-9]{8}$' THEN to_date(right(relname, 8), 'YYYYMMDD') END AS day
    FROM pg_catalog.pg_class WHERE relispartition AND relkind = 'r'
) d ON d.relnamespace = t.relnamespace AND d.parent = t.relname
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass)
GROUP BY t.relname;
-- Makes the day partitions of a history table from today to p_ahead days later, except for days of which the default
-- partition has rows.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ensure_day_partitions(p_table text, p_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    day  date;
    part text;
    made integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.history.' || p_table)) THEN
        RETURN 0; -- another worker is at it
    END IF;
    PERFORM set_config('lock_timeout', '2s', true);
    FOR day IN SELECT d::date FROM generate_series((now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + p_ahead, interval '1 day') d LOOP
        part := p_table || '_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, p_table);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                p_table, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        EXCEPTION WHEN check_violation OR lock_not_available THEN
            NULL; -- rows of that day are in the default partition, or somebody reads it
        END;
    END LOOP;
    RETURN made;
END
$$;
-- +goose StatementEnd

-- Drops the day partitions that ended before the given time, oldest first. (Postgres refuses DETACH CONCURRENTLY beside a
-- default partition, so lock_timeout bounds the exclusive lock instead.)
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION drop_day_partitions(p_table text, p_before timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part    text;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.history.' || p_table)) THEN
        RETURN 0; -- another worker is at it
    END IF;
    PERFORM set_config('lock_timeout', '2s', true);
    FOR part IN
        SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
        WHERE h.inhparent = to_regclass(quote_ident(p_table)) AND c.relname ~ ('^' || p_table || '_[0-9]{8}$')
          AND to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= (p_before AT TIME ZONE 'UTC')::date
        ORDER BY c.relname
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', part);
            dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available THEN
            EXIT; -- somebody reads it: next time
        END;
    END LOOP;
    RETURN dropped;
END
$$;
-- +goose StatementEnd

DROP FUNCTION replace_default_partition, bound_default_partition, days_of_default_partition, prune_default_partition, lock_history, midnight,
    default_partition_bound, history_column, history_partitions;
