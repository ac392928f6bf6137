-- Views of pools and deployments for operators, functions that scale pools and stop deployments, and their invariants.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE VIEW ops.pools AS
SELECT p.region, p.app, p.version, v.provider,
       ARRAY(SELECT m.mode FROM pool_modes m WHERE m.region = p.region AND m.app = p.app AND m.version = p.version ORDER BY m.mode) AS modes,
       CASE WHEN p.paused_until > statement_timestamp() THEN 'paused' WHEN v.paused_until > statement_timestamp() THEN 'version paused'
            WHEN p.max_servers = 0 THEN 'off' WHEN d.servers >= p.max_servers THEN 'full' ELSE 'active' END AS state,
       d.servers, d.starting, d.ready, d.busy, d.ending, w.waiting AS waiting_players, p.min_servers AS min, p.max_servers AS max,
       p.buffer || CASE WHEN p.buffer_percent THEN '%' ELSE '' END AS buffer, p.max_starting, p.empty_ttl,
       greatest(CASE WHEN p.paused_until > statement_timestamp() THEN p.paused_until END, CASE WHEN v.paused_until > statement_timestamp() THEN v.paused_until END) AS paused_until,
       CASE WHEN p.paused_until > statement_timestamp() THEN p.pause_reason WHEN v.paused_until > statement_timestamp() THEN v.pause_reason END AS pause_reason,
       p.last_plan ->> 'text' AS plan, CASE WHEN isfinite(p.planned_at) THEN p.planned_at END AS planned_at
FROM pools p
JOIN app_versions v ON v.app = p.app AND v.version = p.version
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting', 'ready')) AS servers,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting')) AS starting,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready') AS ready,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready' AND i.open_sessions > 0) AS busy,
           count(*) FILTER (WHERE x.desired = 'stopped' OR x.phase IN ('draining', 'failed', 'stopping')) AS ending
    FROM deployments x LEFT JOIN instances i ON i.region = x.region AND i.id = x.id::text AND i.status <> 'gone'
    WHERE x.region = p.region AND x.app = p.app AND x.version = p.version) d
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n.players), 0)::bigint AS waiting FROM pool_modes m JOIN demand n ON n.region = m.region AND n.mode = m.mode
    WHERE m.region = p.region AND m.app = p.app AND m.version = p.version AND (n.expires_at IS NULL OR n.expires_at > statement_timestamp())) w;
COMMENT ON VIEW ops.pools IS 'Pools: how many servers of an app version a region may have, and has.';
COMMENT ON COLUMN ops.pools.region IS 'The region.';
COMMENT ON COLUMN ops.pools.app IS 'The app.';
COMMENT ON COLUMN ops.pools.version IS 'Its version.';
COMMENT ON COLUMN ops.pools.provider IS 'The provider that runs the servers: process, docker, edgegap, agones or manual.';
COMMENT ON COLUMN ops.pools.modes IS 'The modes for which servers are started; a mode belongs to one pool of a region. A pool without modes starts none.';
COMMENT ON COLUMN ops.pools.state IS 'active; full: it has max servers; off: max is 0; paused: by an operator, or because the provider had no capacity; version paused: servers of the version failed, in any region.';
COMMENT ON COLUMN ops.pools.servers IS 'Servers that are wanted, starting or ready.';
COMMENT ON COLUMN ops.pools.starting IS 'Servers that are wanted or starting, and not ready yet.';
COMMENT ON COLUMN ops.pools.ready IS 'Servers that are ready.';
COMMENT ON COLUMN ops.pools.busy IS 'Ready servers with an open session.';
COMMENT ON COLUMN ops.pools.ending IS 'Servers that drain, failed or stop: they may still cost money.';
COMMENT ON COLUMN ops.pools.waiting_players IS 'Players who wait for a server of its modes.';
COMMENT ON COLUMN ops.pools.min IS 'The number of servers that run whether players need them or not.';
COMMENT ON COLUMN ops.pools.max IS 'The most servers that it may have.';
COMMENT ON COLUMN ops.pools.buffer IS 'The number of ready servers without players, or a share of all servers.';
COMMENT ON COLUMN ops.pools.max_starting IS 'The most servers that start at the same time.';
COMMENT ON COLUMN ops.pools.empty_ttl IS 'How long a surplus server must have been empty before it ends.';
COMMENT ON COLUMN ops.pools.paused_until IS 'When the pause of the pool or of its version ends; in the year 9999: when an operator resumes it. NULL: there is no pause.';
COMMENT ON COLUMN ops.pools.pause_reason IS 'Why it is paused.';
COMMENT ON COLUMN ops.pools.plan IS 'The last plan in words: how many servers are needed, and how many start or end.';
COMMENT ON COLUMN ops.pools.planned_at IS 'When the last plan was made. If older than a few seconds, no worker with providers runs.';

CREATE VIEW ops.deployments AS
SELECT d.region, d.id AS deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, d.ref, d.tag, d.location, d.endpoint,
       coalesce(i.open_sessions, 0) AS open_sessions, coalesce(i.reserved_seats, 0) AS reserved_seats, statement_timestamp() - d.created_at AS age, d.created_at, d.attempt AS attempts, d.intent_at,
       d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at, d.next_at, d.boots, d.reason, d.last_error
FROM deployments d LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone';
COMMENT ON VIEW ops.deployments IS 'Game servers that providers run for the director, until nothing of them is left at the provider.';
COMMENT ON COLUMN ops.deployments.region IS 'The region.';
COMMENT ON COLUMN ops.deployments.deployment IS 'Its id, the argument of ops.stop_deployment, and the id of its instance in ops.fleet.';
COMMENT ON COLUMN ops.deployments.app IS 'The app.';
COMMENT ON COLUMN ops.deployments.version IS 'Its version.';
COMMENT ON COLUMN ops.deployments.provider IS 'The provider that runs it.';
COMMENT ON COLUMN ops.deployments.phase IS 'wanted, deploying (the provider is being asked), starting (it runs or will), ready (players may be placed on it), draining (no new players), failed, or stopping.';
COMMENT ON COLUMN ops.deployments.desired IS 'running; or stopped: the director ends it.';
COMMENT ON COLUMN ops.deployments.origin IS 'pool, or operator: started by hand.';
COMMENT ON COLUMN ops.deployments.ref IS 'The name that the provider gave it, once it is known.';
COMMENT ON COLUMN ops.deployments.tag IS 'The random name that the director gave it, by which it is found at the provider.';
COMMENT ON COLUMN ops.deployments.location IS 'The location, in the words of the provider.';
COMMENT ON COLUMN ops.deployments.endpoint IS 'Where players connect.';
COMMENT ON COLUMN ops.deployments.open_sessions IS 'Sessions that it hosts.';
COMMENT ON COLUMN ops.deployments.reserved_seats IS 'Seats that are reserved in these sessions.';
COMMENT ON COLUMN ops.deployments.age IS 'The time since created_at.';
COMMENT ON COLUMN ops.deployments.created_at IS 'When it was decided to start it.';
COMMENT ON COLUMN ops.deployments.attempts IS 'How often the provider was asked to start it.';
COMMENT ON COLUMN ops.deployments.intent_at IS 'When the provider was last asked to start it.';
COMMENT ON COLUMN ops.deployments.provider_ready_at IS 'When the provider said that it is ready.';
COMMENT ON COLUMN ops.deployments.registered_at IS 'When the game server registered.';
COMMENT ON COLUMN ops.deployments.ready_at IS 'When players could first be placed on it.';
COMMENT ON COLUMN ops.deployments.lost_at IS 'When the lease of its instance expired; NULL while it is live.';
COMMENT ON COLUMN ops.deployments.drain_at IS 'When it stops getting new players.';
COMMENT ON COLUMN ops.deployments.ends_at IS 'When its lifetime ends.';
COMMENT ON COLUMN ops.deployments.stop_at IS 'When it was decided to end it.';
COMMENT ON COLUMN ops.deployments.next_at IS 'When a worker makes the next step; NULL: only when an event makes it due.';
COMMENT ON COLUMN ops.deployments.boots IS 'How often its process has started within ten minutes. With more than five starts it fails.';
COMMENT ON COLUMN ops.deployments.reason IS 'Why it ends.';
COMMENT ON COLUMN ops.deployments.last_error IS 'The last error of the provider.';

CREATE VIEW ops.deployment_outcomes AS
SELECT date_bin('1 minute', h.gone_at, timestamptz 'epoch') AS minute, h.region, h.app, h.version, h.provider, coalesce(h.reason, '') AS reason, count(*) AS servers,
       count(h.ready_at) AS were_ready,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM h.ready_at - h.created_at))::double precision AS ready_p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM h.ready_at - h.created_at))::double precision AS ready_p95,
       coalesce(sum(extract(epoch FROM h.gone_at - coalesce(h.provider_ready_at, h.gone_at))), 0)::double precision AS server_seconds, max(h.last_error) AS last_error
FROM deployment_history h
WHERE h.gone_at >= now() - interval '24 hours'
GROUP BY 1, 2, 3, 4, 5, 6;
COMMENT ON VIEW ops.deployment_outcomes IS 'Deployments that ended, by minute, over the last 24 hours: why, and how long they took to become ready.';
COMMENT ON COLUMN ops.deployment_outcomes.minute IS 'The minute in which they ended at the provider.';
COMMENT ON COLUMN ops.deployment_outcomes.region IS 'The region.';
COMMENT ON COLUMN ops.deployment_outcomes.app IS 'The app.';
COMMENT ON COLUMN ops.deployment_outcomes.version IS 'Its version.';
COMMENT ON COLUMN ops.deployment_outcomes.provider IS 'The provider that ran them.';
COMMENT ON COLUMN ops.deployment_outcomes.reason IS 'Why they ended.';
COMMENT ON COLUMN ops.deployment_outcomes.servers IS 'The number of deployments.';
COMMENT ON COLUMN ops.deployment_outcomes.were_ready IS 'The number of deployments that had become ready; the others never hosted a player.';
COMMENT ON COLUMN ops.deployment_outcomes.ready_p50 IS 'The median time in seconds from the decision to start one until it was ready; NULL if none was.';
COMMENT ON COLUMN ops.deployment_outcomes.ready_p95 IS 'The 95th percentile of this time.';
COMMENT ON COLUMN ops.deployment_outcomes.server_seconds IS 'The seconds that they ran at the provider, summed up: roughly what it charges for.';
COMMENT ON COLUMN ops.deployment_outcomes.last_error IS 'An error of the provider about one of them; NULL: none.';

CREATE VIEW ops.provider_budgets AS
SELECT b.provider, b.class, b.tokens, b.refilled_at, b.blocked_until, coalesce(b.blocked_until > statement_timestamp(), false) AS blocked
FROM provider_budgets b WHERE b.class <> 'sweep'; -- that row says when the next sweep is due
COMMENT ON VIEW ops.provider_budgets IS 'How many calls to providers all workers together may make.';
COMMENT ON COLUMN ops.provider_budgets.provider IS 'The provider.';
COMMENT ON COLUMN ops.provider_budgets.class IS 'The class of calls: deploy, get, list or stop.';
COMMENT ON COLUMN ops.provider_budgets.tokens IS 'The calls that were left at refilled_at; the budget refills over time.';
COMMENT ON COLUMN ops.provider_budgets.refilled_at IS 'When a worker last took calls from the budget.';
COMMENT ON COLUMN ops.provider_budgets.blocked_until IS 'When the last pause that the provider asked for ends.';
COMMENT ON COLUMN ops.provider_budgets.blocked IS 'Whether this pause still lasts.';

-- As in 00003, but not against what a deployment does: its instance gets no players before it is ready, and none once it ends.
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
    VALUES (home, CASE WHEN drain THEN 'instance.drained' ELSE 'instance.undrained' END, 'sql:' || session_user, instance);
    RETURN true;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ops.stop_deployment(deployment uuid, reason text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    home text;
BEGIN
    IF coalesce(btrim(stop_deployment.reason), '') = '' OR length(stop_deployment.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the deployment is stopped' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT d.region INTO home FROM provision_regions() r(region) JOIN deployments d ON d.region = r.region AND d.id = deployment;
    IF home IS NULL THEN
        RAISE EXCEPTION 'there is no deployment %', coalesce(quote_literal(deployment), 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Those that are gone are counted in ops.deployment_outcomes.';
    END IF;
    RETURN stop_deployment(home, deployment, stop_deployment.reason, now(), 'sql:' || session_user);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.stop_deployment(uuid, text) IS 'Ends a deployment; its sessions close when its server ends. Its pool starts another server if players need one. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.scale_pool(region text, app text, version text, min integer, max integer) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was pools;
    least_servers integer;
    most_servers  integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.pools'));
    SELECT * INTO was FROM pools p WHERE p.region = scale_pool.region AND p.app = scale_pool.app AND p.version = scale_pool.version FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no pool % of % in region %', coalesce(quote_literal(version), 'NULL'), coalesce(quote_literal(app), 'NULL'),
            coalesce(quote_literal(region), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    least_servers := coalesce(min, was.min_servers);
    most_servers := coalesce(max, was.max_servers);
    IF least_servers < 0 OR least_servers > most_servers OR most_servers > 100000 THEN
        RAISE EXCEPTION 'min % and max % do not fit: 0 <= min <= max <= 100000', least_servers, most_servers USING ERRCODE = 'invalid_parameter_value';
    ELSIF (least_servers, most_servers) = (was.min_servers, was.max_servers) THEN
        RETURN false;
    END IF;
    UPDATE pools p SET min_servers = least_servers, max_servers = most_servers
    WHERE p.region = was.region AND p.app = was.app AND p.version = was.version;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'pool.scaled', 'sql:' || session_user,
        jsonb_build_object('app', was.app, 'version', was.version, 'min', least_servers, 'max', most_servers));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.scale_pool(text, text, text, integer, integer) IS 'Changes the least and the most servers of a pool; NULL keeps a number. Returns whether this changed anything.';

REVOKE EXECUTE ON FUNCTION ops.stop_deployment, ops.scale_pool FROM PUBLIC;

CREATE VIEW ops.invariant_instance_of_gone_deployment AS
SELECT i.region, i.id AS instance, i.status, i.registered_at
FROM instances i CROSS JOIN fleet_clock f
WHERE i.deployment_id IS NOT NULL AND i.status <> 'gone' AND i.registered_at < statement_timestamp() - f.lease_ttl
  AND NOT EXISTS (SELECT FROM deployments d WHERE d.region = i.region AND d.id = i.deployment_id);
COMMENT ON VIEW ops.invariant_instance_of_gone_deployment IS 'Instances that count as live although their deployment is gone.';
COMMENT ON COLUMN ops.invariant_instance_of_gone_deployment.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_instance_of_gone_deployment.instance IS 'The instance, whose id is that of the deployment.';
COMMENT ON COLUMN ops.invariant_instance_of_gone_deployment.status IS 'Its status.';
COMMENT ON COLUMN ops.invariant_instance_of_gone_deployment.registered_at IS 'When it registered.';

CREATE VIEW ops.invariant_ready_without_endpoint AS
SELECT d.region, d.id AS deployment, coalesce(i.status, 'absent') AS instance_status, d.ready_at
FROM deployments d LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone'
WHERE d.phase = 'ready' AND (coalesce(d.endpoint, '') = '' OR i.status = 'starting' OR i.status = 'ready' AND i.endpoint = '');
COMMENT ON VIEW ops.invariant_ready_without_endpoint IS 'Deployments that are ready although players could not connect: there is no endpoint, or the instance is still starting.';
COMMENT ON COLUMN ops.invariant_ready_without_endpoint.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_ready_without_endpoint.deployment IS 'The deployment.';
COMMENT ON COLUMN ops.invariant_ready_without_endpoint.instance_status IS 'The status of its instance.';
COMMENT ON COLUMN ops.invariant_ready_without_endpoint.ready_at IS 'When it became ready.';

CREATE VIEW ops.invariant_deployment_past_its_end AS
SELECT d.region, d.id AS deployment, d.provider, d.phase, d.ends_at, d.last_error
FROM deployments d WHERE d.ends_at < statement_timestamp() - interval '15 minutes';
COMMENT ON VIEW ops.invariant_deployment_past_its_end IS 'Deployments that are not gone although their lifetime ended 15 minutes ago: no worker with their provider runs, the provider cannot be reached, or there is a bug.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.deployment IS 'The deployment.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.provider IS 'The provider that runs it.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.phase IS 'Its phase.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.ends_at IS 'When its lifetime ended.';
COMMENT ON COLUMN ops.invariant_deployment_past_its_end.last_error IS 'The last error of the provider.';

CREATE VIEW ops.invariant_deployment_never_gone AS
SELECT d.region, d.id AS deployment, d.provider, d.phase, d.stop_at, d.last_error
FROM deployments d JOIN app_versions v ON v.app = d.app AND v.version = d.version
WHERE d.stop_at < statement_timestamp() - v.grace - interval '15 minutes';
COMMENT ON VIEW ops.invariant_deployment_never_gone IS 'Deployments that are not gone 15 minutes after the end of their grace: they may cost money.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.deployment IS 'The deployment.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.provider IS 'The provider that runs it.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.phase IS 'Its phase.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.stop_at IS 'When it was decided to end it.';
COMMENT ON COLUMN ops.invariant_deployment_never_gone.last_error IS 'The last error of the provider.';

CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places
UNION ALL SELECT 'ticket in two matches', count(*) FROM ops.invariant_ticket_in_two_matches
UNION ALL SELECT 'assigned without seat', count(*) FROM ops.invariant_assigned_without_seat
UNION ALL SELECT 'seat without match', count(*) FROM ops.invariant_seat_without_match
UNION ALL SELECT 'matched never assigned', count(*) FROM ops.invariant_matched_never_assigned
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice
UNION ALL SELECT 'agent count drift', count(*) FROM ops.invariant_agent_count_drift
UNION ALL SELECT 'room without agent', count(*) FROM ops.invariant_room_without_agent
UNION ALL SELECT 'command never settled', count(*) FROM ops.invariant_command_never_settled
UNION ALL SELECT 'instance of gone deployment', count(*) FROM ops.invariant_instance_of_gone_deployment
UNION ALL SELECT 'ready without endpoint', count(*) FROM ops.invariant_ready_without_endpoint
UNION ALL SELECT 'deployment past its end', count(*) FROM ops.invariant_deployment_past_its_end
UNION ALL SELECT 'deployment never gone', count(*) FROM ops.invariant_deployment_never_gone;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places
UNION ALL SELECT 'ticket in two matches', count(*) FROM ops.invariant_ticket_in_two_matches
UNION ALL SELECT 'assigned without seat', count(*) FROM ops.invariant_assigned_without_seat
UNION ALL SELECT 'seat without match', count(*) FROM ops.invariant_seat_without_match
UNION ALL SELECT 'matched never assigned', count(*) FROM ops.invariant_matched_never_assigned
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice
UNION ALL SELECT 'agent count drift', count(*) FROM ops.invariant_agent_count_drift
UNION ALL SELECT 'room without agent', count(*) FROM ops.invariant_room_without_agent
UNION ALL SELECT 'command never settled', count(*) FROM ops.invariant_command_never_settled;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.set_draining(instance text, drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    home   text;
    is_now text;
    wanted text := CASE WHEN drain THEN 'draining' ELSE 'ready' END;
BEGIN
    SELECT d.region INTO home FROM instance_directory d WHERE d.instance_id = instance;
    SELECT i.status INTO is_now FROM instances i WHERE i.region = home AND i.id = instance FOR NO KEY UPDATE;
    IF is_now IS NULL THEN
        RAISE EXCEPTION 'there is no instance %', coalesce(quote_literal(instance), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF is_now = 'gone' THEN
        RAISE EXCEPTION 'instance % is gone', quote_literal(instance) USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF is_now = wanted THEN
        RETURN false;
    END IF;

    UPDATE instances i SET status = wanted WHERE i.region = home AND i.id = instance;
    PERFORM refresh_shares(home, ARRAY[instance]);
    INSERT INTO events (region, kind, actor, instance_id)
    VALUES (home, CASE WHEN drain THEN 'instance.drained' ELSE 'instance.undrained' END, 'sql:' || session_user, instance);
    RETURN true;
END
$$;
-- +goose StatementEnd
DROP VIEW ops.invariant_deployment_never_gone, ops.invariant_deployment_past_its_end, ops.invariant_ready_without_endpoint,
    ops.invariant_instance_of_gone_deployment, ops.provider_budgets, ops.deployment_outcomes, ops.deployments, ops.pools;
DROP FUNCTION ops.scale_pool, ops.stop_deployment;
