-- What removes a player from all tables: the request, which also says what has been done of it, and how history finds a player.
--
-- Releases before this one do not read the table. Their replicas may write a player that is erased meanwhile: see erasures.tx.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- The row names the player until the last pass over all tables is over. After that it only says that somebody was erased, when, and why.
CREATE TABLE erasures (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    subs         text[] COLLATE "C", -- the player, and then the sessions of the realtime lobby that were players of tickets
    key          text,   -- stands for the player in history
    salt         uuid,   -- parties are hashes of their players: with it they become others, which nobody can compute
    actor        text NOT NULL,
    reason       text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tx           xid8 NOT NULL DEFAULT pg_current_xact_id(), -- transactions that run by then may still write the player
    rows         bigint NOT NULL DEFAULT 0,
    erased_at    timestamptz, -- when the first pass was over
    finished_at  timestamptz, -- and the last one
    CONSTRAINT a_finished_erasure_names_nobody CHECK ((finished_at IS NULL) = (subs IS NOT NULL) AND (subs IS NULL) = (key IS NULL) AND (key IS NULL) = (salt IS NULL))
);
CREATE UNIQUE INDEX a_player_is_erased_once_at_a_time ON erasures ((subs[1])) WHERE subs IS NOT NULL;
CREATE INDEX erasures_that_are_finished ON erasures (finished_at) WHERE finished_at IS NOT NULL;

-- Parties of an erased player, of whose other players events are still to be changed.
CREATE TABLE erased_parties (
    erasure uuid NOT NULL REFERENCES erasures ON DELETE CASCADE,
    party   uuid NOT NULL,
    PRIMARY KEY (erasure, party)
);

-- The keys under which an event names players: player, players, subs, and in the metadata of a room; and party. Some kinds have a number as players.
CREATE FUNCTION event_names(detail jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(ARRAY[detail ->> 'player', detail ->> 'party'], NULL)
        || ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(detail -> 'players') WHEN 'array' THEN detail -> 'players' ELSE '[]' END))
        || ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(detail -> 'subs') WHEN 'array' THEN detail -> 'subs' ELSE '[]' END))
        || ARRAY(SELECT m.value FROM jsonb_each_text(CASE jsonb_typeof(detail -> 'metadata') WHEN 'object' THEN detail -> 'metadata' ELSE '{}' END) m WHERE m.value IS NOT NULL)
$$;
COMMENT ON FUNCTION event_names(jsonb) IS 'The players and the party that the detail of an event names.';

-- The party of an erased player: nobody can compute it from the players' ids, and it is the same in all rows of the party.
CREATE FUNCTION erased_party(salt uuid, party uuid) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(substring(sha256(uuid_send(salt) || uuid_send(party)) FROM 1 FOR 16), 'hex')::uuid
$$;

-- +goose StatementBegin
CREATE FUNCTION ops.erase_player(player text, reason text) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    erasure uuid;
    named   text := '(?<![[:alnum:]_])' || regexp_replace(erase_player.player, '([^[:alnum:]_[:space:]])', '\\\1', 'g') || '(?![[:alnum:]_])';
BEGIN
    IF coalesce(octet_length(erase_player.player), 0) NOT BETWEEN 1 AND 255 OR erase_player.player ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'the player must have 1 to 255 bytes without control characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(btrim(erase_player.reason), '') = '' OR length(erase_player.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the player is erased' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT e.id INTO erasure FROM erasures e WHERE e.subs[1] = erase_player.player AND e.subs IS NOT NULL;
    IF erasure IS NOT NULL THEN
        RETURN erasure;
    END IF;
    INSERT INTO erasures AS e (subs, key, salt, actor, reason)
    VALUES (ARRAY[erase_player.player], 'erased-' || replace(gen_random_uuid()::text, '-', ''), gen_random_uuid(), acting_operator(),
        regexp_replace(btrim(erase_player.reason), named, 'the player', 'g'))
    RETURNING e.id INTO erasure;
    RETURN erasure;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.erase_player(text, text) IS 'Erases a player, for the reason: workers do it within a second. Identifiers and attributes go from all tables, seats and tickets end, and in history a random key stands for the player. Returns the id of the erasure: see ops.erasures. An erasure that is in progress is returned again.';
REVOKE EXECUTE ON FUNCTION ops.erase_player FROM PUBLIC;

CREATE VIEW ops.erasures AS
SELECT id AS erasure, requested_at, actor, reason, rows, erased_at, finished_at FROM erasures;
COMMENT ON VIEW ops.erasures IS 'Players that were erased in the last 30 days, or are being erased. It names none of them.';
COMMENT ON COLUMN ops.erasures.erasure IS 'Its id.';
COMMENT ON COLUMN ops.erasures.requested_at IS 'When an operator asked for it.';
COMMENT ON COLUMN ops.erasures.actor IS 'Who did.';
COMMENT ON COLUMN ops.erasures.reason IS 'Why. Where it names the player, it says: the player.';
COMMENT ON COLUMN ops.erasures.rows IS 'How many rows were changed or deleted so far.';
COMMENT ON COLUMN ops.erasures.erased_at IS 'When the first pass over all tables was over; NULL: it is not.';
COMMENT ON COLUMN ops.erasures.finished_at IS 'When the last pass was over, which begins five seconds after the request and removes what processes still had in memory; NULL: it is not.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.erasures;
DROP FUNCTION ops.erase_player(text, text);
DROP FUNCTION erased_party(uuid, uuid);
DROP FUNCTION event_names(jsonb) CASCADE; -- with its index
DROP TABLE erased_parties;
DROP TABLE erasures;
