-- Messages between players of the realtime lobby, also to those who are not connected.

-- +goose Up

-- A row of a player who was sent a message or has sent one. Transactions lock inboxes in the order of players.
CREATE TABLE player_inboxes (
    region     text NOT NULL,
    project    text COLLATE "C" NOT NULL,
    player     text COLLATE "C" NOT NULL,
    last       bigint NOT NULL DEFAULT 0,
    read       bigint NOT NULL DEFAULT 0,
    sent       integer NOT NULL DEFAULT 0,
    sent_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    used_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, project, player),
    CONSTRAINT a_player_reads_what_was_sent CHECK (read BETWEEN 0 AND last)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE player_inboxes ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX player_inboxes_by_use ON player_inboxes (region, used_at);
COMMENT ON TABLE player_inboxes IS 'Players of the realtime lobby with messages of other players. Workers delete those that nobody has used for a week.';
COMMENT ON COLUMN player_inboxes.last IS 'the number of the last message to the player; 0: none';
COMMENT ON COLUMN player_inboxes.read IS 'the last number that the player has read';
COMMENT ON COLUMN player_inboxes.sent IS 'messages that the player has sent to others in the minute from sent_since on';

-- A ring: the message with a number takes the slot of the one that is 50 older.
CREATE TABLE player_messages (
    region       text NOT NULL,
    project      text COLLATE "C" NOT NULL,
    player       text COLLATE "C" NOT NULL,
    slot         integer NOT NULL,
    number       bigint NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    from_session text COLLATE "C" NOT NULL,
    from_player  text COLLATE "C" NOT NULL,
    type         text NOT NULL,
    data         text NOT NULL,
    PRIMARY KEY (region, project, player, slot),
    FOREIGN KEY (region, project, player) REFERENCES player_inboxes ON DELETE CASCADE,
    CONSTRAINT an_inbox_has_50_messages CHECK (slot BETWEEN 0 AND 49),
    CONSTRAINT a_message_to_a_player_has_up_to_8_kib CHECK (octet_length(data) <= 8192)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE player_messages ALTER COLUMN region SET (n_distinct = 1);
COMMENT ON TABLE player_messages IS 'The last messages to a player.';
COMMENT ON COLUMN player_messages.from_session IS 'that sent it; empty: a backend did';

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes',
                 'lobby_invitations', 'lobby_sayings', 'player_inboxes', 'player_messages']::regclass[]
$$;

-- +goose Down
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes',
                 'lobby_invitations']::regclass[]
$$;
DROP TABLE player_messages, player_inboxes;
