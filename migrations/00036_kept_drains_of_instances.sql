-- Drains that outlive the processes of game servers: of an instance, of a host, or of all that have a label, until an operator lifts them.
--
-- The trigger is the one place that honours them. An instance becomes ready by its registration, by its own end of a drain, when its
-- deployment is ready, and by binaries of the last release. The trigger runs only for statements that set the status, which placement never
-- does.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE instance_drains (
    region text NOT NULL,                 -- empty: every region
    target text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,     -- the id of the instance; the host of its endpoint; its label, as key=value
    actor  text NOT NULL,
    at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, target, value),
    CONSTRAINT a_drain_is_of_an_instance_a_host_or_a_label CHECK (target IN ('instance', 'host', 'label')),
    CONSTRAINT a_drain_of_an_instance_is_of_every_region CHECK (target <> 'instance' OR region = '')
);

-- Whether an instance drains only because an operator keeps it drained: it takes players again when that ends.
ALTER TABLE instances ADD COLUMN drain_kept boolean NOT NULL DEFAULT false;

-- +goose StatementBegin
CREATE FUNCTION endpoint_host(endpoint text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT lower(btrim((regexp_match(endpoint, '^(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:[^/@]*@)?(\[[^]]*\]|[^:/?#]*)'))[1], '[]'))
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION endpoint_host(text) IS 'The host of an endpoint, in lower case and without brackets.';

-- +goose StatementBegin
CREATE FUNCTION drain_keys(id text, endpoint text, labels jsonb) RETURNS TABLE (target text, value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'instance', drain_keys.id
    UNION ALL SELECT 'host', endpoint_host(drain_keys.endpoint)
    UNION ALL SELECT 'label', l.key || '=' || l.value FROM jsonb_each_text(drain_keys.labels) l
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION drain_keys(text, text, jsonb) IS 'The target and value of each drain that an instance obeys.';

-- +goose StatementBegin
CREATE FUNCTION kept_drains_of(i instances) RETURNS SETOF instance_drains LANGUAGE sql STABLE AS $$
    SELECT d.* FROM instance_drains d WHERE d.region IN ('', i.region) AND (d.target, d.value) IN (SELECT k.target, k.value FROM drain_keys(i.id, i.endpoint, i.labels) k)
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION kept_drains_of(instances) IS 'The drains that operators keep and that an instance obeys.';

-- Holds the shared lock, so that it cannot miss the drain of a host or a label that another transaction is inserting.
-- +goose StatementBegin
CREATE FUNCTION keep_instance_drained() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('director.instance_drains'));
    NEW.drain_kept := EXISTS (SELECT FROM kept_drains_of(NEW));
    IF NEW.drain_kept AND NEW.status = 'ready' THEN
        NEW.status := 'draining';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- The new incarnation of an instance is an INSERT first, whose row, as the first trigger left it, then updates the one that is there.
CREATE TRIGGER a_new_instance_that_is_kept_drained_is_not_ready BEFORE INSERT ON instances
FOR EACH ROW WHEN (NEW.status = 'ready') EXECUTE FUNCTION keep_instance_drained();
CREATE TRIGGER an_instance_that_is_kept_drained_is_not_ready BEFORE UPDATE OF status ON instances
FOR EACH ROW WHEN (NEW.status = 'ready' OR NEW.incarnation <> OLD.incarnation) EXECUTE FUNCTION keep_instance_drained();

-- The drain is kept whatever the instance does at the moment: also one that starts, has ended, or drains of itself. The lock of the directory
-- makes registrations of this id wait.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.set_draining(instance text, drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    home    text;
    row_now instances;
    changed boolean;
    other   instance_drains;
BEGIN
    SELECT d.region INTO home FROM instance_directory d WHERE d.instance_id = instance FOR NO KEY UPDATE;
    SELECT * INTO row_now FROM instances i WHERE i.region = home AND i.id = instance FOR NO KEY UPDATE;
    IF row_now.id IS NULL AND (drain OR NOT EXISTS (SELECT FROM instance_drains k WHERE k.target = 'instance' AND k.value = instance)) THEN
        RAISE EXCEPTION 'there is no instance %', coalesce(quote_literal(instance), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    IF drain THEN
        INSERT INTO instance_drains (region, target, value, actor) VALUES ('', 'instance', instance, acting_operator()) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM instance_drains k WHERE k.region = '' AND k.target = 'instance' AND k.value = instance;
    END IF;
    changed := FOUND;
    IF NOT drain AND row_now.status = 'draining' THEN
        SELECT k.* INTO other FROM kept_drains_of(row_now) k ORDER BY k.target, k.value LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'instance % stays draining: % keeps the % % drained', quote_literal(instance), other.actor, other.target, quote_literal(other.value)
                USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('ops.undrain_%s ends that.', other.target);
        ELSIF row_now.deployment_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM deployments d WHERE d.region = home AND d.id = row_now.deployment_id AND d.phase = 'ready' AND d.desired = 'running') THEN
            RAISE EXCEPTION 'the deployment of instance % ends', quote_literal(instance) USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
    ELSIF NOT drain AND NOT changed AND row_now.status IN ('starting', 'gone') THEN
        RAISE EXCEPTION 'instance % is %', quote_literal(instance), row_now.status USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;

    UPDATE instances i SET status = CASE WHEN drain THEN 'draining' ELSE 'ready' END, drain_kept = drain
    WHERE i.region = home AND i.id = instance AND i.status = CASE WHEN drain THEN 'ready' ELSE 'draining' END;
    IF FOUND THEN
        changed := true;
        PERFORM refresh_shares(home, ARRAY[instance]);
    END IF;
    IF changed THEN
        INSERT INTO events (region, kind, actor, instance_id)
        VALUES (coalesce(home, ''), CASE WHEN drain THEN 'instance.drained' ELSE 'instance.undrained' END, acting_operator(), instance);
    END IF;
    RETURN changed;
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION ops.drain(text) IS 'Lets no new player onto the instance until ops.undrain, also after it restarts; its sessions go on. Answers whether that changed anything.';
COMMENT ON FUNCTION ops.undrain(text) IS 'Lets players onto a draining instance again, and ends a drain of ops.drain. Answers whether that changed anything.';

-- Instances are locked before the exclusive lock, because a transaction in the trigger holds its instance and waits for the shared lock. Those
-- that registered in between are seen after the exclusive lock. The timeout is for a forgotten transaction: registrations wait for it.
-- +goose StatementBegin
CREATE FUNCTION ops.set_group_draining(p_region text, p_target text, p_value text, p_drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    changed     boolean;
    group_value text := CASE p_target WHEN 'host' THEN lower(btrim(p_value, '[] ')) ELSE p_value END;
    turned      instances;
BEGIN
    IF coalesce(group_value, '') = '' OR length(group_value) > 500
        OR (CASE p_target WHEN 'host' THEN endpoint_host(CASE WHEN group_value ~ ':.*:' THEN '[' || group_value || ']' ELSE group_value END) <> group_value
                          ELSE group_value !~ '^[^=]+=' END) THEN
        RAISE EXCEPTION '% must be %', p_target, CASE p_target WHEN 'host' THEN 'the host of an endpoint, without its port' ELSE 'key=value' END
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
    PERFORM FROM instances i WHERE (coalesce(p_region, '') IN ('', i.region)) AND i.status <> 'gone'
        AND (p_target, group_value) IN (SELECT k.target, k.value FROM drain_keys(i.id, i.endpoint, i.labels) k) ORDER BY i.region, i.id FOR NO KEY UPDATE;
    PERFORM pg_advisory_xact_lock(hashtext('director.instance_drains'));
    IF p_drain THEN
        INSERT INTO instance_drains (region, target, value, actor) VALUES (coalesce(p_region, ''), p_target, group_value, acting_operator()) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM instance_drains k WHERE k.region = coalesce(p_region, '') AND k.target = p_target AND k.value = group_value;
    END IF;
    changed := FOUND;
    IF NOT changed THEN
        RETURN false;
    END IF;
    INSERT INTO events (region, kind, actor, detail) VALUES (coalesce(p_region, ''), CASE WHEN p_drain THEN 'drain.kept' ELSE 'drain.ended' END, acting_operator(),
        jsonb_build_object(p_target, group_value));
    FOR turned IN
        UPDATE instances i SET status = CASE WHEN p_drain THEN 'draining' ELSE 'ready' END, drain_kept = p_drain
        WHERE coalesce(p_region, '') IN ('', i.region) AND (p_target, group_value) IN (SELECT k.target, k.value FROM drain_keys(i.id, i.endpoint, i.labels) k)
          AND CASE WHEN p_drain THEN i.status = 'ready' ELSE i.status = 'draining' AND i.drain_kept AND NOT EXISTS (SELECT FROM kept_drains_of(i))
              AND (i.deployment_id IS NULL OR EXISTS (
                  SELECT FROM deployments d WHERE d.region = i.region AND d.id = i.deployment_id AND d.phase = 'ready' AND d.desired = 'running')) END
        RETURNING i.*
    LOOP
        PERFORM refresh_shares(turned.region, ARRAY[turned.id]);
        INSERT INTO events (region, kind, actor, instance_id, detail)
        VALUES (turned.region, CASE WHEN p_drain THEN 'instance.drained' ELSE 'instance.undrained' END, acting_operator(), turned.id,
            jsonb_build_object(p_target, group_value));
    END LOOP;
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_group_draining(text, text, text, boolean) IS 'The common part of the functions that drain hosts and labels.';

CREATE FUNCTION ops.drain_host(host text, region text DEFAULT '') RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(drain_host.region, 'host', host, true) $$;
CREATE FUNCTION ops.undrain_host(host text, region text DEFAULT '') RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(undrain_host.region, 'host', host, false) $$;
CREATE FUNCTION ops.drain_label(label text, region text DEFAULT '') RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(drain_label.region, 'label', label, true) $$;
CREATE FUNCTION ops.undrain_label(label text, region text DEFAULT '') RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(undrain_label.region, 'label', label, false) $$;
COMMENT ON FUNCTION ops.drain_host(text, text) IS 'Lets no new player onto the instances whose endpoint has this host, in a region or, without one, in all, until ops.undrain_host: those that run, and those that register later. Returns whether this changed anything.';
COMMENT ON FUNCTION ops.undrain_host(text, text) IS 'Ends a drain of ops.drain_host with the same host and region. Instances that drain for another reason go on draining. Returns whether this changed anything.';
COMMENT ON FUNCTION ops.drain_label(text, text) IS 'Lets no new player onto the instances that have this label, given as key=value, as ops.drain_host does.';
COMMENT ON FUNCTION ops.undrain_label(text, text) IS 'Ends a drain of ops.drain_label with the same label and region, as ops.undrain_host does.';
REVOKE EXECUTE ON FUNCTION ops.set_group_draining, ops.drain_host, ops.undrain_host, ops.drain_label, ops.undrain_label FROM PUBLIC;

CREATE VIEW ops.drains AS
WITH obeying AS (
    SELECT i.region, k.target, k.value FROM instances i CROSS JOIN LATERAL drain_keys(i.id, i.endpoint, i.labels) AS k (target, value) WHERE i.status <> 'gone')
SELECT d.region, d.target, d.value, d.actor, d.at AS since, statement_timestamp() - d.at AS age, count(o.region) AS instances
FROM instance_drains d
LEFT JOIN obeying o ON o.target = d.target AND o.value = d.value AND d.region IN ('', o.region)
GROUP BY d.region, d.target, d.value, d.actor, d.at
UNION ALL
SELECT k.region, 'rivalis', k.name || ' ' || k.endpoint, k.actor, k.at, statement_timestamp() - k.at,
       (SELECT count(*) FROM agents a JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id
        WHERE a.region = k.region AND a.name = k.name AND a.endpoint = k.endpoint AND s.left_at IS NULL)
FROM kept_drains k;
COMMENT ON VIEW ops.drains IS 'The drains that operators keep: they outlive the processes of game servers.';
COMMENT ON COLUMN ops.drains.region IS 'The region in which it holds; empty: in all.';
COMMENT ON COLUMN ops.drains.target IS 'What it is of: instance (ops.undrain ends it), host (ops.undrain_host), label (ops.undrain_label), or rivalis, a Rivalis game server (ops.undrain_agent, or POST /v1/instances/{id}/undrain?keep=true).';
COMMENT ON COLUMN ops.drains.value IS 'The id of the instance, the host, the label as key=value, or the name and endpoint of the Rivalis game server.';
COMMENT ON COLUMN ops.drains.actor IS 'Who gave it.';
COMMENT ON COLUMN ops.drains.since IS 'When it was given.';
COMMENT ON COLUMN ops.drains.age IS 'How long ago that is.';
COMMENT ON COLUMN ops.drains.instances IS 'How many game servers that have not ended obey it; 0: perhaps it was forgotten.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.drains;
DROP FUNCTION ops.drain_host, ops.undrain_host, ops.drain_label, ops.undrain_label, ops.set_group_draining;
DROP TRIGGER a_new_instance_that_is_kept_drained_is_not_ready ON instances;
DROP TRIGGER an_instance_that_is_kept_drained_is_not_ready ON instances;
DROP FUNCTION keep_instance_drained, kept_drains_of, drain_keys, endpoint_host;
ALTER TABLE instances DROP COLUMN drain_kept;
DROP TABLE instance_drains;
COMMENT ON FUNCTION ops.drain(text) IS 'Lets no new player onto the instance; its sessions go on. Answers whether that changed anything.';
COMMENT ON FUNCTION ops.undrain(text) IS 'Lets players onto a draining instance again. Answers whether that changed anything.';
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.set_draining(instance text, drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    home   text;
    owned  uuid; -- by which deployment
    is_now text;
    wanted text := CASE WHEN drain THEN 'draining' ELSE 'ready' END;
BEGIN
    SELECT d.region INTO home FROM instance_directory d WHERE d.instance_id = instance;
    SELECT i.status, i.deployment_id INTO is_now, owned FROM instances i WHERE i.region = home AND i.id = instance FOR NO KEY UPDATE;
    IF is_now IS NULL THEN
        RAISE EXCEPTION 'there is no instance %', coalesce(quote_literal(instance), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF is_now = 'gone' THEN
        RAISE EXCEPTION 'instance % is gone', quote_literal(instance) USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF is_now = wanted THEN
        RETURN false;
    ELSIF is_now = 'starting' THEN
        RAISE EXCEPTION 'instance % is starting', quote_literal(instance)
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'ops.stop_deployment ends it.';
    ELSIF NOT drain AND owned IS NOT NULL AND NOT EXISTS (
        SELECT FROM deployments d WHERE d.region = home AND d.id = owned AND d.phase = 'ready' AND d.desired = 'running') THEN
        RAISE EXCEPTION 'the deployment of instance % ends', quote_literal(instance) USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;

    UPDATE instances i SET status = wanted WHERE i.region = home AND i.id = instance;
    PERFORM refresh_shares(home, ARRAY[instance]);
    INSERT INTO events (region, kind, actor, instance_id)
    VALUES (home, CASE WHEN drain THEN 'instance.drained' ELSE 'instance.undrained' END, acting_operator(), instance);
    RETURN true;
END
$$;
-- +goose StatementEnd
