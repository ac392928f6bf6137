-- An acknowledgement of a backfill whose answer was lost is repeated, and must give the same tickets again.

-- +goose Up

-- The tickets that acknowledgements of one generation have assigned. A match brings tickets and a new generation, at which
-- the list is void: replicas of the version before count generations without clearing it.
ALTER TABLE backfills
    ADD COLUMN acknowledged text[] NOT NULL DEFAULT '{}',
    ADD COLUMN acknowledged_generation bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE backfills DROP COLUMN acknowledged, DROP COLUMN acknowledged_generation;
