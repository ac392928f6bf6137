-- name: StoredAnswers :many
SELECT caller, key, request_hash, answer FROM idempotency_keys
WHERE (caller, key) IN (SELECT unnest(@callers::text[]), unnest(@keys::text[])) AND expires_at > now();

-- name: StoreAnswers :exec
INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at)
SELECT n.caller, n.key, n.request_hash, n.answer::jsonb, now() + sqlc.arg(keep)::interval
FROM (SELECT unnest(@callers::text[]) AS caller, unnest(@keys::text[]) AS key, unnest(@hashes::bytea[]) AS request_hash, unnest(@answers::text[]) AS answer) n
ORDER BY n.caller, n.key
ON CONFLICT (caller, key) DO UPDATE SET request_hash = excluded.request_hash, answer = excluded.answer, expires_at = excluded.expires_at;

-- name: PruneIdempotencyKeys :execrows
DELETE FROM idempotency_keys WHERE (caller, key) IN (
    SELECT k.caller, k.key FROM idempotency_keys k WHERE k.expires_at <= now() ORDER BY k.expires_at LIMIT @batch FOR UPDATE SKIP LOCKED);
