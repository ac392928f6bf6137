-- The roles for schema ops. Not a migration: roles belong to the whole server, and to make them takes more rights than
-- to migrate does. Run it in each database of a director, as somebody who may create roles and owns schema ops (or as a
-- superuser), and again after an upgrade that brings new views. Running it twice does no harm:
--
--     psql "$DATABASE_URL" -f ops/grants.sql
--
--   director_ops       reads the views of schema ops and nothing else: for dashboards
--   director_operator  reads them and steers: may call ops.drain, ops.undrain, ops.close_session and ops.taint_key
--
-- Neither can log in yet. Let dashboards log in as director_ops itself, because the limits set below hold for the role
-- that logs in; its members do not inherit them:
--
--     ALTER ROLE director_ops LOGIN PASSWORD '…';
--
-- Give each person a login of their own, for it is what events name as the actor, and the same limits:
--
--     CREATE ROLE alice LOGIN PASSWORD '…' IN ROLE director_operator;
--     ALTER ROLE alice SET statement_timeout = '5s';
--     ALTER ROLE alice SET lock_timeout = '1s';
--     ALTER ROLE alice SET idle_in_transaction_session_timeout = '10s';
--
-- ops.oldest_snapshot sees how long the transactions of other logins have been open only if the owner of schema ops is a
-- superuser or has been granted pg_read_all_stats.

BEGIN;

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['director_ops', 'director_operator'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- made before, or just now for another database of this server
        END;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
        -- A statement that runs for long, or a transaction that is forgotten, keeps vacuum from cleaning behind the hot
        -- tables; one that waits for a lock makes the players queue behind it.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET statement_timeout = %L', role, current_database(), '5s');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET lock_timeout = %L', role, current_database(), '1s');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET idle_in_transaction_session_timeout = %L', role, current_database(), '10s');
        -- To compile a view takes longer than to read it, and takes its CPU from the players' calls.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET jit = off', role, current_database());
    END LOOP;
    EXECUTE format('ALTER ROLE director_ops IN DATABASE %I SET default_transaction_read_only = on', current_database());
END
$$;

GRANT USAGE ON SCHEMA ops TO director_ops, director_operator;
GRANT SELECT ON ALL TABLES IN SCHEMA ops TO director_ops, director_operator;
GRANT EXECUTE ON FUNCTION ops.drain, ops.undrain, ops.close_session, ops.taint_key TO director_operator;

-- The steering functions run with the rights of their owner and find other functions in this schema, so nobody else may
-- put any there. It is the default since Postgres 15, but a database that was upgraded keeps what it had.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

COMMIT;
