-- Which regions other cells serve.

-- name: GameRegions :many
-- Returns the regions that clients may measure, or that another cell serves.
SELECT g.region, coalesce(g.address, '')::text AS address, coalesce(g.beacon, '')::text AS beacon FROM ops.game_regions g ORDER BY g.region;

-- name: RegionsElsewhere :many
-- Without cells it reads an empty table.
SELECT r.region, r.cell, c.address, c.listeners FROM cell_regions r JOIN cells c ON c.cell = r.cell;
