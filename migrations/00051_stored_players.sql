-- What the studio's backend says of players: attributes that profiles take from nobody else, whom a player avoids, and whom it may
-- take into a party.
--
-- A region is a universe, as of profiles and tickets. Releases before this one neither read nor write the table.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE stored_players (
    region text NOT NULL,
    sub text NOT NULL,
    attributes jsonb NOT NULL,     -- numbers, texts and lists of texts, by name
    avoid text[] NOT NULL,         -- players, sorted
    may_party_with text[] NOT NULL, -- players, sorted
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by text NOT NULL,      -- backend:NAME
    PRIMARY KEY (region, sub),
    CONSTRAINT attributes_are_an_object_of_16_kib CHECK (jsonb_typeof(attributes) = 'object' AND octet_length(attributes::text) <= 16384),
    CONSTRAINT a_player_avoids_at_most_256 CHECK (cardinality(avoid) <= 256),
    CONSTRAINT a_player_may_party_with_at_most_256 CHECK (cardinality(may_party_with) <= 256)
);

-- The lists avoid, a row a player, for placement: it asks whom a newcomer avoids and who avoids the newcomer, once for each player that it
-- seats, and must cost next to nothing where nobody avoids anybody.
CREATE TABLE player_avoids (
    region text NOT NULL,
    sub text NOT NULL,
    avoided text NOT NULL,
    PRIMARY KEY (region, sub, avoided)
);
CREATE INDEX player_avoids_from_the_other_side ON player_avoids (region, avoided);

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP TABLE player_avoids;
DROP TABLE stored_players;
