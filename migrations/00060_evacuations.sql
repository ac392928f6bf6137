-- Evacuations: the players of game servers that are lost, or have to go, wait or play elsewhere. And drains of whole regions.
--
-- ops.evacuate drains the game servers and writes down which they are. Workers do the rest, in bounded transactions: sessions close, and their
-- players are rows of evacuated_players from that commit on, so that a worker that dies loses nobody; then a transaction for each batch of tickets
-- queues the parties again and says so in the same rows. One transaction at a time works on an evacuation: it holds its row. Lock order: the row of
-- evacuations comes before everything in 00017_director_loop.sql, evacuated_servers and evacuated_players come after it.
--
-- Releases before this one neither read nor write the tables. They honour the drain of a region, since the trigger of 00036 does.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE evacuations (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    target     text NOT NULL,
    value      text NOT NULL,                  -- as in instance_drains
    region     text NOT NULL,                  -- empty: every region
    requeue    boolean NOT NULL,               -- whether the players wait or play elsewhere; else they only lose their seats
    dead       boolean NOT NULL,               -- whether game servers that still report end as well
    seats_in   text NOT NULL,                  -- the region where players without a ticket get seats; empty: where they had them
    lost_since timestamptz NOT NULL,           -- players of sessions count that closed since then because their game server was lost
    actor      text NOT NULL,
    reason     text NOT NULL,
    begun_at   timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    CONSTRAINT an_evacuation_is_of_a_region_a_host_or_a_label CHECK (target IN ('region', 'host', 'label')),
    CONSTRAINT the_reason_of_an_evacuation_is_short CHECK (length(reason) <= 500)
);
CREATE UNIQUE INDEX a_target_is_evacuated_once_at_a_time ON evacuations (target, value, region) WHERE ended_at IS NULL;
CREATE INDEX evacuations_by_time ON evacuations (begun_at);

CREATE TABLE evacuated_servers (
    region      text NOT NULL,
    evacuation  uuid NOT NULL REFERENCES evacuations,
    instance_id text NOT NULL,
    was_alive   boolean NOT NULL,              -- its lease held when the evacuation began
    ended       boolean NOT NULL DEFAULT false, -- the evacuation has ended it
    emptied_at  timestamptz,
    PRIMARY KEY (region, evacuation, instance_id)
);
CREATE INDEX servers_of_an_evacuation ON evacuated_servers (evacuation) WHERE emptied_at IS NULL;

-- The key is the seat: nobody is evacuated from a seat twice. waited is how long the player had waited for the match, and missing while the history
-- of the ticket is not written yet. A player without a ticket had got the seat by POST /matchmake.
CREATE TABLE evacuated_players (
    region       text NOT NULL,
    session_id   uuid NOT NULL,
    sub          text COLLATE "C" NOT NULL,
    evacuation   uuid NOT NULL REFERENCES evacuations,
    instance_id  text NOT NULL,
    mode         text NOT NULL,
    max_players  integer NOT NULL,
    party        uuid NOT NULL,
    reserved_by  text NOT NULL,
    seated_at    timestamptz NOT NULL,
    universe     text NOT NULL,                -- of the ticket; empty: there is none
    ticket       text COLLATE "C" NOT NULL,    -- empty: there is none
    waited       interval,
    state        text NOT NULL,
    why          text NOT NULL DEFAULT '',     -- a code; empty: what was to be done is done
    next_ticket  text COLLATE "C" NOT NULL DEFAULT '',
    next_region  text NOT NULL DEFAULT '',     -- of next_session
    next_session uuid,
    released_at  timestamptz NOT NULL DEFAULT now(),
    decided_at   timestamptz,
    PRIMARY KEY (region, session_id, sub),
    CONSTRAINT an_evacuated_player_is_released_queued_seated_or_left CHECK (state IN ('released', 'queued', 'seated', 'left')),
    CONSTRAINT a_queued_player_has_a_ticket CHECK ((state = 'queued') = (next_ticket <> '')),
    CONSTRAINT a_seated_player_has_a_session CHECK ((state = 'seated') = (next_session IS NOT NULL)),
    CONSTRAINT a_player_who_is_left_is_so_for_a_reason CHECK (state <> 'left' OR why <> ''),
    CONSTRAINT a_released_player_is_not_decided CHECK ((state = 'released') = (decided_at IS NULL))
) WITH (fillfactor = 60);
CREATE INDEX players_of_an_evacuation ON evacuated_players (evacuation, state);
CREATE INDEX evacuated_players_by_ticket ON evacuated_players (ticket) WHERE ticket <> '';

ALTER TABLE instance_drains DROP CONSTRAINT a_drain_is_of_an_instance_a_host_or_a_label,
    ADD CONSTRAINT a_drain_is_of_an_instance_a_region_a_host_or_a_label CHECK (target IN ('instance', 'region', 'host', 'label')) NOT VALID,
    ADD CONSTRAINT a_drain_of_a_region_is_of_that_region CHECK (target <> 'region' OR region = value) NOT VALID;

-- +goose StatementBegin
CREATE FUNCTION drain_keys(region text, id text, endpoint text, labels jsonb) RETURNS TABLE (target text, value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT k.target, k.value FROM drain_keys(drain_keys.id, drain_keys.endpoint, drain_keys.labels) k UNION ALL SELECT 'region', drain_keys.region
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION drain_keys(text, text, text, jsonb) IS 'The target and value of each drain that an instance obeys, with that of its region.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION kept_drains_of(i instances) RETURNS SETOF instance_drains LANGUAGE sql STABLE AS $$
    SELECT d.* FROM instance_drains d WHERE d.region IN ('', i.region) AND (d.target, d.value) IN (SELECT k.target, k.value FROM drain_keys(i.region, i.id, i.endpoint, i.labels) k)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.set_group_draining(p_region text, p_target text, p_value text, p_drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    changed     boolean;
    group_value text := CASE p_target WHEN 'host' THEN lower(btrim(p_value, '[] ')) ELSE p_value END;
    turned      record;
BEGIN
    IF coalesce(group_value, '') = '' OR length(group_value) > 500
        OR (CASE p_target WHEN 'host' THEN endpoint_host(CASE WHEN group_value ~ ':.*:' THEN '[' || group_value || ']' ELSE group_value END) <> group_value
                          WHEN 'region' THEN group_value !~ '^[a-z0-9-]{1,32}$' OR group_value IS DISTINCT FROM p_region
                          ELSE group_value !~ '^[^=]+=' END) THEN
        RAISE EXCEPTION '% must be %', p_target,
            CASE p_target WHEN 'host' THEN 'the host of an endpoint, without its port' WHEN 'region' THEN '1 to 32 characters of a-z 0-9 -' ELSE 'key=value' END
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
    PERFORM FROM instances i WHERE (coalesce(p_region, '') IN ('', i.region)) AND i.status <> 'gone'
        AND (p_target, group_value) IN (SELECT k.target, k.value FROM drain_keys(i.region, i.id, i.endpoint, i.labels) k) ORDER BY i.region, i.id FOR NO KEY UPDATE;
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
    FOR turned IN -- once for each region, since a region may have thousands
        WITH moved AS (
            UPDATE instances i SET status = CASE WHEN p_drain THEN 'draining' ELSE 'ready' END, drain_kept = p_drain
            WHERE coalesce(p_region, '') IN ('', i.region) AND (p_target, group_value) IN (SELECT k.target, k.value FROM drain_keys(i.region, i.id, i.endpoint, i.labels) k)
              AND CASE WHEN p_drain THEN i.status = 'ready' ELSE i.status = 'draining' AND i.drain_kept AND NOT EXISTS (SELECT FROM kept_drains_of(i))
                  AND (i.deployment_id IS NULL OR EXISTS (
                      SELECT FROM deployments d WHERE d.region = i.region AND d.id = i.deployment_id AND d.phase = 'ready' AND d.desired = 'running')) END
            RETURNING i.region, i.id
        ), logged AS (
            INSERT INTO events (region, kind, actor, instance_id, detail)
            SELECT m.region, CASE WHEN p_drain THEN 'instance.drained' ELSE 'instance.undrained' END, acting_operator(), m.id, jsonb_build_object(p_target, group_value)
            FROM moved m ORDER BY m.region, m.id
        )
        SELECT m.region, array_agg(m.id ORDER BY m.id) AS ids FROM moved m GROUP BY m.region ORDER BY m.region
    LOOP
        PERFORM refresh_shares(turned.region, turned.ids);
    END LOOP;
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_group_draining(text, text, text, boolean) IS 'The common part of the functions that drain regions, hosts and labels.';

CREATE FUNCTION ops.drain_region(region text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(drain_region.region, 'region', drain_region.region, true) $$;
CREATE FUNCTION ops.undrain_region(region text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT ops.set_group_draining(undrain_region.region, 'region', undrain_region.region, false) $$;
COMMENT ON FUNCTION ops.drain_region(text) IS 'Lets no new player onto the instances of a region until ops.undrain_region: those that run, and those that register later. Returns whether this changed anything.';
COMMENT ON FUNCTION ops.undrain_region(text) IS 'Ends a drain of ops.drain_region. Instances that drain for another reason go on draining. Returns whether this changed anything.';

CREATE OR REPLACE VIEW ops.drains AS
WITH obeying AS (
    SELECT i.region, k.target, k.value FROM instances i CROSS JOIN LATERAL drain_keys(i.region, i.id, i.endpoint, i.labels) AS k (target, value) WHERE i.status <> 'gone')
SELECT d.region, d.target, d.value, d.actor, d.at AS since, statement_timestamp() - d.at AS age, count(o.region) AS instances
FROM instance_drains d
LEFT JOIN obeying o ON o.target = d.target AND o.value = d.value AND d.region IN ('', o.region)
GROUP BY d.region, d.target, d.value, d.actor, d.at
UNION ALL
SELECT k.region, 'rivalis', k.name || ' ' || k.endpoint, k.actor, k.at, statement_timestamp() - k.at,
       (SELECT count(*) FROM agents a JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id
        WHERE a.region = k.region AND a.name = k.name AND a.endpoint = k.endpoint AND s.left_at IS NULL)
FROM kept_drains k;
COMMENT ON COLUMN ops.drains.target IS 'What it is of: instance (ops.undrain ends it), region (ops.undrain_region), host (ops.undrain_host), label (ops.undrain_label), or rivalis, a Rivalis game server (ops.undrain_agent, or POST /v1/instances/{id}/undrain?keep=true).';
COMMENT ON COLUMN ops.drains.value IS 'The id of the instance, the region, the host, the label as key=value, or the name and endpoint of the Rivalis game server.';

-- The kind of a target is what it can be: a label has an equals sign, a region has game servers, else it is a host.
-- +goose StatementBegin
CREATE FUNCTION evacuation_target(p_target text, p_kind text, p_region text) RETURNS TABLE (target text, value text, region text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    named     text := btrim(coalesce(p_target, ''));
    host      text := lower(btrim(named, '[] '));
    kind      text := coalesce(p_kind, '');
    is_region boolean := EXISTS (SELECT FROM fleet_regions() AS r (name) WHERE r.name = named);
    is_host   boolean := EXISTS (SELECT FROM instances i WHERE endpoint_host(i.endpoint) = host);
BEGIN
    IF named = '' OR length(named) > 500 OR kind NOT IN ('', 'region', 'host', 'label') THEN
        RAISE EXCEPTION 'an evacuation is of a region, a host or a label, of 1 to 500 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF kind = '' AND is_region AND is_host THEN
        RAISE EXCEPTION '% is a region and a host', quote_literal(named) USING ERRCODE = 'invalid_parameter_value', HINT = 'Say which: kind is region or host.';
    END IF;
    kind := CASE WHEN kind <> '' THEN kind WHEN strpos(named, '=') > 1 THEN 'label' WHEN is_region THEN 'region' ELSE 'host' END;
    IF kind = 'region' AND coalesce(p_region, '') NOT IN ('', named) THEN
        RAISE EXCEPTION 'region % cannot be in region %', quote_literal(named), quote_literal(p_region) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    target := kind;
    value := CASE kind WHEN 'host' THEN host ELSE named END;
    region := CASE kind WHEN 'region' THEN named ELSE coalesce(p_region, '') END;
    IF NOT EXISTS (SELECT FROM instances i CROSS JOIN LATERAL drain_keys(i.region, i.id, i.endpoint, i.labels) k
                   WHERE evacuation_target.region IN ('', i.region) AND k.target = evacuation_target.target AND k.value = evacuation_target.value) THEN
        RAISE EXCEPTION 'no game server has the % %', kind, quote_literal(value) USING ERRCODE = 'no_data_found';
    END IF;
    RETURN NEXT;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION evacuation_target(text, text, text) IS 'What an evacuation of this name is of. Refuses names of no game server, and ambiguous ones.';

-- +goose StatementBegin
CREATE FUNCTION instances_to_evacuate(p_target text, p_value text, p_region text, p_lost_since timestamptz) RETURNS SETOF instances LANGUAGE sql STABLE AS $$
    SELECT i.* FROM instances i
    WHERE p_region IN ('', i.region) AND (i.status <> 'gone' OR i.ended_at >= p_lost_since)
      AND (p_target, p_value) IN (SELECT k.target, k.value FROM drain_keys(i.region, i.id, i.endpoint, i.labels) k)
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION instances_to_evacuate(text, text, text, timestamptz) IS 'The instances of a region, a host or a label that have not ended, and those that ended since.';

-- The closings of sessions that lost their game server. Closings in order are none: players had left, or know where to go.
-- +goose StatementBegin
CREATE FUNCTION lost_sessions(p_instance text, p_since timestamptz) RETURNS TABLE (region text, session_id uuid, reason text) LANGUAGE sql STABLE AS $$
    SELECT e.region, e.session_id, e.detail ->> 'reason' FROM events e
    WHERE e.instance_id = p_instance AND e.kind = 'session.closed' AND e.at >= p_since AND e.detail ->> 'reason' IN ('lease expired', 'instance gone')
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION lost_sessions(text, timestamptz) IS 'The sessions of an instance that closed because it was lost.';

-- +goose StatementBegin
CREATE FUNCTION ops.preview_evacuation(target text, kind text DEFAULT '', region text DEFAULT '', lost_within interval DEFAULT '10 minutes')
RETURNS TABLE (kind_of_target text, value text, servers bigint, alive bigint, sessions bigint, players bigint, matched bigint, lost bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    named      record;
    lost_since timestamptz := statement_timestamp() - coalesce(lost_within, '0');
BEGIN
    SELECT t.* INTO named FROM evacuation_target(preview_evacuation.target, preview_evacuation.kind, preview_evacuation.region) t;
    kind_of_target := named.target;
    value := named.value;
    SELECT count(*), count(*) FILTER (WHERE i.status <> 'gone' AND coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)),
           coalesce(sum(s.sessions), 0), coalesce(sum(s.players), 0), coalesce(sum(s.matched), 0), coalesce(sum(d.lost), 0)
    INTO servers, alive, sessions, players, matched, lost
    FROM instances_to_evacuate(named.target, named.value, named.region, lost_since) i
    LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    CROSS JOIN LATERAL (SELECT count(*) AS sessions, sum(o.player_count) AS players, sum(o.player_count) FILTER (WHERE o.match_id IS NOT NULL) AS matched
                        FROM sessions o WHERE o.region = i.region AND o.instance_id = i.id) s
    CROSS JOIN LATERAL (SELECT count(*) AS lost FROM lost_sessions(i.id, lost_since) c
                        JOIN seat_history h ON h.region = c.region AND h.session_id = c.session_id AND h.reason = 'session ' || c.reason AND h.left_at >= lost_since) d;
    RETURN NEXT;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.preview_evacuation(text, text, text, interval) IS 'What ops.evacuate with the same arguments would concern: game servers, those of them that report, their sessions and players, those of the players whom a profile matched, and players who lost their game server within the interval.';

-- +goose StatementBegin
CREATE FUNCTION ops.evacuate(target text, kind text DEFAULT '', region text DEFAULT '', requeue boolean DEFAULT false, dead boolean DEFAULT false,
    seats_in text DEFAULT '', lost_within interval DEFAULT '10 minutes', reason text DEFAULT '')
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    named  record;
    made   evacuations;
    before uuid;
BEGIN
    IF length(evacuate.reason) > 500 THEN
        RAISE EXCEPTION 'a reason has at most 500 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF lost_within IS NULL OR lost_within NOT BETWEEN interval '0' AND interval '1 day' THEN
        RAISE EXCEPTION 'players count who lost their game server within a day at most' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(seats_in, '') <> '' AND NOT EXISTS (SELECT FROM fleet_regions() AS r (name) WHERE r.name = seats_in) THEN
        RAISE EXCEPTION 'there is no region %', quote_literal(seats_in) USING ERRCODE = 'no_data_found';
    END IF;
    SELECT t.* INTO named FROM evacuation_target(evacuate.target, evacuate.kind, evacuate.region) t;
    IF named.target = 'region' AND seats_in = named.value THEN
        RAISE EXCEPTION 'region % cannot take its own players', quote_literal(seats_in) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT e.id INTO before FROM evacuations e
    WHERE e.target = named.target AND e.value = named.value AND e.region = named.region AND e.ended_at IS NULL;
    IF FOUND THEN
        RAISE EXCEPTION '% % is being evacuated: %', named.target, quote_literal(named.value), before USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM ops.set_group_draining(named.region, named.target, named.value, true);
    INSERT INTO evacuations AS e (target, value, region, requeue, dead, seats_in, lost_since, actor, reason)
    VALUES (named.target, named.value, named.region, coalesce(evacuate.requeue, false), coalesce(evacuate.dead, false), coalesce(evacuate.seats_in, ''),
        now() - lost_within, acting_operator(), coalesce(btrim(evacuate.reason), '')) RETURNING e.* INTO made;
    INSERT INTO evacuated_servers (region, evacuation, instance_id, was_alive)
    SELECT i.region, made.id, i.id, i.status <> 'gone' AND coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)
    FROM instances_to_evacuate(named.target, named.value, named.region, made.lost_since) i
    LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id;
    INSERT INTO events (region, kind, actor, detail) VALUES (named.region, 'evacuation.begun', made.actor,
        jsonb_strip_nulls(jsonb_build_object('evacuation', made.id, named.target, named.value, 'requeue', made.requeue, 'dead', made.dead,
            'seats_in', nullif(made.seats_in, ''), 'reason', nullif(made.reason, ''))));
    RETURN made.id;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.evacuate(text, text, text, boolean, boolean, text, interval, text) IS 'Drains the game servers of a region, of a host or with a label key=value, and lets workers close their sessions and end those that do not report, or with dead all. With requeue the players wait again, as old in the queue as they were, or get seats elsewhere, also those who lost their game server within the interval; seats_in is the region for players without a ticket. Returns the id for ops.evacuations. The drain stays.';

REVOKE EXECUTE ON FUNCTION ops.drain_region, ops.undrain_region, ops.preview_evacuation, ops.evacuate FROM PUBLIC;

CREATE VIEW ops.evacuations AS
SELECT e.id AS evacuation, CASE WHEN e.ended_at IS NULL THEN 'running' ELSE 'ended' END AS state, e.target, e.value, e.region, e.requeue, e.dead, e.seats_in,
       s.servers, s.servers_left, s.servers_ended, p.players, p.waiting, p.queued, p.seated, p.nothing, e.actor, e.reason, e.begun_at, e.ended_at,
       coalesce(e.ended_at, statement_timestamp()) - e.begun_at AS took
FROM evacuations e
CROSS JOIN LATERAL (
    SELECT count(*) AS servers, count(*) FILTER (WHERE v.emptied_at IS NULL) AS servers_left, count(*) FILTER (WHERE v.ended) AS servers_ended
    FROM evacuated_servers v WHERE v.evacuation = e.id) s
CROSS JOIN LATERAL (
    SELECT count(*) AS players, count(*) FILTER (WHERE o.state = 'released') AS waiting, count(*) FILTER (WHERE o.state = 'queued') AS queued,
           count(*) FILTER (WHERE o.state = 'seated') AS seated, count(*) FILTER (WHERE o.state = 'left') AS nothing
    FROM evacuated_players o WHERE o.evacuation = e.id) p;
COMMENT ON VIEW ops.evacuations IS 'The evacuations of regions, hosts and labels, with what became of the players. ops.evacuate begins one.';
COMMENT ON COLUMN ops.evacuations.evacuation IS 'Its id.';
COMMENT ON COLUMN ops.evacuations.state IS 'running: a worker is at it, or none runs; ended.';
COMMENT ON COLUMN ops.evacuations.target IS 'What it is of: region, host or label.';
COMMENT ON COLUMN ops.evacuations.value IS 'The region, the host, or the label as key=value.';
COMMENT ON COLUMN ops.evacuations.region IS 'The region in which it holds; empty: in all.';
COMMENT ON COLUMN ops.evacuations.requeue IS 'Whether players wait again or get seats elsewhere.';
COMMENT ON COLUMN ops.evacuations.dead IS 'Whether game servers that still report end as well.';
COMMENT ON COLUMN ops.evacuations.seats_in IS 'The region in which players without a ticket get seats; empty: in which they had them.';
COMMENT ON COLUMN ops.evacuations.servers IS 'Its game servers, with those that had ended shortly before.';
COMMENT ON COLUMN ops.evacuations.servers_left IS 'Those of them that still have sessions.';
COMMENT ON COLUMN ops.evacuations.servers_ended IS 'Those of them that the evacuation has ended.';
COMMENT ON COLUMN ops.evacuations.players IS 'Players who have lost their seats.';
COMMENT ON COLUMN ops.evacuations.waiting IS 'Those of them about whom nothing is decided yet.';
COMMENT ON COLUMN ops.evacuations.queued IS 'Those of them who have a ticket in the queue.';
COMMENT ON COLUMN ops.evacuations.seated IS 'Those of them who have a seat elsewhere.';
COMMENT ON COLUMN ops.evacuations.nothing IS 'Those of them who have neither; ops.evacuated_players says why.';
COMMENT ON COLUMN ops.evacuations.actor IS 'Who began it.';
COMMENT ON COLUMN ops.evacuations.reason IS 'The reason that was given; empty: none was.';
COMMENT ON COLUMN ops.evacuations.begun_at IS 'When it began.';
COMMENT ON COLUMN ops.evacuations.ended_at IS 'When everything was decided. NULL: it is not yet.';
COMMENT ON COLUMN ops.evacuations.took IS 'How long it has taken.';

CREATE VIEW ops.evacuated_players AS
SELECT p.evacuation, p.region, p.instance_id AS instance, p.region || '.' || p.session_id AS session, p.sub AS player, p.mode,
       CASE p.state WHEN 'released' THEN 'waiting' WHEN 'left' THEN 'nothing' ELSE p.state END AS outcome, p.why, p.waited,
       nullif(p.ticket, '') AS ticket, nullif(p.next_ticket, '') AS next_ticket, p.next_region || '.' || p.next_session AS next_session,
       p.seated_at, p.released_at, p.decided_at
FROM evacuated_players p;
COMMENT ON VIEW ops.evacuated_players IS 'Who went where in an evacuation: a row for each seat that a player has lost. Rows are kept for a week.';
COMMENT ON COLUMN ops.evacuated_players.evacuation IS 'The evacuation.';
COMMENT ON COLUMN ops.evacuated_players.region IS 'The region of the game server.';
COMMENT ON COLUMN ops.evacuated_players.instance IS 'The game server on which the player was.';
COMMENT ON COLUMN ops.evacuated_players.session IS 'The session in which the player had the seat, as region.uuid.';
COMMENT ON COLUMN ops.evacuated_players.player IS 'The player.';
COMMENT ON COLUMN ops.evacuated_players.mode IS 'The mode of the session.';
COMMENT ON COLUMN ops.evacuated_players.outcome IS 'waiting: not decided yet; queued: the player has a ticket; seated: a seat elsewhere; nothing: neither.';
COMMENT ON COLUMN ops.evacuated_players.why IS 'Why the player has nothing, or queued_already and seated_already where the player was faster. Empty: the evacuation has queued or seated the player.';
COMMENT ON COLUMN ops.evacuated_players.waited IS 'How long the player had waited for the match that ended. NULL: not known, or there was no ticket.';
COMMENT ON COLUMN ops.evacuated_players.ticket IS 'The ticket by which the player had the seat. NULL: POST /matchmake had given it.';
COMMENT ON COLUMN ops.evacuated_players.next_ticket IS 'The ticket with which the player waits now. NULL: none.';
COMMENT ON COLUMN ops.evacuated_players.next_session IS 'The session in which the player has a seat now, as region.uuid. NULL: none.';
COMMENT ON COLUMN ops.evacuated_players.seated_at IS 'When the seat was reserved.';
COMMENT ON COLUMN ops.evacuated_players.released_at IS 'When the evacuation took it up.';
COMMENT ON COLUMN ops.evacuated_players.decided_at IS 'When the outcome was decided. NULL: not yet.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.evacuated_players, ops.evacuations;
DROP FUNCTION ops.evacuate, ops.preview_evacuation, ops.drain_region, ops.undrain_region, evacuation_target, instances_to_evacuate, lost_sessions;
DROP TABLE evacuated_players, evacuated_servers, evacuations;
DELETE FROM instance_drains WHERE target = 'region';
ALTER TABLE instance_drains DROP CONSTRAINT a_drain_of_a_region_is_of_that_region, DROP CONSTRAINT a_drain_is_of_an_instance_a_region_a_host_or_a_label,
    ADD CONSTRAINT a_drain_is_of_an_instance_a_host_or_a_label CHECK (target IN ('instance', 'host', 'label')) NOT VALID;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION kept_drains_of(i instances) RETURNS SETOF instance_drains LANGUAGE sql STABLE AS $$
    SELECT d.* FROM instance_drains d WHERE d.region IN ('', i.region) AND (d.target, d.value) IN (SELECT k.target, k.value FROM drain_keys(i.id, i.endpoint, i.labels) k)
$$;
-- +goose StatementEnd
CREATE OR REPLACE VIEW ops.drains AS
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
COMMENT ON COLUMN ops.drains.target IS 'What it is of: instance (ops.undrain ends it), host (ops.undrain_host), label (ops.undrain_label), or rivalis, a Rivalis game server (ops.undrain_agent, or POST /v1/instances/{id}/undrain?keep=true).';
COMMENT ON COLUMN ops.drains.value IS 'The id of the instance, the host, the label as key=value, or the name and endpoint of the Rivalis game server.';
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.set_group_draining(p_region text, p_target text, p_value text, p_drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
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
DROP FUNCTION drain_keys(text, text, text, jsonb);
