-- Login queues: how many players a second enter a title, a region or a client build, how many are in it at once, and the line of those who wait.
--
-- A valve is what operators set. While it is open nothing here is read or written for a player. While it limits, each player has one row in
-- admissions: a place in the line or, once admitted, the right to enter, until the player has been away for five minutes.
--
-- Whoever gives out places or admissions locks the row of login_queues, so places are numbered in the order of commits, the counters are exact,
-- and the bucket is refilled by one clock, the database's. That row is the only lock that calls of different players share, and only players
-- without a place take it: replicas group them, so it is taken once for a batch. A single statement holds it, never a client.
--
-- Releases before this one know no valve and let everybody in.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE valves (
    name        text COLLATE "C" PRIMARY KEY,
    region      text COLLATE "C" NOT NULL DEFAULT '',
    build       text COLLATE "C" NOT NULL DEFAULT '',
    mode        text NOT NULL,
    rate        double precision NOT NULL,
    max_players integer,
    staff_share double precision NOT NULL,
    max_waiting integer NOT NULL,
    reason      text,
    set_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by      text NOT NULL,
    CONSTRAINT one_valve_decides_about_a_region_and_build UNIQUE (region, build),
    CONSTRAINT a_valve_has_a_short_name CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    CONSTRAINT a_valve_is_of_a_region_or_of_all CHECK (region ~ '^[a-z0-9-]{0,32}$'),
    CONSTRAINT a_build_has_up_to_64_characters CHECK (build ~ '^[A-Za-z0-9._+-]{0,64}$'),
    CONSTRAINT a_valve_is_open_limited_or_closed CHECK (mode IN ('open', 'limited', 'closed')),
    CONSTRAINT a_rate_is_positive CHECK (rate > 0 AND rate <= 100000),
    CONSTRAINT players_at_once_are_positive CHECK (max_players > 0),
    CONSTRAINT a_share_of_staff_is_at_most_a_half CHECK (staff_share BETWEEN 0 AND 0.5),
    CONSTRAINT a_line_is_bounded CHECK (max_waiting BETWEEN 1 AND 1000000)
);
COMMENT ON TABLE valves IS 'What limits how fast players enter. Of the valves that fit a player, that of the build and region decides, else of the build, else of the region, else of all.';
COMMENT ON COLUMN valves.region IS 'a game region, or the universe of tickets; empty: all';
COMMENT ON COLUMN valves.max_players IS 'players who are admitted at once; NULL: any number';
COMMENT ON COLUMN valves.staff_share IS 'the part of rate and max_players that only staff gets';

-- The state of a line. No index on what changes, so that updates stay HOT.
CREATE TABLE login_queues (
    valve            text COLLATE "C" PRIMARY KEY REFERENCES valves ON DELETE CASCADE,
    tokens           double precision NOT NULL DEFAULT 0,
    staff_tokens     double precision NOT NULL DEFAULT 0,
    refilled_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_place       bigint NOT NULL DEFAULT 1,
    waiting          integer NOT NULL DEFAULT 0,
    waiting_staff    integer NOT NULL DEFAULT 0,
    players          integer NOT NULL DEFAULT 0,
    head             bigint NOT NULL DEFAULT 0,
    staff_head       bigint NOT NULL DEFAULT 0,
    admitted         bigint NOT NULL DEFAULT 0,
    staff_admitted   bigint NOT NULL DEFAULT 0,
    recent           double precision NOT NULL DEFAULT 0,
    recent_since     timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_line_counts_its_players CHECK (waiting >= waiting_staff AND waiting_staff >= 0 AND players >= 0)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE login_queues IS 'The bucket and the counters of each valve.';
COMMENT ON COLUMN login_queues.players IS 'who is admitted now: in a seat, in the queue for a match, or away for less than five minutes';
COMMENT ON COLUMN login_queues.head IS 'the highest place that was admitted, of those who are not staff: whoever is behind it waits';
COMMENT ON COLUMN login_queues.recent IS 'admissions, each worth less the older it is, by a factor of e a minute';

-- No foreign key: it would lock the row of the valve for each player.
CREATE TABLE admissions (
    valve       text COLLATE "C" NOT NULL,
    sub         text COLLATE "C" NOT NULL,
    is_staff    boolean NOT NULL DEFAULT false,
    place       bigint NOT NULL,
    joined_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    admitted_at timestamptz,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (valve, sub)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX admissions_that_wait ON admissions (valve, is_staff, place) WHERE admitted_at IS NULL;
CREATE INDEX admissions_that_expire ON admissions (valve, expires_at);
COMMENT ON TABLE admissions IS 'The place of each player in a login queue, and who is admitted.';
COMMENT ON COLUMN admissions.expires_at IS 'when the row is looked at again: five to seven and a half minutes after its player was last seen';

-- Where in the line every so many players wait, so that a place is found in memory: counting the players ahead for each of them reads the line
-- once a player.
CREATE TABLE login_queue_marks (
    valve      text COLLATE "C" PRIMARY KEY REFERENCES valves ON DELETE CASCADE,
    marks      bigint[] NOT NULL,
    step       integer NOT NULL,
    waiting    integer NOT NULL,
    admitted   bigint NOT NULL,
    next_place bigint NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE login_queue_marks IS 'The places of the 1st, the (step+1)th … player of a line, without staff, at a moment.';

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes',
                 'lobby_invitations', 'lobby_sayings', 'player_inboxes', 'player_messages', 'login_queues', 'admissions']::regclass[]
$$;

-- Half as long again as promised: a row is written again only when less than the promise is left, once in two and a half minutes.
CREATE FUNCTION admission_kept_for() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '5 minutes' $$;
CREATE FUNCTION admission_life() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '7 minutes 30 seconds' $$;

-- Admits the first players of a lane of the line, whose login queue is locked. It waits for nobody but those who extend a place, who wait for
-- nobody.
-- +goose StatementBegin
CREATE FUNCTION admit_first(of_valve text, of_staff boolean, wanted integer, OUT n integer, OUT last_place bigint) LANGUAGE sql AS $$
    WITH next AS MATERIALIZED (
        SELECT a.sub FROM admissions a
        WHERE a.valve = of_valve AND a.is_staff = of_staff AND a.admitted_at IS NULL AND a.expires_at > clock_timestamp()
        ORDER BY a.place LIMIT greatest(wanted, 0)
    ), done AS (
        UPDATE admissions a SET admitted_at = clock_timestamp(), expires_at = clock_timestamp() + admission_life()
        FROM next x WHERE a.valve = of_valve AND a.sub = x.sub
        RETURNING a.place
    )
    SELECT count(*)::integer, coalesce(max(d.place), 0) FROM done d
$$;
-- +goose StatementEnd

-- Refills the bucket of a valve and admits whom it has room for: staff from its share, then the others in the order of their places. Players
-- without a name, of whom there are so many, are admitted only if nobody waits; it returns how many are. A turn admits up to 10,000.
-- +goose StatementBegin
CREATE FUNCTION turn_login_queue(of_valve text, nameless integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v      valves;
    q      login_queues;
    moment timestamptz;
    waited double precision;
    refill double precision;
    room   double precision;
    got    record;
    turned integer := 0;
    singly integer := 0;
BEGIN
    SELECT * INTO q FROM login_queues l WHERE l.valve = of_valve FOR UPDATE;
    SELECT * INTO v FROM valves x WHERE x.name = of_valve;
    IF q.valve IS NULL OR v.mode IS NULL OR v.mode = 'open' THEN
        RETURN nameless;
    END IF;
    moment := greatest(clock_timestamp(), q.refilled_at);
    waited := extract(epoch FROM moment - q.refilled_at);
    IF v.mode = 'closed' THEN
        q.tokens := 0;
        q.staff_tokens := 0;
    ELSE
        -- At most a second's admissions are saved, and at least one. What staff does not use is everybody's.
        refill := q.staff_tokens + v.rate * v.staff_share * waited;
        q.staff_tokens := CASE WHEN v.staff_share > 0 THEN least(refill, greatest(1, v.rate * v.staff_share)) ELSE 0 END;
        q.tokens := least(q.tokens + v.rate * (1 - v.staff_share) * waited + refill - q.staff_tokens, greatest(1, v.rate));
    END IF;

    room := coalesce(v.max_players, 2147483647) - q.players;
    IF q.waiting_staff > 0 THEN
        got := admit_first(of_valve, true, floor(greatest(0, least(q.staff_tokens, room, 10000)))::integer);
        q.staff_tokens := q.staff_tokens - got.n;
        q.staff_head := greatest(q.staff_head, got.last_place);
        q.staff_admitted := q.staff_admitted + got.n;
        q.waiting_staff := q.waiting_staff - got.n;
        turned := got.n;
        room := room - got.n;
    END IF;
    room := room - coalesce(v.max_players, 0) * v.staff_share;
    IF q.waiting - turned > q.waiting_staff THEN
        got := admit_first(of_valve, false, floor(greatest(0, least(q.tokens, room, 10000)))::integer);
        q.tokens := q.tokens - got.n;
        q.head := greatest(q.head, got.last_place);
        q.admitted := q.admitted + got.n;
        turned := turned + got.n;
        room := room - got.n;
    END IF;
    q.waiting := q.waiting - turned;
    IF q.waiting = q.waiting_staff THEN
        singly := floor(greatest(0, least(q.tokens, room, nameless)))::integer;
        q.tokens := q.tokens - singly;
    END IF;

    UPDATE login_queues l SET tokens = q.tokens, staff_tokens = q.staff_tokens, refilled_at = moment, waiting = q.waiting, waiting_staff = q.waiting_staff,
        players = l.players + turned, head = q.head, staff_head = q.staff_head, admitted = q.admitted, staff_admitted = q.staff_admitted,
        recent = l.recent * exp(-least(waited, 3600) / 60) + turned + singly
    WHERE l.valve = of_valve;
    RETURN singly;
END
$$;
-- +goose StatementEnd

-- Gives players who have none a place at the end of the line, in their order and as far as the line has room, and turns it. They are distinct.
-- +goose StatementBegin
CREATE FUNCTION join_login_queue(of_valve text, joining text[], are_staff boolean[], nameless integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v     valves;
    q     login_queues;
    added record;
BEGIN
    SELECT * INTO q FROM login_queues l WHERE l.valve = of_valve FOR UPDATE;
    SELECT * INTO v FROM valves x WHERE x.name = of_valve;
    IF q.valve IS NULL OR v.mode IS NULL OR v.mode = 'open' THEN
        RETURN nameless;
    END IF;
    IF v.build <> '' THEN -- who is in with this build is not known before they ask
        WITH present AS (
            INSERT INTO admissions (valve, sub, place, admitted_at, expires_at)
            SELECT of_valve, s.sub, 0, clock_timestamp(), clock_timestamp() + admission_life() FROM players_last_seen(v.region, joining) s
            WHERE s.seen_at IS NOT NULL AND NOT EXISTS (SELECT FROM admissions a WHERE a.valve = of_valve AND a.sub = s.sub COLLATE "C")
            RETURNING 1
        )
        UPDATE login_queues l SET players = l.players + p.n FROM (SELECT count(*)::integer AS n FROM present) p WHERE l.valve = of_valve AND p.n > 0;
    END IF;
    WITH new AS MATERIALIZED (
        SELECT u.sub, u.is_staff, u.n FROM unnest(joining, are_staff) WITH ORDINALITY u(sub, is_staff, n)
        WHERE NOT EXISTS (SELECT FROM admissions a WHERE a.valve = of_valve AND a.sub = u.sub COLLATE "C")
        ORDER BY u.n LIMIT greatest(0, v.max_waiting - q.waiting)
    ), put AS (
        INSERT INTO admissions (valve, sub, is_staff, place, expires_at)
        SELECT of_valve, n.sub, n.is_staff AND v.staff_share > 0, q.next_place + row_number() OVER (ORDER BY n.n) - 1, clock_timestamp() + admission_life()
        FROM new n
        RETURNING is_staff
    )
    SELECT count(*)::integer AS n, (count(*) FILTER (WHERE p.is_staff))::integer AS staff INTO added FROM put p;
    IF added.n > 0 THEN
        UPDATE login_queues l SET next_place = l.next_place + added.n, waiting = l.waiting + added.n, waiting_staff = l.waiting_staff + added.staff
        WHERE l.valve = of_valve;
    END IF;
    RETURN turn_login_queue(of_valve, nameless);
END
$$;
-- +goose StatementEnd

-- Players leave the line, or give their admission back.
-- +goose StatementBegin
CREATE FUNCTION leave_login_queue(of_valve text, leaving text[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    PERFORM FROM login_queues l WHERE l.valve = of_valve FOR UPDATE;
    WITH left_line AS (
        DELETE FROM admissions a WHERE a.valve = of_valve AND a.sub = ANY (leaving) RETURNING a.is_staff, a.admitted_at
    )
    SELECT (count(*) FILTER (WHERE g.admitted_at IS NULL))::integer AS waiting,
           (count(*) FILTER (WHERE g.admitted_at IS NULL AND g.is_staff))::integer AS staff,
           (count(*) FILTER (WHERE g.admitted_at IS NOT NULL))::integer AS players INTO gone
    FROM left_line g;
    UPDATE login_queues l SET waiting = l.waiting - gone.waiting, waiting_staff = l.waiting_staff - gone.staff, players = l.players - gone.players
    WHERE l.valve = of_valve AND gone.waiting + gone.players > 0;
    RETURN gone.waiting + gone.players;
END
$$;
-- +goose StatementEnd

-- When players were last in the part of the title that a valve covers: now for those with a seat, a ticket or a connection to the lobby. NULL:
-- for longer than a place is kept.
-- +goose StatementBegin
CREATE FUNCTION players_last_seen(in_region text, subs text[]) RETURNS TABLE (sub text, seen_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT u.sub, CASE
        WHEN EXISTS (SELECT FROM fleet_regions() r(region) CROSS JOIN LATERAL (
                (SELECT FROM seats s WHERE s.region = r.region AND s.sub = u.sub AND s.state = 'reserved' LIMIT 1)
                UNION ALL
                (SELECT FROM seats s WHERE s.region = r.region AND s.sub = u.sub AND s.state = 'connected' LIMIT 1)) f
            WHERE in_region IN ('', r.region))
          OR EXISTS (SELECT FROM ticket_regions() r(region) JOIN ticket_players p ON p.region = r.region AND p.sub = u.sub COLLATE "C" WHERE in_region IN ('', r.region))
          OR EXISTS (SELECT FROM projects p JOIN realtime_sessions s ON s.region = p.region AND s.project = p.id AND s.player = u.sub COLLATE "C"
            WHERE s.owner IS NOT NULL)
        THEN clock_timestamp()
        ELSE (SELECT max(h.left_at) FROM seat_history h
            WHERE h.sub = u.sub AND h.left_at > clock_timestamp() - admission_kept_for() AND in_region IN ('', h.region))
        END
    FROM unnest(subs) AS u(sub)
$$;
-- +goose StatementEnd

-- Deletes places and admissions of players who have been away for too long, extends the admissions of those who have not, and returns how many
-- it has deleted. All rows of an open valve go.
-- +goose StatementBegin
CREATE FUNCTION prune_login_queue(of_valve text, most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v   valves;
    due text[];
BEGIN
    PERFORM FROM login_queues l WHERE l.valve = of_valve FOR UPDATE;
    SELECT * INTO v FROM valves x WHERE x.name = of_valve;
    IF v.name IS NULL THEN
        RETURN 0;
    END IF;
    due := ARRAY(SELECT a.sub FROM admissions a
        WHERE a.valve = of_valve AND (v.mode = 'open' OR a.expires_at <= clock_timestamp())
        ORDER BY a.expires_at LIMIT most);
    IF v.mode <> 'open' AND due <> '{}' THEN
        WITH extended AS (
            UPDATE admissions a SET expires_at = s.seen_at + admission_kept_for()
            FROM players_last_seen(v.region, due) s
            WHERE a.valve = of_valve AND a.sub = s.sub AND a.admitted_at IS NOT NULL AND s.seen_at + admission_kept_for() > clock_timestamp()
            RETURNING a.sub
        )
        SELECT array_agg(d.sub) INTO due FROM unnest(due) AS d(sub) WHERE NOT EXISTS (SELECT FROM extended e WHERE e.sub = d.sub COLLATE "C");
    END IF;
    RETURN leave_login_queue(of_valve, coalesce(due, '{}'));
END
$$;
-- +goose StatementEnd

-- Counts players whom a valve has not admitted as admitted: those who are in while it begins to limit, and those who came in past it, such as by
-- a replica of an earlier release. A valve of a build does not know the build of others: it counts those who ask.
-- +goose StatementBegin
CREATE FUNCTION adopt_players(of_valve text, most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v valves;
    n integer;
BEGIN
    PERFORM FROM login_queues l WHERE l.valve = of_valve FOR UPDATE;
    SELECT * INTO v FROM valves x WHERE x.name = of_valve;
    IF v.mode IS NULL OR v.mode = 'open' OR v.build <> '' THEN
        RETURN 0;
    END IF;
    WITH present AS (
        SELECT s.sub COLLATE "C" AS sub FROM seats s WHERE v.region IN ('', s.region)
        UNION SELECT p.sub FROM ticket_players p WHERE v.region IN ('', p.region)
        UNION SELECT h.sub COLLATE "C" FROM seat_history h WHERE h.left_at > clock_timestamp() - admission_kept_for() AND v.region IN ('', h.region)
    ), unknown AS (
        SELECT p.sub FROM present p
        WHERE NOT EXISTS (SELECT FROM admissions a WHERE a.valve = of_valve AND a.sub = p.sub)
          AND NOT EXISTS (SELECT FROM realtime_sessions s WHERE s.id = p.sub AND s.player <> s.id) -- its player is counted
        LIMIT most
    ), put AS (
        INSERT INTO admissions (valve, sub, place, admitted_at, expires_at)
        SELECT of_valve, u.sub, 0, clock_timestamp(), clock_timestamp() + admission_life() FROM unknown u
        RETURNING 1
    )
    SELECT count(*)::integer INTO n FROM put;
    UPDATE login_queues l SET players = l.players + n WHERE l.valve = of_valve AND n > 0;
    RETURN n;
END
$$;
-- +goose StatementEnd

-- One statement, whose snapshot shows the line and its counters at one moment.
-- +goose StatementBegin
CREATE FUNCTION mark_login_queue(of_valve text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO login_queue_marks AS m (valve, marks, step, waiting, admitted, next_place)
    SELECT q.valve, w.marks, w.step, w.waiting, q.admitted, q.next_place
    FROM login_queues q CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(r.place ORDER BY r.place) FILTER (WHERE (r.n - 1) % s.step = 0), '{}') AS marks, s.step, count(r.n)::integer AS waiting
        FROM (SELECT greatest(1, ceil((q.waiting - q.waiting_staff) / 512.0))::integer AS step) s
        LEFT JOIN (
            SELECT a.place, row_number() OVER (ORDER BY a.place) AS n FROM admissions a
            WHERE a.valve = q.valve AND NOT a.is_staff AND a.admitted_at IS NULL) r ON true
        GROUP BY s.step) w
    WHERE q.valve = of_valve
    ON CONFLICT (valve) DO UPDATE SET marks = excluded.marks, step = excluded.step, waiting = excluded.waiting, admitted = excluded.admitted,
        next_place = excluded.next_place, made_at = excluded.made_at
$$;
-- +goose StatementEnd

CREATE VIEW ops.valves AS
SELECT v.name AS valve, v.region, v.build, v.mode, v.rate, v.max_players, v.staff_share, v.max_waiting, q.players, q.waiting, q.waiting_staff,
    q.admitted + q.staff_admitted AS admitted,
    q.recent * exp(-least(extract(epoch FROM greatest(clock_timestamp() - q.refilled_at, '0')), 3600)::double precision / 60) / 60
        / (1 - exp(-greatest(1, least(extract(epoch FROM clock_timestamp() - q.recent_since), 3600))::double precision / 60)) AS rate_now,
    (SELECT min(a.joined_at) FROM (SELECT w.joined_at FROM admissions w WHERE w.valve = v.name AND NOT w.is_staff AND w.admitted_at IS NULL
        ORDER BY w.place LIMIT 1) a) AS first_since,
    v.reason, v.set_at, v.set_by
FROM valves v JOIN login_queues q ON q.valve = v.name;
COMMENT ON VIEW ops.valves IS 'Valves in front of login queues: how many players a second enter, how many are in, and how many wait.';
COMMENT ON COLUMN ops.valves.valve IS 'Its name.';
COMMENT ON COLUMN ops.valves.region IS 'The game region, or universe of tickets, that it is for; empty: all.';
COMMENT ON COLUMN ops.valves.build IS 'The client build that it is for; empty: all.';
COMMENT ON COLUMN ops.valves.mode IS 'open: everybody enters; limited: as fast as rate and max_players allow; closed: nobody who is not in already.';
COMMENT ON COLUMN ops.valves.rate IS 'Admissions a second.';
COMMENT ON COLUMN ops.valves.max_players IS 'Players who are in at once; NULL: any number.';
COMMENT ON COLUMN ops.valves.staff_share IS 'The part of rate and max_players that only staff gets.';
COMMENT ON COLUMN ops.valves.max_waiting IS 'How many players the line holds. Those beyond it are refused.';
COMMENT ON COLUMN ops.valves.players IS 'Players who are in: admitted, and in a seat, in the queue for a match, or away for less than five minutes.';
COMMENT ON COLUMN ops.valves.waiting IS 'Players who wait in the line.';
COMMENT ON COLUMN ops.valves.waiting_staff IS 'How many of them are staff.';
COMMENT ON COLUMN ops.valves.admitted IS 'Players who were admitted from the line, ever.';
COMMENT ON COLUMN ops.valves.rate_now IS 'Admissions a second, about of the last minute.';
COMMENT ON COLUMN ops.valves.first_since IS 'Since when the first of the line waits; NULL: nobody does.';
COMMENT ON COLUMN ops.valves.reason IS 'Why it was set, opened or closed.';
COMMENT ON COLUMN ops.valves.set_at IS 'When it was last set, opened or closed.';
COMMENT ON COLUMN ops.valves.set_by IS 'Who did.';

CREATE VIEW ops.admissions AS
SELECT a.valve, a.sub AS player, CASE WHEN a.admitted_at IS NULL THEN 'waiting' ELSE 'admitted' END AS state, a.is_staff, a.place, a.joined_at,
    a.admitted_at, a.expires_at
FROM admissions a;
COMMENT ON VIEW ops.admissions IS 'Players in login queues, and those whom valves have admitted. Valves that are open have none.';
COMMENT ON COLUMN ops.admissions.valve IS 'The valve.';
COMMENT ON COLUMN ops.admissions.player IS 'The sub of the player.';
COMMENT ON COLUMN ops.admissions.state IS 'waiting or admitted.';
COMMENT ON COLUMN ops.admissions.is_staff IS 'Whether the share of staff is for the player.';
COMMENT ON COLUMN ops.admissions.place IS 'The number of the place: lower ones are admitted before. 0: the player was in when the valve began to limit.';
COMMENT ON COLUMN ops.admissions.joined_at IS 'When the player got the place.';
COMMENT ON COLUMN ops.admissions.admitted_at IS 'When the player was admitted; NULL: it waits.';
COMMENT ON COLUMN ops.admissions.expires_at IS 'When the row is deleted, unless the player is seen before.';

-- +goose StatementBegin
CREATE FUNCTION ops.set_valve(
    name text, rate double precision DEFAULT NULL, max_players integer DEFAULT NULL, region text DEFAULT NULL, build text DEFAULT NULL,
    staff_share double precision DEFAULT NULL, max_waiting integer DEFAULT NULL, reason text DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was valves;
    v   valves;
BEGIN
    IF set_valve.name IS NULL OR set_valve.name !~ '^[a-z0-9][a-z0-9-]{0,62}$' THEN
        RAISE EXCEPTION 'the name must have 1 to 63 small letters, digits and hyphens, and begin with no hyphen' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('director.valves'));
    SELECT * INTO was FROM valves x WHERE x.name = set_valve.name;
    v := was;
    v.name := set_valve.name;
    v.rate := coalesce(set_valve.rate, was.rate);
    v.max_players := CASE WHEN set_valve.max_players IS NULL THEN was.max_players ELSE nullif(set_valve.max_players, 0) END;
    v.region := coalesce(set_valve.region, was.region, '');
    v.build := coalesce(set_valve.build, was.build, '');
    v.staff_share := coalesce(set_valve.staff_share, was.staff_share, 0.05);
    v.max_waiting := coalesce(set_valve.max_waiting, was.max_waiting, 200000);
    IF v.rate IS NULL THEN
        RAISE EXCEPTION 'a new valve needs a rate' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.rate <= 0 OR v.rate > 100000 THEN
        RAISE EXCEPTION 'the rate must be more than 0 and at most 100000 admissions a second' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'ops.close_valve admits nobody.';
    ELSIF v.max_players < 0 THEN
        RAISE EXCEPTION 'max_players must be 1 or more, or 0 for any number' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.region !~ '^[a-z0-9-]{0,32}$' THEN
        RAISE EXCEPTION 'the region must have at most 32 characters of a-z 0-9 -, or be empty for all' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.build !~ '^[A-Za-z0-9._+-]{0,64}$' THEN
        RAISE EXCEPTION 'the build must have at most 64 characters of A-Z a-z 0-9 . _ + -, or be empty for all' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.staff_share NOT BETWEEN 0 AND 0.5 THEN
        RAISE EXCEPTION 'staff_share must be 0 to 0.5' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.max_waiting NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'max_waiting must be 1 to 1000000' USING ERRCODE = 'invalid_parameter_value';
    ELSIF was.name IS NOT NULL AND (v.region, v.build) <> (was.region, was.build) THEN
        RAISE EXCEPTION 'valve % is of region % and build %, which cannot change', v.name, quote_literal(was.region), quote_literal(was.build)
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Delete it, or make another one.';
    ELSIF EXISTS (SELECT FROM valves x WHERE x.region = v.region AND x.build = v.build AND x.name <> v.name) THEN
        RAISE EXCEPTION 'there is another valve of this region and build' USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF was.name IS NULL AND (SELECT count(*) FROM valves) >= 64 THEN
        RAISE EXCEPTION 'there are 64 valves: delete one first' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM check_valve_reason(set_valve.reason);
    IF was.mode = 'limited' AND (v.rate, v.staff_share, v.max_waiting) = (was.rate, was.staff_share, was.max_waiting)
       AND v.max_players IS NOT DISTINCT FROM was.max_players THEN
        RETURN false;
    END IF;
    INSERT INTO valves AS x (name, region, build, mode, rate, max_players, staff_share, max_waiting, reason, set_by)
    VALUES (v.name, v.region, v.build, 'limited', v.rate, v.max_players, v.staff_share, v.max_waiting, nullif(btrim(set_valve.reason), ''), acting_operator())
    ON CONFLICT ON CONSTRAINT valves_pkey DO UPDATE SET mode = 'limited', rate = excluded.rate, max_players = excluded.max_players,
        staff_share = excluded.staff_share, max_waiting = excluded.max_waiting, reason = excluded.reason, set_by = excluded.set_by, set_at = clock_timestamp();
    INSERT INTO login_queues AS l (valve) VALUES (v.name) ON CONFLICT ON CONSTRAINT login_queues_pkey DO UPDATE
        SET tokens = 0, staff_tokens = 0, refilled_at = clock_timestamp(), recent = 0, recent_since = clock_timestamp() WHERE was.mode = 'open';
    IF v.staff_share = 0 THEN
        UPDATE admissions a SET is_staff = false WHERE a.valve = v.name AND a.is_staff;
        UPDATE login_queues l SET waiting_staff = 0 WHERE l.valve = v.name;
    END IF;
    IF was.mode IS NULL OR was.mode = 'open' THEN
        PERFORM adopt_players(v.name, 1000000);
    END IF;
    INSERT INTO events (region, kind, actor, detail) VALUES (v.region, 'valve.set', acting_operator(),
        jsonb_strip_nulls(jsonb_build_object('valve', v.name, 'build', nullif(v.build, ''), 'rate', v.rate, 'max_players', v.max_players,
            'staff_share', v.staff_share, 'max_waiting', v.max_waiting, 'reason', nullif(btrim(set_valve.reason), ''))));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_valve IS 'Makes a valve, or changes it, and makes it limit: rate admissions a second, and max_players at once (0: any number). NULL leaves what is there; a new valve needs a rate, and has 5 % for staff and a line of 200,000. Region and build say whom it is for; empty: all. Players who are in stay in. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION check_valve_reason(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF length(check_valve_reason.reason) > 500 THEN
        RAISE EXCEPTION 'the reason must have at most 500 characters' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION change_valve(of_valve text, to_mode text, kind text, why text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    was valves;
BEGIN
    PERFORM check_valve_reason(why);
    PERFORM pg_advisory_xact_lock(hashtext('director.valves'));
    SELECT * INTO was FROM valves v WHERE v.name = of_valve;
    IF was.name IS NULL THEN
        RAISE EXCEPTION 'there is no valve %', coalesce(quote_literal(of_valve), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF was.mode = to_mode THEN
        RETURN false;
    END IF;
    IF to_mode = 'deleted' THEN
        DELETE FROM valves v WHERE v.name = of_valve;
        DELETE FROM admissions a WHERE a.valve = of_valve;
    ELSE
        UPDATE valves v SET mode = to_mode, reason = nullif(btrim(why), ''), set_by = acting_operator(), set_at = clock_timestamp() WHERE v.name = of_valve;
        UPDATE login_queues l SET recent = 0, recent_since = clock_timestamp(), refilled_at = clock_timestamp() WHERE l.valve = of_valve;
    END IF;
    IF to_mode = 'closed' AND was.mode = 'open' THEN
        PERFORM adopt_players(of_valve, 1000000);
    END IF;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, kind, acting_operator(),
        jsonb_strip_nulls(jsonb_build_object('valve', was.name, 'build', nullif(was.build, ''), 'reason', nullif(btrim(why), ''))));
    RETURN true;
END
$$;
-- +goose StatementEnd

CREATE FUNCTION ops.open_valve(name text, reason text DEFAULT NULL) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT change_valve(open_valve.name, 'open', 'valve.opened', open_valve.reason)
$$;
COMMENT ON FUNCTION ops.open_valve(text, text) IS 'Lets everybody in, those in the line first of all. Its limits are kept for ops.set_valve. Returns whether this changed anything.';
CREATE FUNCTION ops.close_valve(name text, reason text DEFAULT NULL) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT change_valve(close_valve.name, 'closed', 'valve.closed', close_valve.reason)
$$;
COMMENT ON FUNCTION ops.close_valve(text, text) IS 'Admits nobody any more. The line stays, players can join it, and those who are in stay in. Returns whether this changed anything.';
CREATE FUNCTION ops.delete_valve(name text, reason text DEFAULT NULL) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT change_valve(delete_valve.name, 'deleted', 'valve.deleted', delete_valve.reason)
$$;
COMMENT ON FUNCTION ops.delete_valve(text, text) IS 'Removes a valve with its line. Returns true.';

-- +goose StatementBegin
CREATE FUNCTION ops.admit_player(valve text, player text, reason text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was admissions;
BEGIN
    IF coalesce(btrim(admit_player.reason), '') = '' THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the player is admitted' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(admit_player.player, '') = '' OR length(admit_player.player) > 256 THEN
        RAISE EXCEPTION 'the player must be a sub of 1 to 256 characters' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM check_valve_reason(admit_player.reason);
    PERFORM FROM login_queues l WHERE l.valve = admit_player.valve FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no valve %', coalesce(quote_literal(admit_player.valve), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF EXISTS (SELECT FROM valves v WHERE v.name = admit_player.valve AND v.mode = 'open') THEN
        RETURN false;
    END IF;
    SELECT * INTO was FROM admissions a WHERE a.valve = admit_player.valve AND a.sub = admit_player.player;
    IF was.admitted_at IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM leave_login_queue(admit_player.valve, ARRAY[admit_player.player]);
    INSERT INTO admissions (valve, sub, is_staff, place, joined_at, admitted_at, expires_at)
    VALUES (admit_player.valve, admit_player.player, coalesce(was.is_staff, false), coalesce(was.place, 0), coalesce(was.joined_at, clock_timestamp()),
        clock_timestamp(), clock_timestamp() + admission_life());
    UPDATE login_queues l SET players = l.players + 1 WHERE l.valve = admit_player.valve;
    INSERT INTO events (kind, actor, detail) VALUES ('valve.player_admitted', acting_operator(),
        jsonb_build_object('valve', admit_player.valve, 'player', admit_player.player, 'reason', btrim(admit_player.reason)));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.admit_player(text, text, text) IS 'Admits a player at once, past the line and the limits, for the reason. Returns false where the player is admitted already, or the valve is open.';
REVOKE EXECUTE ON FUNCTION ops.set_valve, ops.open_valve, ops.close_valve, ops.delete_valve, ops.admit_player FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.set_valve, ops.open_valve, ops.close_valve, ops.delete_valve, ops.admit_player;
DROP VIEW ops.valves, ops.admissions;
DROP FUNCTION change_valve, check_valve_reason, mark_login_queue, adopt_players, prune_login_queue, players_last_seen, leave_login_queue, join_login_queue,
    turn_login_queue, admit_first, admission_kept_for, admission_life;
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes',
                 'lobby_invitations', 'lobby_sayings', 'player_inboxes', 'player_messages']::regclass[]
$$;
DROP TABLE login_queue_marks, admissions, login_queues, valves;
