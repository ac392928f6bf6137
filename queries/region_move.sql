-- A region moves to another cell: db/region_move.go has the steps, migrations/00067_region_moves.sql the fence. Each statement can be repeated, so
-- that a command which is started again continues where another one was killed.

-- name: RunningMove :one
-- The move of a region that has not ended; after its end, none.
SELECT m.id, m.region, m.direction, m.step, m.cell, m.address, m.actor, m.reason, m.begun_at, m.fenced_at, m.flipped_at, m.fences
FROM region_moves m WHERE m.region = @region AND m.ended_at IS NULL;

-- name: LastMove :one
SELECT m.id, m.region, m.direction, m.step, m.cell, m.address, m.actor, m.reason, m.begun_at, m.fenced_at, m.flipped_at, m.fences
FROM region_moves m WHERE m.id = @id;

-- name: BeginMove :exec
INSERT INTO region_moves (id, region, direction, cell, address, actor, reason)
VALUES (@id, @region, @direction, @cell, @address, acting_operator(), @reason)
ON CONFLICT ON CONSTRAINT region_moves_pkey DO NOTHING;

-- name: NameCellOf :exec
SELECT name_cell_of(@region::text, @cell::text, @address::text);

-- name: LogMove :exec
INSERT INTO events (region, kind, actor, detail)
SELECT m.region, sqlc.arg(kind)::text, acting_operator(), jsonb_build_object('cell', m.cell, 'move', m.id, 'reason', m.reason)
FROM region_moves m WHERE m.id = @id;

-- name: DriveMove :exec
-- Says that a command works on the move.
UPDATE region_moves m SET driven_at = clock_timestamp() WHERE m.id = @id;

-- name: ReportMove :exec
-- Writes the progress of the copy, for those who look.
UPDATE region_moves m SET driven_at = clock_timestamp(), tables = @tables, copied_tables = @copied_tables, behind_bytes = @behind_bytes, failures = @failures WHERE m.id = @id;

-- name: RegionFence :one
-- Whether writes of the region are refused, at which step of which move, and for how long it has been fenced.
SELECT m.direction, m.step, coalesce(clock_timestamp() - m.fenced_at, '0')::interval AS fenced_for FROM region_moves m WHERE m.region = @region AND m.refuses_writes;

-- name: SetMoveStep :execrows
-- Advances a move from one step to the next; 0: it is at another one.
UPDATE region_moves m SET step = sqlc.arg(step)::text, ended_at = CASE WHEN sqlc.arg(ends)::bool THEN clock_timestamp() END
WHERE m.id = @id AND m.step = ANY (sqlc.arg(was)::text[]) AND m.ended_at IS NULL;

-- name: MovingTables :many
-- The tables whose rows move, in an order in which they can be deleted; fenced: nobody may write them meanwhile.
SELECT t.name::text AS name, (t.fate = 'moves')::bool AS fenced FROM region_tables() t WHERE t.fate IN ('moves', 'past');

-- name: CountRegionRows :many
SELECT c.name::text AS name, c.rows::bigint AS rows FROM count_region_rows(@region::text, sqlc.arg(most)::bigint) c;

-- name: MoveObstacles :many
-- What stands in the way in the cell that the region is to leave. Each is a sentence.
SELECT says::text AS says FROM region_obstacles(@region::text) AS o(says);

-- name: InstancesOfRegion :many
SELECT i.id FROM instances i WHERE i.region = @region ORDER BY i.id;

-- name: CredentialKeysOfRegion :many
SELECT DISTINCT e.tokens_by::text AS tokens_by FROM enrolled_servers e WHERE e.region = @region AND e.revoked_at IS NULL AND e.expires_at > now();

-- name: KnownCell :one
SELECT c.cell, c.address FROM cells c WHERE c.cell = sqlc.arg(cell)::text OR EXISTS (SELECT FROM cell_regions r WHERE r.cell = c.cell AND r.region = sqlc.arg(region)::text)
ORDER BY c.cell = sqlc.arg(cell)::text DESC LIMIT 1;

-- name: AddMoveFence :exec
SELECT add_move_fence(@table_name::text, @region::text);

-- name: DropMoveFence :exec
SELECT drop_move_fence(@table_name::text, @region::text);

-- name: PublishRegion :exec
SELECT publish_region(@id::uuid, @region::text);

-- name: UnpublishRegion :exec
SELECT unpublish_region(@id::uuid);

-- name: SubscribeRegion :exec
SELECT subscribe_region(@id::uuid, @connection::text);

-- name: UnsubscribeRegion :exec
SELECT unsubscribe_region(@id::uuid);

-- name: CopiedTables :one
SELECT c.tables::int AS tables, c.copied::int AS copied, c.failures::bigint AS failures FROM copied_tables(@id::uuid) c;

-- name: FenceRegion :one
-- 0: the move is at another step.
SELECT fence_region(@id::uuid)::int AS fence;

-- name: ForbidFlip :execrows
-- In the other cell: no fence up to this one flips the region any more; 0: one has.
UPDATE region_moves m SET fences = greatest(m.fences, @fence::int) WHERE m.id = @id AND m.direction = 'arrives' AND m.step = 'copying';

-- name: LiftFence :execrows
-- After ForbidFlip: this cell continues to serve the region.
UPDATE region_moves m SET step = 'copying', fenced_at = NULL WHERE m.id = @id AND m.direction = 'leaves' AND m.step = 'fenced' AND m.fences = @fence::int;

-- name: MarkArrived :one
SELECT EXISTS (SELECT FROM region_move_marks m WHERE m.move = @id AND m.fence = @fence)::bool AS arrived;

-- name: DropMarks :exec
DELETE FROM region_move_marks m WHERE m.move = @id;

-- name: BeaconOf :one
SELECT coalesce((SELECT b.url FROM region_beacons b WHERE b.region = @region), '')::text AS url;

-- name: ServeRegion :one
SELECT serve_region(@id::uuid, @fence::int, @beacon::text)::bool AS served;

-- name: GiveRegionAway :one
SELECT give_region_away(@id::uuid)::bool AS given;

-- name: AnswersToCopy :many
-- Stored answers of calls about the region that expire after the given one, in that order.
SELECT k.caller, k.key, k.request_hash, k.answer, k.expires_at FROM idempotency_keys k
WHERE (k.expires_at, k.caller, k.key) > (sqlc.arg(after)::timestamptz, sqlc.arg(caller)::text, sqlc.arg(key)::text) AND k.expires_at > now()
  AND coalesce(k.answer ->> 'region', @region::text) = @region
ORDER BY k.expires_at, k.caller, k.key LIMIT sqlc.arg(page);

-- name: CopyAnswers :exec
INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at)
SELECT n.caller, n.key, n.request_hash, n.answer::jsonb, n.expires_at
FROM (SELECT unnest(@callers::text[]) AS caller, unnest(@keys::text[]) AS key, unnest(@hashes::bytea[]) AS request_hash, unnest(@answers::text[]) AS answer,
    unnest(@expires::timestamptz[]) AS expires_at) n
ON CONFLICT (caller, key) DO NOTHING;

-- name: DeleteRegionRows :one
SELECT delete_region_rows(@table_name::text, @region::text, @batch::int)::int AS deleted;

-- name: DeleteRestOfRegion :exec
-- What follows from rows that are deleted, or would have gone within seconds.
WITH listed AS (
    DELETE FROM instance_directory d WHERE d.region = @region
)
DELETE FROM demand d WHERE d.region = @region;

-- name: OpenErasuresSince :many
-- Players who were erased here since a move began: what was copied of them is erased in the other cell as well.
SELECT e.subs[1]::text AS player, e.reason FROM erasures e WHERE e.subs IS NOT NULL AND e.requested_at > @since ORDER BY e.requested_at;

-- name: DoctorMoves :many
-- Moves that run, with how long ago a command worked on them, and for how long the region has been refused.
SELECT m.region, m.direction, m.step, m.cell, m.address, (clock_timestamp() - m.driven_at)::interval AS idle,
       (CASE WHEN m.direction = 'leaves' AND m.step = 'fenced' THEN clock_timestamp() - m.fenced_at ELSE '0' END)::interval AS refused
FROM region_moves m WHERE m.ended_at IS NULL ORDER BY m.region;

-- name: SourceObstacles :many
-- What the Postgres of the cell that the region leaves is not set up for.
SELECT says::text AS says FROM source_obstacles() AS o(says);

-- name: TargetObstacles :many
-- What stands in the way in the cell in which the region is to arrive. @instances are the ids of its game servers, and @sealed_by the
-- key-encryption keys that their credentials need.
SELECT says::text AS says FROM target_obstacles(@region::text, @instances::text[], @sealed_by::text[]) AS o(says);

-- name: CreateMoveSlot :exec
-- From here on, this Postgres keeps its log for the move, until the slot is dropped. It waits for the end of all older transactions. It is no
-- function in PL/pgSQL: that fails when it creates a slot while others change tables, with "snapshot reference is not owned by resource owner".
SELECT pg_create_logical_replication_slot(move_name(@id::uuid), 'pgoutput') WHERE NOT has_move_slot(@id::uuid);

-- name: DropMoveSlot :one
SELECT drop_move_slot(@id::uuid)::bool AS dropped;

-- name: MoveLag :one
SELECT move_lag(@id::uuid)::bigint AS behind;

-- name: HideStatements :exec
SELECT hide_statements();
