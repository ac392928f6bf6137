-- A region moves to another cell, by logical replication of its rows: db/region_move.go has the steps.
--
-- Each of the two cells has a row for the move. In the cell that is left, region_moves.step goes from preparing to copying, fenced, flipped and
-- done; in the other one, fenced is left out. The commit of step flipped in the other cell decides: until then the move can be undone.
--
-- Who may write the region? While a move runs, triggers on the tables that move (refuse_moving_region) refuse the region's rows: in the cell that is
-- left from step fenced on, in the other one until step flipped. Rows of other regions pay for the condition of the trigger alone, and without a move there is no
-- trigger. Each write of the region takes a shared lock that fence_region takes exclusively, so no write is under way when a region is fenced.
--
-- Releases before this one know no moves: upgrade all processes of both cells first.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE region_moves (
    id         uuid PRIMARY KEY, -- the same in both cells
    region     text NOT NULL,
    direction  text NOT NULL,
    step       text NOT NULL DEFAULT 'preparing',
    cell       text NOT NULL, -- the other one
    address    text NOT NULL, -- of its API
    actor      text NOT NULL,
    reason     text NOT NULL,
    begun_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    driven_at  timestamptz NOT NULL DEFAULT clock_timestamp(), -- when a command last worked on it
    fenced_at  timestamptz,
    flipped_at timestamptz,
    ended_at   timestamptz,
    fences     integer NOT NULL DEFAULT 0, -- of a region that leaves: how often it was fenced; of one that arrives: up to which fence none may flip it
    refuses_writes boolean GENERATED ALWAYS AS (ended_at IS NULL AND CASE direction
        WHEN 'leaves' THEN step IN ('fenced', 'flipped') ELSE step IN ('preparing', 'copying', 'undone') END) STORED NOT NULL,
    CONSTRAINT a_region_that_moves_has_a_name CHECK (region ~ '^[a-z0-9-]{1,32}$'),
    CONSTRAINT a_region_leaves_or_arrives CHECK (direction IN ('leaves', 'arrives')),
    CONSTRAINT a_move_has_a_known_step CHECK (step IN ('preparing', 'copying', 'fenced', 'flipped', 'done', 'undone')),
    CONSTRAINT a_move_that_ended_is_done_or_undone CHECK (ended_at IS NULL OR step IN ('done', 'undone'))
);
CREATE UNIQUE INDEX a_region_moves_once_at_a_time ON region_moves (region) WHERE ended_at IS NULL;

-- The row that fence_region inserts comes after all writes of the region in the log: where it has arrived, they have.
CREATE TABLE region_move_marks (
    move   uuid,
    fence  integer,
    region text NOT NULL,
    PRIMARY KEY (move, fence)
);

CREATE VIEW ops.region_moves AS
SELECT m.id AS move, m.region, m.direction, m.step, m.cell, m.address, m.refuses_writes, m.begun_at, m.driven_at, m.fenced_at, m.flipped_at, m.ended_at, m.actor, m.reason
FROM region_moves m;
COMMENT ON VIEW ops.region_moves IS 'Regions that move from or to another cell, or have moved.';
COMMENT ON COLUMN ops.region_moves.move IS 'The id of the move, the same in both cells.';
COMMENT ON COLUMN ops.region_moves.region IS 'The region.';
COMMENT ON COLUMN ops.region_moves.direction IS 'leaves: from this cell to the other one; arrives: the other way.';
COMMENT ON COLUMN ops.region_moves.step IS 'preparing, copying, fenced (nobody may write the region until it is flipped), flipped (the other cell serves it), done or undone. Without ended_at, the rows of the cell that does not serve it are still there.';
COMMENT ON COLUMN ops.region_moves.cell IS 'The other cell.';
COMMENT ON COLUMN ops.region_moves.address IS 'The base URL of its API.';
COMMENT ON COLUMN ops.region_moves.refuses_writes IS 'Whether calls about the region are refused here.';
COMMENT ON COLUMN ops.region_moves.begun_at IS 'When it began.';
COMMENT ON COLUMN ops.region_moves.driven_at IS 'When a command last worked on it. If that is minutes ago, none runs: start it again.';
COMMENT ON COLUMN ops.region_moves.fenced_at IS 'When the cell that is left began to refuse calls about the region.';
COMMENT ON COLUMN ops.region_moves.flipped_at IS 'When this cell began to serve it, or to send callers to the other one.';
COMMENT ON COLUMN ops.region_moves.ended_at IS 'When the move ended; NULL: it runs.';
COMMENT ON COLUMN ops.region_moves.actor IS 'Who began it.';
COMMENT ON COLUMN ops.region_moves.reason IS 'Why.';

CREATE FUNCTION region_refuses_writes(p_region text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM region_moves m WHERE m.region = p_region AND m.refuses_writes)
$$;
COMMENT ON FUNCTION region_refuses_writes(text) IS 'Whether the region is between two cells, so that nobody here may write its rows.';

-- What becomes of each table, in an order in which rows can be deleted. moves: its rows of the region move, and nobody may write them meanwhile;
-- past: they move, and nobody refuses new ones; stays: they are of this cell, whatever their region, or go by themselves. A test demands that each table is here.
CREATE FUNCTION region_tables() RETURNS TABLE (place integer, name text, fate text) LANGUAGE sql IMMUTABLE AS $$
    SELECT n, v[1], v[2] FROM (
        SELECT row_number() OVER ()::int, regexp_split_to_array(t, ' ') FROM unnest(ARRAY[
            'seats moves', 'redeemed_tokens moves', 'sessions moves', 'enrolled_servers moves', 'enrolments moves', 'instance_leases moves',
            'instance_modes moves', 'instances moves', 'instance_drains moves', 'kept_drains moves', 'agent_keys moves',
            'match_accepts moves', 'matches moves', 'ticket_players moves', 'tickets moves', 'settled_tickets moves', 'backfill_tickets moves',
            'backfills moves', 'player_avoids moves', 'player_latencies moves', 'stored_players moves', 'profile_versions moves', 'profiles moves',
            'session_history past', 'seat_history past', 'match_history past', 'ticket_history past', 'ticket_events past', 'instance_history past',
            'estimate_hours past',
            -- decisions and measures of this cell, which its log tells
            'events stays', 'recorded_events stays', 'minute_samples stays', 'request_minutes stays', 'player_refusals stays', 'history_starts stays',
            'deployment_history stays', 'evacuations stays', 'evacuated_players stays', 'evacuated_servers stays', 'erasures stays', 'erased_parties stays',
            -- of this cell as a whole, or of its processes
            'admissions stays', 'login_queues stays', 'login_queue_marks stays', 'valves stays', 'cells stays', 'cell_regions stays', 'region_moves stays',
            'region_move_marks stays', 'console_logouts stays', 'fleet_clock stays', 'installation stays', 'signing_keys stays', 'key_history stays',
            'process_reports stays', 'worker_loops stays', 'loop_workers stays', 'profile_owners stays', 'profile_stats stays', 'shadow_matches stays',
            'webhooks stays', 'webhook_deliveries stays', 'webhook_progress stays', 'replicas stays', 'region_beacons stays', 'goose_db_version stays',
            -- seconds old at most, or copied by other means: idempotency_keys and instance_directory when the region is flipped
            'demand stays', 'match_callers stays', 'match_cycles stays', 'match_proposals stays', 'idempotency_keys stays', 'instance_directory stays',
            -- a region that has one of these does not move: MoveObstacles
            'agents stays', 'agent_states stays', 'commands stays', 'rooms stays', 'app_versions stays', 'deployments stays', 'netcode_tokens stays',
            'pools stays', 'pool_modes stays', 'pool_schedules stays', 'pool_hours stays', 'pool_limits stays', 'provider_budgets stays', 'start_pauses stays',
            'projects stays', 'project_keys stays', 'lobbies stays', 'lobby_members stays', 'lobby_invitations stays', 'lobby_log stays',
            'lobby_outcomes stays', 'lobby_sayings stays', 'realtime_sessions stays', 'realtime_tickets stays', 'realtime_expired stays',
            'player_blocks stays', 'player_inboxes stays', 'player_messages stays']) t) x (n, v)
$$;

-- +goose StatementBegin
CREATE FUNCTION refuse_moving_region() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    written text := CASE TG_OP WHEN 'DELETE' THEN OLD.region ELSE NEW.region END;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('director.region_moves'), hashtext(written));
    IF region_refuses_writes(written) AND current_setting('director.deletes_region', true) IS DISTINCT FROM written THEN
        RAISE EXCEPTION 'region % moves to another cell', written USING ERRCODE = 'DR421';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION refuse_moving_region() IS 'Refuses rows of a region that moves: see region_moves. Its queries see what is committed after the statement began, and the lock keeps fence_region from committing before this transaction ends.';
-- +goose StatementBegin
CREATE FUNCTION add_move_fence(p_table text, p_region text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '250ms', true); -- writers queue behind us
    EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE ON %I FOR EACH ROW WHEN (NEW.region = %L) EXECUTE FUNCTION refuse_moving_region()',
        'region_' || p_region || '_moves', p_table, p_region);
    EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE DELETE ON %I FOR EACH ROW WHEN (OLD.region = %L) EXECUTE FUNCTION refuse_moving_region()',
        'region_' || p_region || '_stays', p_table, p_region);
END
$$;
CREATE FUNCTION drop_move_fence(p_table text, p_region text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '250ms', true);
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON %I', 'region_' || p_region || '_moves', p_table);
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON %I', 'region_' || p_region || '_stays', p_table);
END
$$;

CREATE FUNCTION count_region_rows(p_region text, p_most bigint) RETURNS TABLE (name text, rows bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT r.name FROM region_tables() r WHERE r.fate IN ('moves', 'past') ORDER BY r.place LOOP
        name := t.name;
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %I WHERE region = $1 LIMIT $2) x', t.name) INTO rows USING p_region, p_most;
        RETURN NEXT;
    END LOOP;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION count_region_rows(text, bigint) IS 'How many rows of the region each table has that moves, at most so many.';
-- +goose StatementBegin
CREATE FUNCTION delete_region_rows(p_table text, p_region text, p_batch integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    leaf    record;
    deleted integer;
BEGIN
    PERFORM set_config('director.deletes_region', p_region, true);
    FOR leaf IN SELECT c.oid::regclass AS name FROM pg_class c -- itself, or its partitions
        WHERE c.oid = quote_ident(p_table)::regclass AND c.relkind = 'r'
           OR c.oid IN (SELECT x.relid FROM pg_partition_tree(quote_ident(p_table)::regclass) x WHERE x.isleaf) ORDER BY 1 LOOP
        EXECUTE format('DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$s WHERE region = $1 LIMIT $2))', leaf.name) USING p_region, p_batch;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        IF deleted > 0 THEN
            RETURN deleted;
        END IF;
    END LOOP;
    RETURN 0;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION delete_region_rows(text, text, integer) IS 'Deletes a batch of rows of a region that the other cell serves, or that were copied in vain. Returns how many; 0: none are left.';

-- Publications, the slot and the subscription of a move have one name.
CREATE FUNCTION move_name(p_move uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'director_move_' || left(replace(p_move::text, '-', ''), 16)
$$;

CREATE FUNCTION source_obstacles() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT 'wal_level of the Postgres that the region leaves is ' || current_setting('wal_level') || ': set it to logical, and restart it' WHERE current_setting('wal_level') <> 'logical'
    UNION ALL SELECT 'the Postgres that the region leaves has no free replication slot: raise max_replication_slots, or drop one that nobody uses'
    WHERE (SELECT count(*) FROM pg_replication_slots) + 1 >= current_setting('max_replication_slots')::int
    UNION ALL SELECT 'role ' || current_user || ' may not replicate: ALTER ROLE … REPLICATION' FROM pg_roles r WHERE r.rolname = current_user AND NOT (r.rolsuper OR r.rolreplication)
    UNION ALL SELECT 'role ' || current_user || ' may not create publications: GRANT CREATE ON DATABASE' WHERE NOT has_database_privilege(current_database(), 'CREATE')
$$;
COMMENT ON FUNCTION source_obstacles() IS 'What this Postgres is not set up for if a region is to leave it.';
CREATE FUNCTION target_obstacles(p_region text, p_instances text[], p_sealed_by text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT 'role ' || current_user || ' of the other cell may not subscribe: it must be superuser, or since Postgres 16 a member of pg_create_subscription'
    FROM pg_roles r WHERE r.rolname = current_user AND NOT r.rolsuper
      AND NOT EXISTS (SELECT FROM pg_roles p WHERE p.rolname = 'pg_create_subscription' AND pg_has_role(p.oid, 'member'))
    UNION ALL SELECT 'the Postgres of the other cell runs no workers of replication: raise max_logical_replication_workers' WHERE current_setting('max_logical_replication_workers')::int < 2
    UNION ALL SELECT 'table ' || c.name || ' of the other cell has rows of the region: delete them' FROM count_region_rows(p_region, 1) c WHERE c.rows > 0
    UNION ALL SELECT 'the id of game server ' || d.instance_id || ' is in use in region ' || d.region || ' of the other cell' FROM instance_directory d
    WHERE d.instance_id = ANY (p_instances)
    UNION ALL SELECT 'the credentials of enrolled game servers need the key-encryption key ' || k.id || ', which no process of the other cell has' FROM unnest(p_sealed_by) k (id)
    WHERE NOT EXISTS (SELECT FROM process_reports p WHERE k.id = ANY (p.key_encryption_keys))
$$;
COMMENT ON FUNCTION target_obstacles(text, text[], text[]) IS 'What stands in the way of a region that is to arrive here, with these game servers, whose credentials need these key-encryption keys.';

CREATE FUNCTION has_move_slot(p_move uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM pg_replication_slots s WHERE s.slot_name = move_name(p_move))
$$;
COMMENT ON FUNCTION has_move_slot(uuid) IS 'Whether this Postgres keeps its log for the move.';
-- +goose StatementBegin
CREATE FUNCTION drop_move_slot(p_move uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_drop_replication_slot(s.slot_name) FROM pg_replication_slots s WHERE s.slot_name = move_name(p_move) AND NOT s.active;
    RETURN NOT has_move_slot(p_move);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION drop_move_slot(uuid) IS 'Drops the slot of a move, and returns whether it is gone: one that is in use stays, for a moment.';
CREATE FUNCTION move_lag(p_move uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)), 0)::bigint FROM pg_replication_slots s WHERE s.slot_name = move_name(p_move)
$$;
COMMENT ON FUNCTION move_lag(uuid) IS 'How many bytes of the log the other cell has not confirmed.';
CREATE FUNCTION hide_statements() RETURNS void LANGUAGE sql AS $$
    SELECT set_config(s.name, s.value, true) FROM (VALUES ('log_statement', 'none'), ('log_min_duration_statement', '-1'), ('log_min_duration_sample', '-1'),
        ('log_parameter_max_length_on_error', '0')) s (name, value) JOIN pg_roles r ON r.rolname = current_user AND r.rolsuper
$$;
COMMENT ON FUNCTION hide_statements() IS 'Keeps the statements of this transaction out of the log, where the role may: one has the password by which another cell connects.';

-- +goose StatementBegin
CREATE FUNCTION published_tables(p_region text, p_updates boolean) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT string_agg(format('%I (%s) WHERE (region = %L)', t.name, c.list, p_region), ', ' ORDER BY t.place)
    FROM (SELECT r.place, r.name, quote_ident(r.name)::regclass AS id FROM region_tables() r WHERE r.fate IN ('moves', 'past')
        UNION ALL SELECT 0, 'region_move_marks', 'region_move_marks'::regclass) t
    CROSS JOIN LATERAL ( -- numbers of transactions mean nothing in another database: its own come by default
        SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS list FROM pg_attribute a
        WHERE a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.atttypid <> 'xid8'::regtype) c
    WHERE p_updates = EXISTS ( -- a row filter on updates needs the region in the key
        SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = t.id AND i.indisprimary AND a.attname = 'region')
$$;
CREATE FUNCTION publish_region(p_move uuid, p_region text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_publication p WHERE p.pubname = move_name(p_move)) THEN
        RETURN; -- a new one would not be there yet in the log that the slot keeps
    END IF;
    EXECUTE format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish = ''insert, update, delete'', publish_via_partition_root = true)',
        move_name(p_move), published_tables(p_region, true));
    EXECUTE format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish = ''insert'', publish_via_partition_root = true)',
        move_name(p_move) || '_past', published_tables(p_region, false));
END
$$;
CREATE FUNCTION unpublish_region(p_move uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DROP PUBLICATION IF EXISTS %I, %I', move_name(p_move), move_name(p_move) || '_past');
END
$$;
CREATE FUNCTION subscribe_region(p_move uuid, p_connection text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
        WHERE d.datname = current_database() AND s.subname = move_name(p_move)) THEN
        EXECUTE format('CREATE SUBSCRIPTION %1$I CONNECTION %2$L PUBLICATION %1$I, %3$I WITH (create_slot = false, slot_name = %1$L)',
            move_name(p_move), p_connection, move_name(p_move) || '_past');
    END IF;
END
$$;
CREATE FUNCTION unsubscribe_region(p_move uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
        WHERE d.datname = current_database() AND s.subname = move_name(p_move)) THEN
        EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', move_name(p_move));
        EXECUTE format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', move_name(p_move));
        EXECUTE format('DROP SUBSCRIPTION %I', move_name(p_move));
    END IF;
END
$$;
CREATE FUNCTION copied_tables(p_move uuid, OUT tables integer, OUT copied integer, OUT failures bigint) LANGUAGE sql STABLE AS $$
    SELECT count(r.srrelid)::int, (count(*) FILTER (WHERE r.srsubstate = 'r'))::int,
           coalesce(max(f.apply_error_count + f.sync_error_count), 0)::bigint
    FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
    LEFT JOIN pg_subscription_rel r ON r.srsubid = s.oid LEFT JOIN pg_stat_subscription_stats f ON f.subid = s.oid
    WHERE d.datname = current_database() AND s.subname = move_name(p_move)
$$;
COMMENT ON FUNCTION copied_tables(uuid) IS 'How many tables the subscription of a move has, how many of them are copied and followed, and how often applying a change has failed.';

CREATE FUNCTION fence_region(p_move uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    m region_moves;
BEGIN
    SELECT * INTO m FROM region_moves r WHERE r.id = p_move AND r.direction = 'leaves' AND r.ended_at IS NULL;
    IF m.step = 'copying' THEN
        PERFORM set_config('lock_timeout', '500ms', true); -- calls about the region queue behind us
        PERFORM pg_advisory_xact_lock(hashtext('director.region_moves'), hashtext(m.region));
        UPDATE region_moves r SET step = 'fenced', fenced_at = clock_timestamp(), fences = r.fences + 1
        WHERE r.id = p_move AND r.step = 'copying' RETURNING r.* INTO m;
        INSERT INTO region_move_marks (move, fence, region) VALUES (m.id, m.fences, m.region);
    END IF;
    RETURN CASE WHEN m.step IN ('fenced', 'flipped') THEN m.fences ELSE 0 END;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION fence_region(uuid) IS 'From its commit on, nobody writes rows of the region here. It waits for transactions that do. Returns the number of the fence; 0: the move is at another step.';
-- +goose StatementBegin
CREATE FUNCTION serve_region(p_move uuid, p_fence integer, p_beacon text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    served text;
    taken  text;
BEGIN
    UPDATE region_moves m SET step = 'flipped', flipped_at = clock_timestamp()
    WHERE m.id = p_move AND m.direction = 'arrives' AND m.step = 'copying' AND m.ended_at IS NULL AND m.fences < p_fence
      AND EXISTS (SELECT FROM region_move_marks a WHERE a.move = p_move AND a.fence = p_fence) RETURNING m.region INTO served;
    IF served IS NULL THEN
        RETURN false;
    END IF;
    SELECT d.instance_id INTO taken FROM instance_directory d JOIN instances i ON i.region = served AND i.id = d.instance_id LIMIT 1;
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the id of game server % is also that of one of another region here', quote_literal(taken) USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    INSERT INTO instance_directory (instance_id, region, incarnation) SELECT i.id, i.region, i.incarnation FROM instances i WHERE i.region = served;
    -- A whole lease, within which game servers hear of the new address.
    UPDATE instance_leases l SET heartbeat_at = clock_timestamp() WHERE l.region = served;
    -- Those who follow the queue find all of it.
    UPDATE tickets t SET tx = pg_current_xact_id() WHERE t.region = served;
    UPDATE settled_tickets t SET tx = pg_current_xact_id() WHERE t.region = served;
    INSERT INTO region_beacons (region, url, set_by) SELECT served, p_beacon, acting_operator() WHERE p_beacon <> '' ON CONFLICT DO NOTHING;
    DELETE FROM cell_regions r WHERE r.region = served;
    INSERT INTO events (region, kind, actor, detail)
    SELECT served, 'region.arrived', acting_operator(), jsonb_build_object('cell', m.cell, 'move', m.id, 'reason', m.reason) FROM region_moves m WHERE m.id = p_move;
    PERFORM pg_notify('director', 'cells:');
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION serve_region(uuid, integer, text) IS 'From its commit on, this cell serves the region: the flip. It needs the mark of a fence that was not lifted.';
-- +goose StatementBegin
CREATE FUNCTION give_region_away(p_move uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    m region_moves;
BEGIN
    UPDATE region_moves u SET step = 'flipped', flipped_at = clock_timestamp()
    WHERE u.id = p_move AND u.direction = 'leaves' AND u.step = 'fenced' AND u.ended_at IS NULL RETURNING u.* INTO m;
    IF m.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM name_cell_of(m.region, m.cell, m.address);
    INSERT INTO events (region, kind, actor, detail) VALUES (m.region, 'region.left', acting_operator(), jsonb_build_object('cell', m.cell,
        'move', m.id, 'refused_ms', round(extract(epoch FROM m.flipped_at - m.fenced_at) * 1000), 'reason', m.reason));
    RETURN true;
END
$$;
CREATE FUNCTION name_cell_of(p_region text, p_cell text, p_address text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE cells IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO cells (cell, address, set_by) VALUES (p_cell, p_address, acting_operator()) ON CONFLICT ON CONSTRAINT cells_pkey DO NOTHING;
    INSERT INTO cell_regions (region, cell) VALUES (p_region, p_cell) ON CONFLICT ON CONSTRAINT cell_regions_pkey DO UPDATE SET cell = excluded.cell;
    PERFORM pg_notify('director', 'cells:');
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION name_cell_of(text, text, text) IS 'Says which other cell serves a region that moves, with its address if it is not listed yet.';

-- Workers leave a region alone that is between two cells: nobody may write it here.
CREATE OR REPLACE FUNCTION fleet_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE r AS (
        (SELECT region FROM instances ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM instances n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL AND NOT region_refuses_writes(region)
$$;
CREATE OR REPLACE FUNCTION ticket_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT u.region FROM (
        (WITH RECURSIVE r AS (
            (SELECT region FROM tickets ORDER BY region LIMIT 1)
            UNION ALL
            SELECT (SELECT n.region FROM tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
        SELECT region FROM r WHERE region IS NOT NULL)
        UNION
        (WITH RECURSIVE r AS (
            (SELECT region FROM settled_tickets ORDER BY region LIMIT 1)
            UNION ALL
            SELECT (SELECT n.region FROM settled_tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
        SELECT region FROM r WHERE region IS NOT NULL)
        UNION
        (WITH RECURSIVE r AS (
            (SELECT region FROM backfills ORDER BY region LIMIT 1)
            UNION ALL
            SELECT (SELECT n.region FROM backfills n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
        SELECT region FROM r WHERE region IS NOT NULL)) u
    WHERE NOT region_refuses_writes(u.region)
$$;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE FUNCTION ticket_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    (WITH RECURSIVE r AS (
        (SELECT region FROM tickets ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM settled_tickets ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM settled_tickets n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM backfills ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM backfills n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;
CREATE OR REPLACE FUNCTION fleet_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE r AS (
        (SELECT region FROM instances ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM instances n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL
$$;
DROP FUNCTION hide_statements, move_lag, drop_move_slot, has_move_slot, target_obstacles, source_obstacles;
DROP FUNCTION name_cell_of, give_region_away, serve_region, fence_region, copied_tables, unsubscribe_region, subscribe_region, unpublish_region,
    publish_region, published_tables, move_name, delete_region_rows, count_region_rows, drop_move_fence, add_move_fence;
DROP FUNCTION refuse_moving_region CASCADE;
DROP FUNCTION region_tables;
DROP FUNCTION region_refuses_writes;
DROP VIEW ops.region_moves;
DROP TABLE region_move_marks;
DROP TABLE region_moves;
