-- +goose Up
-- Why a room could not queue, in words: a party whose ticket can be in no match hears what is missing, as the answer to POST /tickets says it.
ALTER TABLE lobby_outcomes ADD COLUMN detail text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE lobby_outcomes DROP COLUMN detail;
