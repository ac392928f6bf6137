-- Creates the roles for schema ops. It is not a migration, because roles belong to the whole server and creating them needs
-- more rights than a migration. Run it in each database of a director, as a role that may create roles and owns schema ops
-- (or as a superuser). Run it again after an upgrade that adds views. Running it twice does no harm:
--
--     psql "$DATABASE_URL" -f ops/grants.sql
--
--   director_ops       reads the views of schema ops and nothing else: for dashboards
--   director_operator  also may call ops.free_seat, ops.cancel_ticket, ops.erase_player, ops.drain, ops.undrain, ops.drain_host, ops.undrain_host, ops.drain_label, ops.undrain_label, ops.drain_region, ops.undrain_region,
--                     ops.preview_evacuation, ops.evacuate, ops.close_session, ops.taint_key, ops.drain_agent, ops.undrain_agent,
--                     ops.stop_deployment, ops.scale_pool, ops.limit_pools, ops.set_beacon, ops.set_cell, ops.remove_cell, ops.pause_pool, ops.resume_pool, ops.create_enrolment,
--                     ops.revoke_enrolment, ops.revoke_server, ops.pause_profile, ops.resume_profile,
--                     ops.create_webhook, ops.pause_webhook, ops.resume_webhook, ops.delete_webhook, ops.replay_webhook, ops.test_webhook, ops.record_events,
--                     ops.set_valve, ops.open_valve, ops.close_valve, ops.delete_valve and ops.admit_player
--
-- Neither can log in yet. Dashboards should log in as director_ops itself: the limits below apply only to the role that logs
-- in, and members of a role do not inherit them:
--
--     ALTER ROLE director_ops LOGIN PASSWORD '…';
--
-- Give each person a login of their own, because events name it as the actor, and set the same limits for it:
--
--     CREATE ROLE alice LOGIN PASSWORD '…' IN ROLE director_operator;
--     ALTER ROLE alice SET statement_timeout = '5s';
--     ALTER ROLE alice SET lock_timeout = '1s';
--     ALTER ROLE alice SET idle_in_transaction_session_timeout = '10s';
--
-- ops.oldest_snapshot shows the age of other logins' transactions only if the owner of schema ops is a superuser or has the
-- role pg_read_all_stats.

BEGIN;

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['director_ops', 'director_operator'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- created by an earlier run, or by a concurrent run for another database of this server
        END;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
        -- A long statement or a forgotten transaction keeps vacuum from removing dead rows of the hot tables. A statement
        -- that waits for a lock makes players' calls queue behind it.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET statement_timeout = %L', role, current_database(), '5s');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET lock_timeout = %L', role, current_database(), '1s');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET idle_in_transaction_session_timeout = %L', role, current_database(), '10s');
        -- Compiling the plan of a view takes longer than reading it, and that CPU is missing for players' calls.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET jit = off', role, current_database());
    END LOOP;
    EXECUTE format('ALTER ROLE director_ops IN DATABASE %I SET default_transaction_read_only = on', current_database());
END
$$;

GRANT USAGE ON SCHEMA ops TO director_ops, director_operator;
GRANT SELECT ON ALL TABLES IN SCHEMA ops TO director_ops, director_operator;
GRANT EXECUTE ON FUNCTION ops.free_seat, ops.cancel_ticket, ops.erase_player, ops.drain, ops.undrain, ops.drain_host, ops.undrain_host, ops.drain_label, ops.undrain_label, ops.drain_region, ops.undrain_region,
    ops.preview_evacuation, ops.evacuate, ops.close_session, ops.taint_key, ops.drain_agent, ops.undrain_agent,
    ops.stop_deployment, ops.scale_pool, ops.limit_pools, ops.set_beacon, ops.set_cell, ops.remove_cell, ops.pause_pool, ops.resume_pool, ops.create_enrolment, ops.revoke_enrolment, ops.revoke_server,
    ops.pause_profile, ops.resume_profile,
    ops.create_webhook, ops.pause_webhook, ops.resume_webhook, ops.delete_webhook, ops.replay_webhook, ops.test_webhook, ops.record_events,
    ops.set_valve, ops.open_valve, ops.close_valve, ops.delete_valve, ops.admit_player TO director_operator;

-- These functions run with the rights of their owner and call other functions in schema public, so nobody else may create
-- functions there. This is the default since Postgres 15, but an upgraded database keeps its older privileges.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

COMMIT;
