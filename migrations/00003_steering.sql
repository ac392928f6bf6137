-- What operators can change, as SQL functions. Each function keeps the rules of the director's own transactions (lock order,
-- counters, events), and names the operator in its event. They are SECURITY DEFINER, so that an operator needs no rights on
-- tables, with which the rules could be broken.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- +goose StatementBegin
CREATE FUNCTION ops.set_draining(instance text, drain boolean) RETURNS boolean LANGUAGE plpgsql AS $$
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
COMMENT ON FUNCTION ops.set_draining(text, boolean) IS 'What ops.drain and ops.undrain share.';

CREATE FUNCTION ops.drain(instance text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS 'SELECT ops.set_draining(instance, true)';
COMMENT ON FUNCTION ops.drain(text) IS 'Lets no new player onto the instance; its sessions go on. Answers whether that changed anything.';

CREATE FUNCTION ops.undrain(instance text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS 'SELECT ops.set_draining(instance, false)';
COMMENT ON FUNCTION ops.undrain(text) IS 'Lets players onto a draining instance again. Answers whether that changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.close_session(id text, reason text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    home text := split_part(close_session.id, '.', 1);
    room uuid;
    past record;
BEGIN
    IF (close_session.id ~* '^[a-z0-9-]{1,32}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') IS NOT TRUE THEN
        RAISE EXCEPTION '% is no session id', coalesce(quote_literal(close_session.id), 'NULL')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'It is region.uuid, as in column session of ops.sessions.';
    ELSIF coalesce(btrim(close_session.reason), '') = '' THEN
        RAISE EXCEPTION 'say why the session is closed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    room := split_part(close_session.id, '.', 2);

    PERFORM 1 FROM close_sessions(home, ARRAY[room], close_session.reason, 'sql:' || session_user);
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT h.closed_at, h.reason INTO past FROM session_history h WHERE h.region = home AND h.id = room;
    IF FOUND THEN
        RAISE EXCEPTION 'session % was closed at % (%)', close_session.id, past.closed_at, past.reason
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RAISE EXCEPTION 'there is no session %', close_session.id USING ERRCODE = 'no_data_found';
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.close_session(text, text) IS 'Closes a session, given as region.uuid, for the reason: its players lose their seats, its instance gets the room back.';

-- +goose StatementBegin
CREATE FUNCTION ops.taint_key(kid text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    tainted signing_keys;
    heir    signing_keys;
    moment  timestamptz;
BEGIN
    -- Whoever decides which key signs when takes this lock first; only then is the clock worth reading.
    PERFORM pg_advisory_xact_lock(hashtext('director.signing_keys'));
    moment := clock_timestamp();
    SELECT * INTO tainted FROM signing_keys k WHERE k.kid = taint_key.kid FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no key %', coalesce(quote_literal(taint_key.kid), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF tainted.tainted_at IS NOT NULL THEN
        RAISE NOTICE 'key % has been tainted since %', tainted.kid, tainted.tainted_at;
        RETURN false;
    END IF;

    UPDATE signing_keys k
    SET tainted_at = moment, verify_until = least(k.verify_until, greatest(moment, k.publish_at))
    WHERE k.kid = tainted.kid;
    IF NOT EXISTS (SELECT 1 FROM signing_keys k WHERE k.tainted_at IS NULL AND k.sign_from <= moment AND moment < k.sign_until) THEN
        UPDATE signing_keys k SET sign_from = greatest(moment, k.publish_at + k.lead)
        WHERE k.kid = (SELECT n.kid FROM signing_keys n WHERE n.sign_from > moment AND n.tainted_at IS NULL ORDER BY n.sign_from LIMIT 1)
        RETURNING k.* INTO heir;
        IF heir.kid IS NULL THEN
            RAISE WARNING 'no key is left to sign with: make one with "director keys rotate"';
        END IF;
    END IF;
    INSERT INTO events (kind, actor, detail) VALUES ('key.tainted', 'sql:' || session_user, jsonb_strip_nulls(jsonb_build_object(
        'kid', tainted.kid, 'next', heir.kid, 'next_signs_from', heir.sign_from)));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.taint_key(text) IS 'Declares a signing key compromised: it leaves the JWKS now, and if that leaves none to sign, the next one takes over as soon as verifiers may know it; until then one signs that a replica or worker makes. Answers false when it was tainted before.';

REVOKE EXECUTE ON FUNCTION ops.set_draining, ops.drain, ops.undrain, ops.close_session, ops.taint_key FROM PUBLIC;

-- +goose Down
DROP FUNCTION ops.drain, ops.undrain, ops.set_draining, ops.close_session, ops.taint_key;
