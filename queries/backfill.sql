-- name: CreateBackfills :exec
INSERT INTO backfills (region, id, created, generation, terms, double_keys, doubles, body)
SELECT @region, r.id, r.created, 1, (@terms::uuid[])[r.terms_from:r.terms_to], (@double_keys::uuid[])[r.doubles_from:r.doubles_to],
       (@doubles::float8[])[r.doubles_from:r.doubles_to], r.body
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::bigint[]) AS created, unnest(@bodies::bytea[]) AS body,
             unnest(@terms_from::int[]) AS terms_from, unnest(@terms_to::int[]) AS terms_to,
             unnest(@doubles_from::int[]) AS doubles_from, unnest(@doubles_to::int[]) AS doubles_to) r
ORDER BY r.id;

-- name: LockBackfills :many
SELECT b.id, b.generation, b.created, b.body, (b.acked_at > clock_timestamp() - sqlc.arg(acked_for)::interval)::bool AS alive,
       (CASE WHEN b.acknowledged_generation = b.generation THEN b.acknowledged ELSE '{}' END)::text[] AS acknowledged
FROM backfills b WHERE b.region = @region AND b.id = ANY (@ids::text[]) ORDER BY b.id FOR NO KEY UPDATE;

-- name: PutBackfill :exec
UPDATE backfills b SET generation = b.generation + 1, terms = @terms, double_keys = @double_keys, doubles = @doubles, body = @body
WHERE b.region = @region AND b.id = @id;

-- name: TicketsOfBackfill :many
SELECT k.ticket_id FROM backfill_tickets k WHERE k.region = @region AND k.backfill_id = ANY (@backfill_ids::text[]) ORDER BY k.ticket_id;

-- name: LockTicketsOfBackfill :exec
-- Runs before TicketsOfBackfill: a transaction that is matching one of these tickets again holds its lock, and deletes its
-- association with the backfill.
SELECT 1 FROM tickets t JOIN backfill_tickets k ON k.region = @region AND k.ticket_id = t.id
WHERE t.region = @region AND k.backfill_id = ANY (@backfill_ids::text[]) ORDER BY t.id FOR UPDATE OF t;

-- name: AssociateTickets :exec
-- Associates tickets with the backfill of the match that they are in.
INSERT INTO backfill_tickets (region, ticket_id, backfill_id)
SELECT @region, a.ticket_id, a.backfill_id FROM (SELECT unnest(@tickets::text[]) AS ticket_id, unnest(@backfills::text[]) AS backfill_id) a ORDER BY a.ticket_id
ON CONFLICT (region, ticket_id) DO UPDATE SET backfill_id = excluded.backfill_id;

-- name: AckBackfill :exec
-- Also stores the tickets that were assigned at this generation: a game server that repeats the acknowledgement, because the
-- answer was lost, gets them again.
UPDATE backfills b SET acked_at = clock_timestamp(), acknowledged = @acknowledged::text[], acknowledged_generation = b.generation
WHERE b.region = @region AND b.id = @id;

-- name: DeleteBackfills :exec
WITH freed AS (
    DELETE FROM backfill_tickets k WHERE k.region = @region AND k.backfill_id = ANY (@ids::text[])
)
DELETE FROM backfills b WHERE b.region = @region AND b.id = ANY (@ids::text[]);

-- name: ExpiredBackfills :many
SELECT b.id FROM backfills b WHERE b.region = @region AND b.acked_at <= clock_timestamp() - sqlc.arg(acked_for)::interval
ORDER BY b.id LIMIT @batch FOR UPDATE SKIP LOCKED;

-- name: GetBackfill :one
-- Returns an expired backfill, too, until a worker has deleted it.
SELECT b.id, b.generation, b.created, b.body FROM backfills b WHERE b.region = @region AND b.id = @id;

-- name: QueryBackfills :many
-- Reads in the order of the primary key, after the id @after, up to the row with which the rows reach @most bytes. A row
-- counts 32 bytes and its body.
SELECT q.id, q.generation, q.created, q.body FROM (
    SELECT b.id, b.generation, b.created, b.body, sum(32 + octet_length(b.body)) OVER (ORDER BY b.id ROWS UNBOUNDED PRECEDING) AS upto
    FROM backfills b
    WHERE b.region = @region AND b.id > @after AND b.terms @> @terms::uuid[] AND b.created > @created_after AND b.created < @created_before
      AND b.acked_at > statement_timestamp() - sqlc.arg(acked_for)::interval
      AND b.double_keys @> @present::uuid[]
      AND NOT EXISTS (
        SELECT FROM (SELECT unnest(@range_keys::uuid[]) AS key, unnest(@lows::float8[]) AS low, unnest(@highs::float8[]) AS high) r
        WHERE NOT coalesce(b.doubles[array_position(b.double_keys, r.key)] BETWEEN r.low AND r.high, false))
    ORDER BY b.id LIMIT sqlc.arg(rows)::bigint
) q WHERE q.upto - 32 - octet_length(q.body) < sqlc.arg(most)::bigint ORDER BY q.id;
