-- What a player of the realtime lobby has belongs to the player, whichever session it uses: places in matches, invitations, and whom it has
-- blocked. Without a name, the player is the session.

-- +goose Up

-- The players of participants, and the players of their tickets, for whom the game server keeps the seats; both in the order of participants. They
-- are null in rooms that an earlier release makes: these admit the sessions only.
ALTER TABLE lobbies ADD COLUMN participant_players text[] COLLATE "C", ADD COLUMN participant_seats text[] COLLATE "C";

-- The rooms that a player may join, with a session that is open or one that it opens later. A row is changed under the lock of its room, but for
-- rows that have expired. Rows of rooms that have ended go when they expire. Earlier releases know lobby_members only, so that sessions that are
-- open get a row there, too.
CREATE TABLE lobby_invitations (
    region          text NOT NULL,
    lobby           uuid NOT NULL,
    player          text COLLATE "C" NOT NULL,
    project         text COLLATE "C" NOT NULL,
    invited_by      text COLLATE "C",
    inviting_player text COLLATE "C",
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at      timestamptz NOT NULL,
    answered_at     timestamptz,
    PRIMARY KEY (region, lobby, player),
    CONSTRAINT an_invitation_is_of_a_session_and_its_player CHECK ((invited_by IS NULL) = (inviting_player IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE lobby_invitations ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX lobby_invitations_of_a_player ON lobby_invitations (region, project, player);
CREATE INDEX lobby_invitations_by_a_player ON lobby_invitations (region, project, inviting_player) WHERE inviting_player IS NOT NULL;
CREATE INDEX lobby_invitations_to_expire ON lobby_invitations (region, expires_at);
COMMENT ON TABLE lobby_invitations IS 'Rooms of the realtime lobby that a player may join, with whichever session.';
COMMENT ON COLUMN lobby_invitations.invited_by IS 'the session that invites; null: a match of the player made the room';
COMMENT ON COLUMN lobby_invitations.inviting_player IS 'the player of that session';
COMMENT ON COLUMN lobby_invitations.answered_at IS 'when it was accepted or declined; it then counts for the rate of the player that invites only';

-- The players from whom a player accepts no invitations.
CREATE TABLE player_blocks (
    region     text NOT NULL,
    project    text COLLATE "C" NOT NULL,
    player     text COLLATE "C" NOT NULL,
    blocked    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, project, player, blocked),
    CONSTRAINT a_player_blocks_others CHECK (player <> blocked)
);
ALTER TABLE player_blocks ALTER COLUMN region SET (n_distinct = 1);
COMMENT ON TABLE player_blocks IS 'Players of the realtime lobby whom a player has blocked: it gets no invitations from them.';

-- When the client of a suspended session was last heard of; messages since then are repeated when it is resumed. Null: when it was suspended.
ALTER TABLE realtime_sessions ADD COLUMN heard_at timestamptz;

-- The sessions of a player, and those of a key, are bounded.
CREATE INDEX realtime_sessions_of_a_key ON realtime_sessions (region, project, key_id) WHERE key_id IS NOT NULL;

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes',
                 'lobby_invitations']::regclass[]
$$;

-- +goose Down
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes']::regclass[]
$$;
DROP INDEX realtime_sessions_of_a_key;
ALTER TABLE realtime_sessions DROP COLUMN heard_at;
DROP TABLE player_blocks, lobby_invitations;
ALTER TABLE lobbies DROP COLUMN participant_players, DROP COLUMN participant_seats;
