-- A game server repeats the acknowledgement of a backfill when the answer was lost, and must get the same tickets again.

-- +goose Up

-- The tickets that acknowledgements at one generation have assigned. The list counts only while the backfill has that
-- generation: a match adds tickets and raises the generation, and a replica of the previous release does not clear the list.
ALTER TABLE backfills
    ADD COLUMN acknowledged text[] NOT NULL DEFAULT '{}',
    ADD COLUMN acknowledged_generation bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE backfills DROP COLUMN acknowledged, DROP COLUMN acknowledged_generation;
