-- Enrolments: what lets game servers that register themselves get a credential each, so that no secret is shared by the whole fleet.
--
-- The token of an enrolment is stored as its SHA-256, and the credentials of game servers not at all: they are MACs under the
-- key-encryption key. Lock order: enrolments → instance_directory → instances → enrolled_servers. A registration by an enrolment holds
-- its row from the beginning, so that two replicas never both take the last place.
--
-- Processes of releases before this one do not accept these tokens, and leave the rows alone.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE enrolments (
    region      text NOT NULL,
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    name        text COLLATE "C" NOT NULL,
    digest      bytea NOT NULL,            -- SHA-256 of the secret part of the token
    modes       text[] NOT NULL,           -- that its servers may offer; empty: any
    max_servers integer NOT NULL,          -- that run at one time
    expires_at  timestamptz NOT NULL,      -- the token registers until then; servers that it registered stay
    created_at  timestamptz NOT NULL DEFAULT now(),
    created_by  text NOT NULL,
    revoked_at  timestamptz,
    PRIMARY KEY (region, id),
    CONSTRAINT an_enrolment_has_a_region CHECK (region ~ '^[a-z0-9-]{1,32}$'),
    CONSTRAINT an_enrolment_has_a_short_name CHECK (name ~ '^[A-Za-z0-9._-]{1,64}$'),
    CONSTRAINT the_digest_of_an_enrolment_is_sha_256 CHECK (octet_length(digest) = 32),
    CONSTRAINT an_enrolment_names_at_most_32_modes CHECK (cardinality(modes) <= 32),
    CONSTRAINT an_enrolment_is_for_some_servers CHECK (max_servers BETWEEN 1 AND 100000)
);
CREATE UNIQUE INDEX a_name_is_of_one_enrolment ON enrolments (region, name) WHERE revoked_at IS NULL;

-- The instances that registered by an enrolment. A row counts only while the incarnation is the instance's: a registration by another
-- credential, also one of an earlier release, makes it void. The foreign key removes it with the instance.
CREATE TABLE enrolled_servers (
    region      text NOT NULL,
    instance_id text NOT NULL,
    enrolment   uuid NOT NULL,
    credential  uuid NOT NULL,             -- the only one that registers this instance again
    incarnation uuid NOT NULL,
    tokens_by   text NOT NULL,             -- fingerprint of the key-encryption key that made the credential
    enrolled_at timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    PRIMARY KEY (region, instance_id),
    FOREIGN KEY (region, instance_id) REFERENCES instances ON DELETE CASCADE,
    FOREIGN KEY (region, enrolment) REFERENCES enrolments
);
CREATE INDEX enrolled_servers_of_an_enrolment ON enrolled_servers (region, enrolment);

CREATE VIEW ops.enrolments AS
SELECT e.region, e.name, e.id AS enrolment,
       CASE WHEN e.revoked_at IS NOT NULL THEN 'revoked' WHEN e.expires_at <= statement_timestamp() THEN 'expired' ELSE 'valid' END AS state,
       e.modes, n.servers, e.max_servers, e.expires_at, e.created_at, e.created_by, e.revoked_at
FROM enrolments e CROSS JOIN LATERAL (
    SELECT count(*) AS servers FROM enrolled_servers s
    JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
    WHERE s.region = e.region AND s.enrolment = e.id) n;
COMMENT ON VIEW ops.enrolments IS 'What lets game servers that register themselves get a credential each: ops.create_enrolment makes one. One that ended 90 days ago disappears when the next is made.';
COMMENT ON COLUMN ops.enrolments.region IS 'The region of its game servers.';
COMMENT ON COLUMN ops.enrolments.name IS 'Its name; unique in the region among those that are not revoked.';
COMMENT ON COLUMN ops.enrolments.enrolment IS 'Its id, which is part of its token.';
COMMENT ON COLUMN ops.enrolments.state IS 'valid; expired or revoked: its token registers no game server any more.';
COMMENT ON COLUMN ops.enrolments.modes IS 'The modes that its game servers may offer; empty: any.';
COMMENT ON COLUMN ops.enrolments.servers IS 'Its game servers that have not ended.';
COMMENT ON COLUMN ops.enrolments.max_servers IS 'How many of them there may be at one time.';
COMMENT ON COLUMN ops.enrolments.expires_at IS 'Until when its token registers game servers. Those that it registered stay.';
COMMENT ON COLUMN ops.enrolments.created_at IS 'When it was made.';
COMMENT ON COLUMN ops.enrolments.created_by IS 'Who made it.';
COMMENT ON COLUMN ops.enrolments.revoked_at IS 'When it was revoked. NULL: it was not.';

CREATE VIEW ops.server_credentials AS
SELECT i.region, i.id AS instance, i.status,
       CASE WHEN s.instance_id IS NOT NULL THEN 'enrolment' WHEN i.deployment_id IS NOT NULL THEN 'deployment'
            WHEN i.creates_rooms THEN 'agent key' ELSE 'fleet token' END AS credential,
       e.name AS enrolment, s.enrolled_at, s.expires_at, s.tokens_by, s.revoked_at
FROM instances i
LEFT JOIN enrolled_servers s ON s.region = i.region AND s.instance_id = i.id AND s.incarnation = i.incarnation
LEFT JOIN enrolments e ON e.region = s.region AND e.id = s.enrolment;
COMMENT ON VIEW ops.server_credentials IS 'With which kind of credential each game server registered. Those that ended lately are included.';
COMMENT ON COLUMN ops.server_credentials.region IS 'Its region.';
COMMENT ON COLUMN ops.server_credentials.instance IS 'Its id.';
COMMENT ON COLUMN ops.server_credentials.status IS 'starting, ready, draining or gone.';
COMMENT ON COLUMN ops.server_credentials.credential IS 'enrolment: its own, which it got by an enrolment; deployment: its own, since the director started it; agent key: that of its Rivalis agent; fleet token: the secret that the fleet shares.';
COMMENT ON COLUMN ops.server_credentials.enrolment IS 'The name of its enrolment. NULL: none.';
COMMENT ON COLUMN ops.server_credentials.enrolled_at IS 'When it got its credential. NULL: it has none of an enrolment.';
COMMENT ON COLUMN ops.server_credentials.expires_at IS 'Until when the credential is valid; it is renewed while the game server lives. NULL: it has none of an enrolment.';
COMMENT ON COLUMN ops.server_credentials.tokens_by IS 'The fingerprint of the key-encryption key that made the credential. NULL: it has none of an enrolment.';
COMMENT ON COLUMN ops.server_credentials.revoked_at IS 'When ops.revoke_server revoked the credential. NULL: it did not.';

CREATE OR REPLACE VIEW ops.key_encryption_keys AS
SELECT k.fingerprint, sum(k.signing_keys)::bigint AS signing_keys, sum(k.netcode_keys)::bigint AS netcode_keys, sum(k.credentials)::bigint AS credentials, sum(k.project_keys)::bigint AS project_keys
FROM (SELECT sealed_by AS fingerprint, 1 AS signing_keys, 0 AS netcode_keys, 0 AS credentials, 0 AS project_keys
      FROM signing_keys WHERE tainted_at IS NULL AND verify_until > statement_timestamp()
      UNION ALL SELECT sealed_by, 0, 1, 0, 0 FROM deployments WHERE sealed_by IS NOT NULL
      UNION ALL SELECT coalesce(tokens_by, sealed_by), 0, 0, 1, 0 FROM deployments WHERE coalesce(tokens_by, sealed_by) IS NOT NULL
      UNION ALL SELECT s.tokens_by, 0, 0, 1, 0 FROM enrolled_servers s
      JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      WHERE s.revoked_at IS NULL AND s.expires_at > statement_timestamp()
      UNION ALL SELECT sealed_by, 0, 0, 0, 1 FROM project_keys) k
GROUP BY k.fingerprint;
COMMENT ON COLUMN ops.key_encryption_keys.credentials IS 'Game servers whose credentials it authenticates: of deployments, which keep it for as long as they live, and of enrolments, which get one of the newest key with their next heartbeat.';

-- +goose StatementBegin
CREATE FUNCTION ops.create_enrolment(region text, name text, modes text[], max_servers integer, valid_for interval DEFAULT '30 days')
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    secret text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
    made   uuid;
BEGIN
    IF coalesce(create_enrolment.region, '') !~ '^[a-z0-9-]{1,32}$' THEN
        RAISE EXCEPTION 'the region of an enrolment has 1 to 32 characters of a-z 0-9 -' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(create_enrolment.name, '') !~ '^[A-Za-z0-9._-]{1,64}$' THEN
        RAISE EXCEPTION 'the name of an enrolment has 1 to 64 letters, digits and . _ -' USING ERRCODE = 'invalid_parameter_value';
    ELSIF create_enrolment.max_servers IS NULL OR create_enrolment.max_servers NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'an enrolment is for 1 to 100,000 servers' USING ERRCODE = 'invalid_parameter_value';
    ELSIF valid_for IS NULL OR valid_for NOT BETWEEN interval '1 minute' AND interval '3660 days' THEN
        RAISE EXCEPTION 'an enrolment is valid for a minute to ten years' USING ERRCODE = 'invalid_parameter_value';
    ELSIF cardinality(create_enrolment.modes) > 32
        OR EXISTS (SELECT FROM unnest(create_enrolment.modes) m WHERE coalesce(m, '') !~ '^[A-Za-z0-9._-]{1,64}$') THEN
        RAISE EXCEPTION 'an enrolment names up to 32 modes, each of 1 to 64 letters, digits and . _ -' USING ERRCODE = 'invalid_parameter_value';
    ELSIF EXISTS (SELECT FROM enrolments e WHERE e.region = create_enrolment.region AND e.name = create_enrolment.name AND e.revoked_at IS NULL) THEN
        RAISE EXCEPTION 'region % has an enrolment % already: revoke it first, or choose another name', quote_literal(region), quote_literal(name)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    DELETE FROM enrolments e WHERE e.region = create_enrolment.region AND least(e.expires_at, e.revoked_at) < now() - interval '90 days'
        AND NOT EXISTS (SELECT FROM enrolled_servers s WHERE s.region = e.region AND s.enrolment = e.id);
    IF (SELECT count(*) FROM enrolments e WHERE e.region = create_enrolment.region) >= 1000 THEN
        RAISE EXCEPTION 'region % has 1000 enrolments', quote_literal(region) USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    INSERT INTO enrolments (region, name, digest, modes, max_servers, expires_at, created_by)
    VALUES (create_enrolment.region, create_enrolment.name, sha256(convert_to(secret, 'UTF8')), coalesce(create_enrolment.modes, '{}'),
        create_enrolment.max_servers, now() + valid_for, acting_operator()) RETURNING id INTO made;
    INSERT INTO events (region, kind, actor, detail) VALUES (create_enrolment.region, 'enrolment.created', acting_operator(), jsonb_build_object(
        'name', create_enrolment.name, 'enrolment', made, 'modes', coalesce(create_enrolment.modes, '{}'), 'max_servers', create_enrolment.max_servers,
        'expires_at', now() + valid_for));
    RETURN 'le1.' || create_enrolment.region || '.' || made || '.' || secret;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.create_enrolment(text, text, text[], integer, interval) IS 'Makes an enrolment and returns its token, which cannot be read again. Game servers of the region send it as X-Fleet-Token when they register, and get a credential each. They may offer these modes (empty: any), and at most so many of them run at one time.';

-- The lock of the directory makes registrations of this id wait. All calls of the instance name its incarnation, so its end refuses them.
-- +goose StatementBegin
CREATE FUNCTION revoke_credential(p_instance text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    home      text;
    known     uuid;
    ended     boolean;
    is_first  boolean;
BEGIN
    SELECT d.region, d.incarnation INTO home, known FROM instance_directory d WHERE d.instance_id = p_instance FOR NO KEY UPDATE;
    SELECT i.status = 'gone' INTO ended FROM instances i WHERE i.region = home AND i.id = p_instance FOR NO KEY UPDATE;
    SELECT s.revoked_at IS NULL INTO is_first FROM enrolled_servers s
    WHERE s.region = home AND s.instance_id = p_instance AND s.incarnation = known FOR NO KEY UPDATE;
    IF is_first THEN
        UPDATE enrolled_servers SET revoked_at = now() WHERE region = home AND instance_id = p_instance;
        INSERT INTO events (region, kind, actor, instance_id) VALUES (home, 'credential.revoked', acting_operator(), p_instance);
        IF NOT ended THEN
            PERFORM end_instance(home, p_instance, 'credential revoked');
        END IF;
    END IF;
    RETURN is_first;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION revoke_credential(text) IS 'Revokes the credential that an instance got by an enrolment. NULL: it has none.';

-- Servers are revoked after the enrolment, whose row makes registrations by it wait: none comes in between.
-- +goose StatementBegin
CREATE FUNCTION ops.revoke_enrolment(region text, name text, servers boolean DEFAULT false) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    found_id uuid;
    was_valid boolean;
    changed  boolean;
    server   text;
BEGIN
    SELECT e.id, e.revoked_at IS NULL INTO found_id, was_valid FROM enrolments e
    WHERE e.region = revoke_enrolment.region AND e.name = revoke_enrolment.name ORDER BY e.revoked_at DESC NULLS FIRST LIMIT 1 FOR NO KEY UPDATE;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'region % has no enrolment %', coalesce(quote_literal(region), 'NULL'), coalesce(quote_literal(name), 'NULL')
            USING ERRCODE = 'no_data_found';
    END IF;
    changed := was_valid;
    IF was_valid THEN
        UPDATE enrolments e SET revoked_at = now() WHERE e.region = revoke_enrolment.region AND e.id = found_id;
        INSERT INTO events (region, kind, actor, detail) VALUES (revoke_enrolment.region, 'enrolment.revoked', acting_operator(),
            jsonb_build_object('name', revoke_enrolment.name, 'enrolment', found_id, 'servers', coalesce(servers, false)));
    END IF;
    IF servers THEN
        FOR server IN SELECT s.instance_id FROM enrolled_servers s WHERE s.region = revoke_enrolment.region AND s.enrolment = found_id
                      AND s.revoked_at IS NULL ORDER BY s.instance_id
        LOOP
            changed := coalesce(revoke_credential(server), false) OR changed;
        END LOOP;
    END IF;
    RETURN changed;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.revoke_enrolment(text, text, boolean) IS 'Lets the token of an enrolment register no game server any more. Those that it registered go on, unless servers is true: then their credentials are revoked, too, as ops.revoke_server does. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.revoke_server(instance text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    changed boolean := revoke_credential(instance);
BEGIN
    IF changed IS NULL THEN
        RAISE EXCEPTION 'instance % has no credential of an enrolment', coalesce(quote_literal(instance), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    RETURN changed;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.revoke_server(text) IS 'Revokes the credential that a game server got by an enrolment: its registration ends with its sessions, and the credential registers nothing any more. A process that has the token of the enrolment can register again. Returns whether this changed anything.';

REVOKE EXECUTE ON FUNCTION ops.create_enrolment, ops.revoke_enrolment, ops.revoke_server FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.create_enrolment, ops.revoke_enrolment, ops.revoke_server, revoke_credential;
CREATE OR REPLACE VIEW ops.key_encryption_keys AS
SELECT k.fingerprint, sum(k.signing_keys)::bigint AS signing_keys, sum(k.netcode_keys)::bigint AS netcode_keys, sum(k.credentials)::bigint AS credentials, sum(k.project_keys)::bigint AS project_keys
FROM (SELECT sealed_by AS fingerprint, 1 AS signing_keys, 0 AS netcode_keys, 0 AS credentials, 0 AS project_keys
      FROM signing_keys WHERE tainted_at IS NULL AND verify_until > statement_timestamp()
      UNION ALL SELECT sealed_by, 0, 1, 0, 0 FROM deployments WHERE sealed_by IS NOT NULL
      UNION ALL SELECT coalesce(tokens_by, sealed_by), 0, 0, 1, 0 FROM deployments WHERE coalesce(tokens_by, sealed_by) IS NOT NULL
      UNION ALL SELECT sealed_by, 0, 0, 0, 1 FROM project_keys) k
GROUP BY k.fingerprint;
COMMENT ON COLUMN ops.key_encryption_keys.credentials IS 'Deployments whose credentials it authenticates. They keep it for as long as they live.';
DROP VIEW ops.server_credentials, ops.enrolments;
DROP TABLE enrolled_servers, enrolments;
