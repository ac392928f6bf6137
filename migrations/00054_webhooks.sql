-- Notices to a studio's own services: subscriptions to the event log, and what the log lacks for a subscriber to build its own state.
--
-- The order of the log: (tx, id) must be the order in which transactions that changed one session have committed. The number of a transaction
-- alone is not that order: a transaction gets its number with its first lock, may then wait for another one that began later, and commit after it.
-- So tx becomes the highest number that was assigned when the row was written, read anew under the locks that the transaction has by then, and id
-- begins with that time. A row is still shown only when each transaction with a number up to its tx has ended, its own included.
--
-- What a subscriber needs beyond today's kinds is written by triggers, which are disabled until somebody asks for it: seats and tickets change
-- too often to be recorded for nobody. Triggers see what each release writes, so that an upgrade makes no gap. Their kinds are 'seat.reserved',
-- 'seat.connected' and 'seat.left'; 'ticket.queued', 'ticket.paused', 'ticket.matched', 'ticket.accepting', 'ticket.waiting_for_server',
-- 'ticket.assigned', 'ticket.declined', 'ticket.cancelled' and 'ticket.expired', after the states of tickets; and 'match.ended'.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Not SQL, and not STABLE: the snapshot must be a new one, not that with which the statement began, before it waited for locks.
-- +goose StatementBegin
CREATE FUNCTION event_position() RETURNS xid8 LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own  xid8 := pg_current_xact_id(); -- assigned before the snapshot is taken, so that it is below its end
    past xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN greatest(own::text::bigint, past::text::bigint - 1)::text::xid8;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION event_position() IS 'The highest number that a transaction has now: the first half of the place of a new event in the log.';

-- A UUID of version 7 (RFC 9562): milliseconds, then a fraction of one, then random bits.
CREATE FUNCTION event_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(overlay(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(t.us / 1000) FROM 3) FROM 1 FOR 6)
                          PLACING int2send((28672 + (t.us % 1000) * 4)::smallint) FROM 7 FOR 2), 'hex')::uuid
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) t
$$;
COMMENT ON FUNCTION event_id() IS 'The id of a new event: events of one place in the log are sorted by when they were written.';

ALTER TABLE events ALTER COLUMN tx SET DEFAULT event_position(), ALTER COLUMN id SET DEFAULT event_id();

CREATE TABLE webhooks (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name         text COLLATE "C" NOT NULL UNIQUE,
    url          text NOT NULL,
    kinds        text[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    paused_at    timestamptz,
    pause_reason text,
    CONSTRAINT a_webhook_has_a_short_name CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    CONSTRAINT a_webhook_has_a_url_without_credentials CHECK (length(url) <= 2048 AND url ~* '^https?://[^/@?#\s\\]+([/?][^#\s]*)?$'),
    CONSTRAINT a_webhook_has_1_to_64_kinds CHECK (cardinality(kinds) BETWEEN 1 AND 64),
    CONSTRAINT only_a_paused_webhook_has_a_reason CHECK (pause_reason IS NULL OR paused_at IS NOT NULL)
);
COMMENT ON TABLE webhooks IS 'Subscriptions to the event log.';
COMMENT ON COLUMN webhooks.kinds IS 'kinds of events, noun.* for all kinds of a noun, or * for all';

-- No index on what changes with each delivery, so that updates stay HOT.
CREATE TABLE webhook_progress (
    webhook       uuid PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
    tx            xid8 NOT NULL,
    id            uuid NOT NULL,
    worker        uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    epoch         bigint NOT NULL DEFAULT 0,
    lease_until   timestamptz NOT NULL DEFAULT '-infinity',
    failing_since timestamptz,
    failures      integer NOT NULL DEFAULT 0,
    next_at       timestamptz NOT NULL DEFAULT now(),
    last_error    text,
    failed_at     timestamptz,
    delivered     bigint NOT NULL DEFAULT 0,
    delivered_at  timestamptz
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE webhook_progress IS 'How far each webhook has come, and which worker delivers for it.';
COMMENT ON COLUMN webhook_progress.tx IS 'with id, the last event of the log that was delivered, did not concern it, or is in webhook_deliveries';
COMMENT ON COLUMN webhook_progress.epoch IS 'counts the workers that have delivered: what a former one writes is refused';
COMMENT ON COLUMN webhook_progress.failing_since IS 'since when no delivery has succeeded; NULL: the last ones did';

-- Events behind the cursor that are not delivered. The body is kept, because the log is dropped after its retention.
CREATE TABLE webhook_deliveries (
    webhook    uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    tx         xid8 NOT NULL,
    id         uuid NOT NULL,
    subject    text NOT NULL,
    kind       text NOT NULL,
    at         timestamptz NOT NULL,
    body       text NOT NULL,
    first_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts   integer NOT NULL,
    next_at    timestamptz,
    last_error text,
    dead_at    timestamptz,
    PRIMARY KEY (webhook, tx, id),
    CONSTRAINT a_dead_letter_is_not_tried_again CHECK (dead_at IS NULL OR next_at IS NULL)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX webhook_deliveries_that_are_due ON webhook_deliveries (webhook, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_of_subjects ON webhook_deliveries (webhook, subject, tx, id) WHERE dead_at IS NULL;
CREATE INDEX webhook_deliveries_that_are_dead ON webhook_deliveries (webhook, tx, id) WHERE dead_at IS NOT NULL;
COMMENT ON TABLE webhook_deliveries IS 'Events that wait for another attempt, and dead letters.';
COMMENT ON COLUMN webhook_deliveries.subject IS 'what the event is about: those of one subject are delivered in order';
COMMENT ON COLUMN webhook_deliveries.next_at IS 'NULL: it waits for an earlier event of its subject, or is a dead letter';

-- What is recorded only on demand, by the noun of its kinds.
CREATE TABLE recorded_events (
    noun text COLLATE "C" PRIMARY KEY,
    kept boolean NOT NULL DEFAULT false,
    CONSTRAINT seats_tickets_and_ends_of_matches_are_recorded_on_demand CHECK (noun IN ('seat', 'ticket', 'match'))
);
COMMENT ON TABLE recorded_events IS 'Kinds of events that are recorded only if a webhook or an operator asks for them.';
COMMENT ON COLUMN recorded_events.kept IS 'whether an operator asks for them';
INSERT INTO recorded_events (noun) VALUES ('seat'), ('ticket'), ('match');

-- The place is computed once for a statement: its locks are held by then.
-- +goose StatementBegin
CREATE FUNCTION record_taken_seats() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place xid8 := event_position();
BEGIN
    INSERT INTO events (region, tx, kind, session_id, detail)
    SELECT n.region, place, 'seat.' || n.state, n.session_id,
           jsonb_strip_nulls(jsonb_build_object('player', n.sub, 'mode', n.mode, 'party', n.party, 'match', n.match_id, 'team', n.team))
    FROM taken n;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION record_changed_seats() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place xid8 := event_position();
BEGIN
    INSERT INTO events (region, tx, kind, session_id, detail)
    SELECT n.region, place, 'seat.' || n.state, n.session_id,
           jsonb_strip_nulls(jsonb_build_object('player', n.sub, 'mode', n.mode, 'party', n.party, 'match', n.match_id, 'team', n.team))
    FROM after n JOIN before o ON o.region = n.region AND o.session_id = n.session_id AND o.sub = n.sub
    WHERE n.state <> o.state;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION record_left_seats() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place xid8 := event_position();
BEGIN
    INSERT INTO events (region, tx, kind, session_id, detail)
    SELECT n.region, place, 'seat.left', n.session_id, jsonb_strip_nulls(jsonb_build_object('player', n.sub, 'mode', n.mode, 'party', n.party,
        'match', n.match_id, 'team', n.team, 'reason', n.reason, 'had_connected', n.connected_at IS NOT NULL))
    FROM freed n;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- The players and profiles of a new ticket are written before its first state. A final state has its players. Of what an operator cancels,
-- ops.cancel_ticket writes the event.
-- +goose StatementBegin
CREATE FUNCTION record_ticket_states() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place xid8 := event_position();
BEGIN
    INSERT INTO events (region, tx, kind, detail)
    SELECT n.region, place, 'ticket.' || n.state, jsonb_strip_nulls(jsonb_build_object('ticket', n.ticket_id, 'n', n.n, 'reason', n.reason,
        'match', n.match_id, 'players', coalesce(to_jsonb(n.party), p.players), 'profiles', p.profiles))
    FROM states n LEFT JOIN LATERAL (
        SELECT jsonb_agg(DISTINCT o.sub) AS players, jsonb_agg(DISTINCT o.profile) FILTER (WHERE o.profile <> '') AS profiles FROM ticket_players o
        WHERE o.region || '' = n.region AND o.ticket_id = n.ticket_id) p ON n.n = 1
    WHERE n.reason IS DISTINCT FROM 'cancelled_by_operator'
    ORDER BY n.ticket_id, n.n;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION record_ended_matches() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place xid8 := event_position();
BEGIN
    INSERT INTO events (region, tx, kind, instance_id, session_id, detail)
    SELECT n.region, place, 'match.ended', n.instance_id, n.id, jsonb_build_object('match', n.match_id, 'mode', n.mode, 'reason', n.reason)
    FROM closed n WHERE n.match_id IS NOT NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER seats_taken_are_recorded AFTER INSERT ON seats REFERENCING NEW TABLE AS taken
    FOR EACH STATEMENT EXECUTE FUNCTION record_taken_seats();
CREATE TRIGGER seats_that_change_are_recorded AFTER UPDATE ON seats REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION record_changed_seats();
CREATE TRIGGER seats_left_are_recorded AFTER INSERT ON seat_history REFERENCING NEW TABLE AS freed
    FOR EACH STATEMENT EXECUTE FUNCTION record_left_seats();
CREATE TRIGGER states_of_tickets_are_recorded AFTER INSERT ON ticket_events REFERENCING NEW TABLE AS states
    FOR EACH STATEMENT EXECUTE FUNCTION record_ticket_states();
CREATE TRIGGER ends_of_matches_are_recorded AFTER INSERT ON session_history REFERENCING NEW TABLE AS closed
    FOR EACH STATEMENT EXECUTE FUNCTION record_ended_matches();
ALTER TABLE seats DISABLE TRIGGER seats_taken_are_recorded, DISABLE TRIGGER seats_that_change_are_recorded;
ALTER TABLE seat_history DISABLE TRIGGER seats_left_are_recorded;
ALTER TABLE ticket_events DISABLE TRIGGER states_of_tickets_are_recorded;
ALTER TABLE session_history DISABLE TRIGGER ends_of_matches_are_recorded;

-- Enables and disables the triggers as webhooks and operators ask. Each change waits for the transactions that write to the table, and others for
-- it: so all tables are locked in one order, and for less than a second.
-- +goose StatementBegin
CREATE FUNCTION apply_recorded_events() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    change record;
    before text := current_setting('lock_timeout');
BEGIN
    PERFORM set_config('lock_timeout', '900ms', true);
    FOR change IN
        SELECT t.tgrelid::regclass AS relation, t.tgname AS name, w.wanted
        FROM (VALUES ('seat', 'seats_taken_are_recorded'), ('seat', 'seats_that_change_are_recorded'), ('seat', 'seats_left_are_recorded'),
                     ('ticket', 'states_of_tickets_are_recorded'), ('match', 'ends_of_matches_are_recorded')) AS k(noun, trigger)
        JOIN recorded_events r ON r.noun = k.noun
        CROSS JOIN LATERAL (SELECT r.kept OR EXISTS (
            SELECT FROM webhooks h CROSS JOIN LATERAL unnest(h.kinds) AS u(kind) WHERE split_part(u.kind, '.', 1) IN (r.noun, '*')) AS wanted) w
        JOIN pg_catalog.pg_trigger t ON t.tgname = k.trigger AND NOT t.tgisinternal
             AND t.tgrelid IN ('seats'::regclass, 'seat_history'::regclass, 'ticket_events'::regclass, 'session_history'::regclass)
        WHERE (t.tgenabled <> 'D') <> w.wanted
        ORDER BY t.tgrelid::regclass::text, t.tgname
    LOOP
        EXECUTE format('ALTER TABLE %s %s TRIGGER %I', change.relation, CASE WHEN change.wanted THEN 'ENABLE' ELSE 'DISABLE' END, change.name);
    END LOOP;
    PERFORM set_config('lock_timeout', before, true);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ops.record_events(noun text, keep boolean) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF record_events.noun IS NULL OR record_events.noun NOT IN ('seat', 'ticket', 'match') OR keep IS NULL THEN
        RAISE EXCEPTION 'the noun must be seat, ticket or match, the other kinds are always recorded; keep must be true or false'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('director.webhooks'));
    UPDATE recorded_events r SET kept = keep WHERE r.noun = record_events.noun AND r.kept <> keep;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM apply_recorded_events();
    INSERT INTO events (kind, actor, detail) VALUES ('events.recorded', acting_operator(), jsonb_build_object('noun', record_events.noun, 'keep', keep));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.record_events(text, boolean) IS 'Records the events of seats, of tickets, or the ends of matches (noun seat, ticket or match), or no longer. Those that a webhook asks for are recorded anyway. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.create_webhook(name text, url text, kinds text[]) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    made uuid;
BEGIN
    IF create_webhook.name IS NULL OR create_webhook.name !~ '^[a-z0-9][a-z0-9-]{0,62}$' THEN
        RAISE EXCEPTION 'the name must have 1 to 63 small letters, digits and hyphens, and begin with no hyphen' USING ERRCODE = 'invalid_parameter_value';
    ELSIF create_webhook.url IS NULL OR length(create_webhook.url) > 2048 OR create_webhook.url !~* '^https?://[^/@?#\s\\]+([/?][^#\s]*)?$' THEN
        RAISE EXCEPTION 'the url must be an http or https URL of at most 2048 characters, without user, password and fragment' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(cardinality(create_webhook.kinds), 0) NOT BETWEEN 1 AND 64
          OR EXISTS (SELECT FROM unnest(create_webhook.kinds) AS u(kind) WHERE u.kind IS NULL OR u.kind !~ '^([a-z_]{1,40}\.(\*|[a-z_]{1,40})|\*)$') THEN
        RAISE EXCEPTION 'the kinds must be 1 to 64 kinds of events, such as session.closed, or seat.* for all of a noun, or * for all' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('director.webhooks'));
    IF EXISTS (SELECT FROM webhooks w WHERE w.name = create_webhook.name) THEN
        RAISE EXCEPTION 'there is a webhook % already', quote_literal(name) USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF (SELECT count(*) FROM webhooks) >= 64 THEN
        RAISE EXCEPTION 'there are 64 webhooks already, which is the most that there may be' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    INSERT INTO webhooks (name, url, kinds) VALUES (create_webhook.name, create_webhook.url, create_webhook.kinds) RETURNING id INTO made;
    PERFORM apply_recorded_events();
    -- From here on, transactions in progress included: what they write is behind this place.
    INSERT INTO webhook_progress (webhook, tx, id)
    VALUES (made, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    INSERT INTO events (kind, actor, detail) VALUES ('webhook.created', acting_operator(),
        jsonb_build_object('webhook', create_webhook.name, 'kinds', create_webhook.kinds));
    RETURN made;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.create_webhook(text, text, text[]) IS 'Subscribes a URL to kinds of events from now on, such as session.closed, seat.* or *. Workers send it each event with a POST. Returns its id.';

-- +goose StatementBegin
CREATE FUNCTION webhook_named(name text) RETURNS webhooks LANGUAGE plpgsql AS $$
DECLARE
    found_one webhooks;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.webhooks'));
    SELECT * INTO found_one FROM webhooks w WHERE w.name = webhook_named.name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no webhook %', coalesce(quote_literal(webhook_named.name), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    RETURN found_one;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ops.pause_webhook(name text, reason text DEFAULT '') RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was webhooks := webhook_named(name);
BEGIN
    IF length(reason) > 500 THEN
        RAISE EXCEPTION 'the reason must have at most 500 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF was.paused_at IS NOT NULL THEN
        RETURN false;
    END IF;
    UPDATE webhooks w SET paused_at = now(), pause_reason = nullif(btrim(reason), '') WHERE w.id = was.id;
    INSERT INTO events (kind, actor, detail) VALUES ('webhook.paused', acting_operator(),
        jsonb_strip_nulls(jsonb_build_object('webhook', was.name, 'reason', nullif(btrim(reason), ''))));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.pause_webhook(text, text) IS 'Sends a webhook nothing until ops.resume_webhook, which continues where it ended. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.resume_webhook(name text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was webhooks := webhook_named(name);
BEGIN
    UPDATE webhook_progress p SET next_at = clock_timestamp() WHERE p.webhook = was.id;
    UPDATE webhooks w SET paused_at = NULL, pause_reason = NULL WHERE w.id = was.id AND w.paused_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO events (kind, actor, detail) VALUES ('webhook.resumed', acting_operator(), jsonb_build_object('webhook', was.name));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.resume_webhook(text) IS 'Ends a pause of a webhook, and makes one that fails be tried at once. Returns whether it was paused.';

-- +goose StatementBegin
CREATE FUNCTION ops.delete_webhook(name text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was webhooks := webhook_named(name);
BEGIN
    DELETE FROM webhooks w WHERE w.id = was.id;
    PERFORM apply_recorded_events();
    INSERT INTO events (kind, actor, detail) VALUES ('webhook.deleted', acting_operator(), jsonb_build_object('webhook', was.name));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.delete_webhook(text) IS 'Ends a subscription, and deletes its dead letters.';

-- +goose StatementBegin
CREATE FUNCTION ops.replay_webhook(name text, event uuid DEFAULT NULL) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was      webhooks := webhook_named(name);
    replayed integer;
BEGIN
    UPDATE webhook_deliveries d SET dead_at = NULL, attempts = 0, first_at = clock_timestamp(), next_at = clock_timestamp()
    WHERE d.webhook = was.id AND d.dead_at IS NOT NULL AND (replay_webhook.event IS NULL OR d.id = replay_webhook.event);
    GET DIAGNOSTICS replayed = ROW_COUNT;
    IF replayed > 0 THEN
        INSERT INTO events (kind, actor, detail) VALUES ('webhook.replayed', acting_operator(),
            jsonb_strip_nulls(jsonb_build_object('webhook', was.name, 'event', replay_webhook.event, 'events', replayed)));
    END IF;
    RETURN replayed;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.replay_webhook(text, uuid) IS 'Sends dead letters of a webhook again: that of an event or, with NULL, all. Returns how many.';

-- +goose StatementBegin
CREATE FUNCTION ops.test_webhook(name text) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was   webhooks := webhook_named(name);
    event uuid;
BEGIN
    INSERT INTO events (kind, actor, detail) VALUES ('webhook.tested', acting_operator(), jsonb_build_object('webhook', was.name)) RETURNING id INTO event;
    RETURN event;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.test_webhook(text) IS 'Writes an event webhook.tested, which is sent to this webhook whatever kinds it asks for. Returns the id of the event.';

REVOKE EXECUTE ON FUNCTION ops.record_events, ops.create_webhook, ops.pause_webhook, ops.resume_webhook, ops.delete_webhook, ops.replay_webhook,
    ops.test_webhook FROM PUBLIC;

CREATE VIEW ops.webhooks AS
SELECT w.name, w.id AS webhook, w.url, w.kinds,
       CASE WHEN w.paused_at IS NOT NULL THEN 'paused' WHEN p.failing_since IS NOT NULL THEN 'failing' ELSE 'active' END AS state,
       w.pause_reason AS reason, coalesce(statement_timestamp() - least(k.at, d.oldest), '0') AS lag, p.failing_since, p.failures,
       CASE WHEN p.failing_since IS NOT NULL THEN p.next_at END AS next_at, p.last_error, p.failed_at, p.delivered, p.delivered_at,
       d.waiting, d.dead AS dead_letters, CASE WHEN p.lease_until > clock_timestamp() THEN p.worker END AS worker, w.created_at, p.tx, p.id
FROM webhooks w
JOIN webhook_progress p ON p.webhook = w.id
LEFT JOIN LATERAL (
    SELECT e.at FROM events e WHERE (e.tx, e.id) > (p.tx, p.id) AND e.tx >= p.tx AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY e.tx, e.id LIMIT 1) k ON true
CROSS JOIN LATERAL (
    SELECT min(o.at) FILTER (WHERE o.dead_at IS NULL) AS oldest, count(*) FILTER (WHERE o.dead_at IS NULL) AS waiting,
           count(*) FILTER (WHERE o.dead_at IS NOT NULL) AS dead
    FROM webhook_deliveries o WHERE o.webhook = w.id) d;
COMMENT ON VIEW ops.webhooks IS 'Subscriptions to the event log, and how far they have come.';
COMMENT ON COLUMN ops.webhooks.name IS 'Its name.';
COMMENT ON COLUMN ops.webhooks.webhook IS 'Its id.';
COMMENT ON COLUMN ops.webhooks.url IS 'Where its events are sent.';
COMMENT ON COLUMN ops.webhooks.kinds IS 'Which kinds of events it gets: kinds, noun.* for all of a noun, * for all.';
COMMENT ON COLUMN ops.webhooks.state IS 'active; failing: no delivery has succeeded since failing_since; paused.';
COMMENT ON COLUMN ops.webhooks.reason IS 'Why it is paused; NULL: nobody said, or it is not.';
COMMENT ON COLUMN ops.webhooks.lag IS 'How long ago the oldest event happened that it has not got and that is no dead letter.';
COMMENT ON COLUMN ops.webhooks.failing_since IS 'Since when no delivery has succeeded; NULL: the last ones did.';
COMMENT ON COLUMN ops.webhooks.failures IS 'How many rounds in a row have failed.';
COMMENT ON COLUMN ops.webhooks.next_at IS 'When one that fails is tried again.';
COMMENT ON COLUMN ops.webhooks.last_error IS 'Why the last delivery that failed did; NULL: none has failed.';
COMMENT ON COLUMN ops.webhooks.failed_at IS 'When that was.';
COMMENT ON COLUMN ops.webhooks.delivered IS 'How many events were delivered.';
COMMENT ON COLUMN ops.webhooks.delivered_at IS 'When an event was last delivered.';
COMMENT ON COLUMN ops.webhooks.waiting IS 'Events that wait for another attempt, or behind one of the same subject that does.';
COMMENT ON COLUMN ops.webhooks.dead_letters IS 'Events that were tried for three days: ops.webhook_deliveries. ops.replay_webhook sends them again.';
COMMENT ON COLUMN ops.webhooks.worker IS 'The worker that delivers; NULL: none does.';
COMMENT ON COLUMN ops.webhooks.created_at IS 'When it was made.';
COMMENT ON COLUMN ops.webhooks.tx IS 'With id, its place in ops.event_feed: every event up to it was delivered, does not concern it, or is in ops.webhook_deliveries.';
COMMENT ON COLUMN ops.webhooks.id IS 'See tx.';

CREATE VIEW ops.webhook_deliveries AS
SELECT w.name, d.id AS event, d.kind, d.subject,
       CASE WHEN d.dead_at IS NOT NULL THEN 'dead' WHEN d.next_at IS NOT NULL THEN 'retrying' ELSE 'behind' END AS state,
       d.at, d.attempts, d.first_at, d.next_at, d.last_error, d.dead_at, d.body, d.tx
FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook;
COMMENT ON VIEW ops.webhook_deliveries IS 'Events that webhooks have not got in the first attempt. What was delivered is not kept.';
COMMENT ON COLUMN ops.webhook_deliveries.name IS 'The name of the webhook.';
COMMENT ON COLUMN ops.webhook_deliveries.event IS 'The id of the event. Its webhook-id is evt_ and this id, in each attempt.';
COMMENT ON COLUMN ops.webhook_deliveries.kind IS 'The kind of the event.';
COMMENT ON COLUMN ops.webhook_deliveries.subject IS 'What the event is about: those of one subject are delivered in order.';
COMMENT ON COLUMN ops.webhook_deliveries.state IS 'retrying; behind: an earlier event of its subject is retried; dead: it is not tried any more.';
COMMENT ON COLUMN ops.webhook_deliveries.at IS 'When the event happened.';
COMMENT ON COLUMN ops.webhook_deliveries.attempts IS 'How often it was sent.';
COMMENT ON COLUMN ops.webhook_deliveries.first_at IS 'When it was first due.';
COMMENT ON COLUMN ops.webhook_deliveries.next_at IS 'When it is tried again; NULL: it is behind another one, or dead.';
COMMENT ON COLUMN ops.webhook_deliveries.last_error IS 'Why the last attempt failed; NULL: there was none.';
COMMENT ON COLUMN ops.webhook_deliveries.dead_at IS 'When it became a dead letter.';
COMMENT ON COLUMN ops.webhook_deliveries.body IS 'What is sent, as JSON.';
COMMENT ON COLUMN ops.webhook_deliveries.tx IS 'With event, its place in ops.event_feed.';

CREATE VIEW ops.recorded_events AS
SELECT r.noun, r.kept, r.kept OR EXISTS (
    SELECT FROM webhooks h CROSS JOIN LATERAL unnest(h.kinds) AS u(kind) WHERE split_part(u.kind, '.', 1) IN (r.noun, '*')) AS recorded
FROM recorded_events r;
COMMENT ON VIEW ops.recorded_events IS 'The kinds of events that are recorded on demand. All others are always recorded.';
COMMENT ON COLUMN ops.recorded_events.noun IS 'seat: all kinds of seats; ticket: all kinds of tickets; match: match.ended.';
COMMENT ON COLUMN ops.recorded_events.kept IS 'Whether an operator asks for them, with ops.record_events.';
COMMENT ON COLUMN ops.recorded_events.recorded IS 'Whether they are recorded, for an operator or a webhook.';

-- A dump that is restored into another server: the places of webhooks are numbered anew with the events.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future
            OR (SELECT t.tx FROM tickets t WHERE t.region = r.region AND t.tx IS NOT NULL ORDER BY t.tx DESC LIMIT 1) >= future
            OR (SELECT e.tx FROM ticket_events e WHERE e.region = r.region ORDER BY e.tx DESC LIMIT 1) >= future)
        OR EXISTS (SELECT FROM agent_regions() r(region) WHERE
            (SELECT a.tx FROM agent_states a WHERE a.region = r.region ORDER BY a.tx DESC LIMIT 1) >= future)
        OR EXISTS (SELECT FROM webhook_progress p WHERE p.tx >= future)
        OR EXISTS (SELECT FROM webhook_deliveries d WHERE d.tx >= future);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $_$
DECLARE
    base   bigint;
    feed   text;
    moved  uuid[];
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        -- The place of a webhook becomes that of the last event up to it, or the beginning of the log.
        moved := ARRAY(SELECT p.webhook FROM webhook_progress p WHERE p.tx >= pg_snapshot_xmax(pg_current_snapshot()));
        UPDATE webhook_progress p SET id = coalesce((
            SELECT e.id FROM events e WHERE (e.tx, e.id) <= (p.tx, p.id) ORDER BY e.tx DESC, e.id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')
        WHERE p.webhook = ANY (moved);
        FOREACH feed IN ARRAY ARRAY['events', 'settled_tickets', 'tickets', 'ticket_events', 'agent_states', 'webhook_deliveries'] LOOP
            EXECUTE format($q$
                WITH old AS (
                    SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
                    FROM (SELECT DISTINCT e.tx FROM %1$I e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
                )
                UPDATE %1$I e SET tx = ($1 + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx $q$, feed) USING base;
        END LOOP;
        UPDATE webhook_progress p SET tx = coalesce((SELECT max(e.tx::text::bigint)::text::xid8 FROM events e WHERE e.id = p.id), '0')
        WHERE p.webhook = ANY (moved);
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
$_$;
-- +goose StatementEnd

COMMENT ON COLUMN ops.event_feed.tx IS 'The first half of the cursor: the highest number that a transaction had when the event was written. The order is that in which transactions that changed one session committed.';
COMMENT ON COLUMN ops.event_feed.id IS 'Its identity, which begins with the time at which it was written: the second half of the cursor.';
COMMENT ON COLUMN ops.events.tx IS 'The highest number that a transaction had when it was written. Ordered by (tx, id), the latest events are found fast.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
COMMENT ON COLUMN ops.event_feed.tx IS 'The transaction that wrote it: the first half of the cursor.';
COMMENT ON COLUMN ops.event_feed.id IS 'Its identity: the second half of the cursor.';
COMMENT ON COLUMN ops.events.tx IS 'The transaction that wrote it. Ordered by (tx, id), the latest events are found fast.';
DROP VIEW ops.webhooks, ops.webhook_deliveries, ops.recorded_events;
DROP FUNCTION ops.record_events, ops.create_webhook, ops.pause_webhook, ops.resume_webhook, ops.delete_webhook, ops.replay_webhook, ops.test_webhook;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future
            OR (SELECT t.tx FROM tickets t WHERE t.region = r.region AND t.tx IS NOT NULL ORDER BY t.tx DESC LIMIT 1) >= future
            OR (SELECT e.tx FROM ticket_events e WHERE e.region = r.region ORDER BY e.tx DESC LIMIT 1) >= future)
        OR EXISTS (SELECT FROM agent_regions() r(region) WHERE
            (SELECT a.tx FROM agent_states a WHERE a.region = r.region ORDER BY a.tx DESC LIMIT 1) >= future);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $_$
DECLARE
    base   bigint;
    feed   text;
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        FOREACH feed IN ARRAY ARRAY['events', 'settled_tickets', 'tickets', 'ticket_events', 'agent_states'] LOOP
            EXECUTE format($q$
                WITH old AS (
                    SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
                    FROM (SELECT DISTINCT e.tx FROM %1$I e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
                )
                UPDATE %1$I e SET tx = ($1 + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx $q$, feed) USING base;
        END LOOP;
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
$_$;
-- +goose StatementEnd
DROP FUNCTION webhook_named, apply_recorded_events;
DROP TRIGGER seats_taken_are_recorded ON seats;
DROP TRIGGER seats_that_change_are_recorded ON seats;
DROP TRIGGER seats_left_are_recorded ON seat_history;
DROP TRIGGER states_of_tickets_are_recorded ON ticket_events;
DROP TRIGGER ends_of_matches_are_recorded ON session_history;
DROP FUNCTION record_taken_seats, record_changed_seats, record_left_seats, record_ticket_states, record_ended_matches;
DROP TABLE webhook_deliveries, webhook_progress, webhooks, recorded_events;
ALTER TABLE events ALTER COLUMN tx SET DEFAULT pg_current_xact_id(), ALTER COLUMN id SET DEFAULT gen_random_uuid();
DROP FUNCTION event_position, event_id;
