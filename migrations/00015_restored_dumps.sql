-- Column tx is the transaction that wrote a row, and feeds show the rows that are older than every running transaction. A dump
-- that is restored into another server keeps tx, but that server numbers transactions by itself: rows seem to be from the future,
-- and feeds hide them until the server's numbers have reached theirs.

-- +goose Up

-- Whether rows seem to be from the future, which they never do in the server that wrote them and in its standbys. It looks up the
-- newest row of each partition and region.
-- +goose StatementBegin
CREATE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future);
END
$$;
-- +goose StatementEnd

-- Renumbers the transactions of restored rows, in their order and without gaps, from this server's current number on. Then it
-- starts transactions until these numbers are in the past. The new numbers are above all that feeds have shown on this server, so
-- no reader misses a row. CALL it outside a transaction; after a failure, call it again.
-- +goose StatementBegin
CREATE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        WITH old AS (
            SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
            FROM (SELECT DISTINCT e.tx FROM events e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
        )
        UPDATE events e SET tx = (base + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx;
        WITH old AS (
            SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
            FROM (SELECT DISTINCT s.tx FROM settled_tickets s WHERE s.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
        )
        UPDATE settled_tickets s SET tx = (base + o.n)::text::xid8 FROM old o WHERE s.tx = o.tx;
        COMMIT;
        WHILE restored_from_dump() LOOP
            FOR i IN 1..1000 LOOP
                PERFORM pg_current_xact_id();
                COMMIT;
            END LOOP;
        END LOOP;
    END IF;
    PERFORM pg_advisory_unlock(hashtext('director.restored'));
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP PROCEDURE renew_restored_transactions;
DROP FUNCTION restored_from_dump;
