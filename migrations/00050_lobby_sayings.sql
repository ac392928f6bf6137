-- What members of rooms of the realtime lobby have said last, for those who join later or were away.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE lobbies ADD COLUMN said bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN lobbies.said IS 'The number of the last message that the room remembers; 0: none.';

-- A ring: the message with a number takes the slot of the one that is 50 older, so that a room has up to 50 rows and none has to be deleted. The
-- foreign key removes them with the room, also when a process of an earlier release ends it.
CREATE TABLE lobby_sayings (
    region  text NOT NULL,
    lobby   uuid NOT NULL,
    slot    integer NOT NULL,
    number  bigint NOT NULL,
    at      timestamptz NOT NULL,
    session text COLLATE "C" NOT NULL,
    player  text COLLATE "C" NOT NULL,
    data    text NOT NULL,
    PRIMARY KEY (region, lobby, slot),
    FOREIGN KEY (region, lobby) REFERENCES lobbies ON DELETE CASCADE,
    CONSTRAINT a_room_remembers_50_messages CHECK (slot BETWEEN 0 AND 49),
    CONSTRAINT a_message_is_remembered_up_to_8_kib CHECK (octet_length(data) <= 8192)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE lobby_sayings ALTER COLUMN region SET (n_distinct = 1);
COMMENT ON TABLE lobby_sayings IS 'The last messages of the type say in a room.';
COMMENT ON COLUMN lobby_sayings.number IS 'of the message in its room, from 1, without gaps';
COMMENT ON COLUMN lobby_sayings.session IS 'that said it; empty: the room itself';

-- +goose Down
DROP TABLE lobby_sayings;
ALTER TABLE lobbies DROP COLUMN said;
