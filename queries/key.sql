-- Which key signs now? The untainted one with sign_from ≤ now < sign_until; a constraint allows only one. Replicas apply this rule to the
-- rows that they have read: signer in token/ring.go.

-- name: LockKeys :exec
-- Serializes rotation and tainting over all replicas, workers and operators.
SELECT pg_advisory_xact_lock(hashtext('director.signing_keys'));

-- name: PublishedKeys :many
-- The keys that verifiers may need: the next one, the signing one and retiring ones. Each row has the database's time.
SELECT kid, alg, public_jwk, sealed_private, sealed_by, publish_at, sign_from, sign_until, verify_until, lead, overlap, tainted_at,
       clock_timestamp()::timestamptz AS now
FROM signing_keys WHERE verify_until > now() AND tainted_at IS NULL ORDER BY sign_from;

-- name: InsertKey :exec
INSERT INTO signing_keys (kid, alg, public_jwk, sealed_private, sealed_by, publish_at, sign_from, sign_until, verify_until, lead, overlap)
VALUES (@kid, @alg, @public_jwk, @sealed_private, @sealed_by, @publish_at, @sign_from, @sign_until, @verify_until, @lead, @overlap);

-- name: SetSigningTimes :exec
-- Moves a key's turn. The key stays published until its last token has expired.
UPDATE signing_keys SET
    sign_from = @sign_from, sign_until = @sign_until, overlap = greatest(overlap, sqlc.arg(overlap)::interval),
    verify_until = greatest(verify_until, sqlc.arg(sign_until)::timestamptz + greatest(overlap, sqlc.arg(overlap)::interval))
WHERE kid = @kid;

-- name: RaiseOverlap :exec
-- Publishes existing keys for longer, after the lifetime of tokens was raised.
UPDATE signing_keys SET overlap = sqlc.arg(overlap)::interval, verify_until = greatest(verify_until, sign_until + sqlc.arg(overlap)::interval)
WHERE overlap < sqlc.arg(overlap)::interval AND tainted_at IS NULL AND verify_until > now();

-- name: TaintKey :exec
SELECT ops.taint_key(@kid);

-- name: ResealKey :execrows
UPDATE signing_keys SET sealed_private = @sealed_private, sealed_by = @sealed_by WHERE kid = @kid AND sealed_private = @old_sealed;

-- name: LogKey :exec
-- Without an actor, the event names the login of the database.
INSERT INTO events (kind, actor, detail) VALUES (@kind, coalesce(nullif(@actor::text, ''), acting_operator()), @detail);

-- name: PruneKeys :execrows
-- Deletes keys for which no valid token has existed for @keep. Until then they are kept for the record.
DELETE FROM signing_keys WHERE verify_until < now() - sqlc.arg(keep)::interval;
