-- Who delivers for a webhook, and how far it has come. Subscriptions are made by functions of schema ops: migrations/00054_webhooks.sql.

-- name: TakeWebhooks :many
-- Takes the webhooks that no worker with an unexpired lease has.
UPDATE webhook_progress p SET worker = @worker, epoch = p.epoch + 1, lease_until = clock_timestamp() + sqlc.arg(lease)::interval
FROM (
    SELECT o.webhook FROM webhook_progress o JOIN webhooks w ON w.id = o.webhook
    WHERE w.paused_at IS NULL AND o.lease_until <= clock_timestamp()
    ORDER BY o.webhook LIMIT @most FOR UPDATE OF o SKIP LOCKED) f
WHERE p.webhook = f.webhook
RETURNING p.webhook, p.epoch;

-- name: RenewWebhook :execrows
-- A webhook that is paused or deleted is not renewed.
UPDATE webhook_progress p SET lease_until = clock_timestamp() + sqlc.arg(lease)::interval
WHERE p.webhook = @webhook AND p.worker = @worker AND p.epoch = @epoch AND p.lease_until > clock_timestamp()
  AND EXISTS (SELECT FROM webhooks w WHERE w.id = p.webhook AND w.paused_at IS NULL);

-- name: EndWebhookLease :exec
UPDATE webhook_progress p SET lease_until = '-infinity' WHERE p.webhook = @webhook AND p.worker = @worker AND p.epoch = @epoch;

-- name: WebhookState :one
-- Returns what a worker needs for its next step. due_in is not negative.
SELECT w.name, w.url, w.kinds, p.tx, p.id, p.failures, (p.failing_since IS NOT NULL)::bool AS failing,
       coalesce(clock_timestamp() - p.failing_since, '0')::interval AS fails_for,
       greatest(p.next_at - clock_timestamp(), '0')::interval AS due_in,
       (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook = w.id AND d.dead_at IS NULL)::int AS waiting, clock_timestamp()::timestamptz AS now
FROM webhooks w JOIN webhook_progress p ON p.webhook = w.id WHERE w.id = @webhook;

-- name: DueDeliveries :many
-- Returns events that are due for another attempt, with those behind them, in the order of their subjects.
SELECT d.tx, d.id, d.subject, d.kind, d.at, d.body, d.attempts, (clock_timestamp() - d.first_at)::interval AS tried_for
FROM webhook_deliveries d
WHERE d.webhook = @webhook AND d.dead_at IS NULL AND d.subject = ANY (ARRAY(
    SELECT o.subject FROM webhook_deliveries o WHERE o.webhook = @webhook AND o.next_at <= clock_timestamp() ORDER BY o.next_at LIMIT @subjects))
ORDER BY d.subject, d.tx, d.id LIMIT @page;

-- name: WaitingSubjects :many
-- Returns those of the subjects of which an event waits: a later one must not overtake it.
SELECT DISTINCT d.subject FROM webhook_deliveries d
WHERE d.webhook = @webhook AND d.dead_at IS NULL AND d.subject = ANY (@subjects::text[]);

-- name: AdvanceWebhook :execrows
-- Records the outcome of a step, unless another worker has taken the webhook since. A step that neither works nor fails leaves what is known of
-- the endpoint, and an empty error the last one.
UPDATE webhook_progress p SET tx = n.tx, id = n.id,
    failing_since = CASE WHEN @failing::bool THEN coalesce(p.failing_since, clock_timestamp()) WHEN NOT @works::bool THEN p.failing_since END,
    failures = CASE WHEN @failing::bool THEN p.failures + 1 WHEN @works::bool THEN 0 ELSE p.failures END,
    next_at = CASE WHEN @failing::bool THEN clock_timestamp() + sqlc.arg(pause)::interval ELSE p.next_at END,
    last_error = coalesce(nullif(sqlc.arg(error)::text, ''), p.last_error),
    failed_at = CASE WHEN sqlc.arg(error)::text <> '' THEN clock_timestamp() ELSE p.failed_at END,
    delivered = p.delivered + sqlc.arg(delivered)::int,
    delivered_at = CASE WHEN sqlc.arg(delivered)::int > 0 THEN clock_timestamp() ELSE p.delivered_at END
FROM (SELECT @tx::xid8 AS tx, @id::uuid AS id) n
WHERE p.webhook = @webhook AND p.worker = @worker AND p.epoch = @epoch;

-- name: ForgetDeliveries :exec
-- Deletes what was delivered.
DELETE FROM webhook_deliveries d USING (SELECT unnest(@txs::xid8[]) AS tx, unnest(@ids::uuid[]) AS id) n
WHERE d.webhook = @webhook AND d.tx = n.tx AND d.id = n.id;

-- name: PutDeliveries :exec
-- Stores what was not delivered. A pause below zero means that the event is behind another one of its subject.
INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, next_at, last_error, dead_at)
SELECT @webhook, n.tx, n.id, n.subject, n.kind, n.at, n.body, n.attempts,
       CASE WHEN NOT n.dead AND n.pause >= '0' THEN clock_timestamp() + n.pause END, nullif(n.error, ''), CASE WHEN n.dead THEN clock_timestamp() END
FROM (SELECT unnest(@txs::xid8[]) AS tx, unnest(@ids::uuid[]) AS id, unnest(@subjects::text[]) AS subject, unnest(@kinds::text[]) AS kind,
             unnest(@ats::timestamptz[]) AS at, unnest(@bodies::text[]) AS body, unnest(@attempts::int[]) AS attempts,
             unnest(@pauses::interval[]) AS pause, unnest(@errors::text[]) AS error, unnest(@dead::bool[]) AS dead) n
ON CONFLICT (webhook, tx, id) DO UPDATE SET attempts = excluded.attempts, next_at = excluded.next_at, dead_at = excluded.dead_at,
    last_error = coalesce(excluded.last_error, webhook_deliveries.last_error);

-- name: PromoteDeliveries :exec
-- Makes the first event of each subject due that waits for none any more.
UPDATE webhook_deliveries d SET next_at = clock_timestamp()
FROM (
    SELECT DISTINCT ON (o.subject) o.tx, o.id, o.next_at FROM webhook_deliveries o
    WHERE o.webhook = @webhook AND o.dead_at IS NULL AND o.subject = ANY (@subjects::text[])
    ORDER BY o.subject, o.tx, o.id) f
WHERE d.webhook = @webhook AND d.tx = f.tx AND d.id = f.id AND f.next_at IS NULL;

-- name: DropDeadLetters :exec
-- Deletes the oldest dead letters of a webhook beyond @most.
DELETE FROM webhook_deliveries d USING (
    SELECT o.tx, o.id FROM webhook_deliveries o WHERE o.webhook = @webhook AND o.dead_at IS NOT NULL ORDER BY o.tx DESC, o.id DESC OFFSET @most) f
WHERE d.webhook = @webhook AND d.tx = f.tx AND d.id = f.id;

-- name: PruneDeadLetters :execrows
-- Deletes dead letters that are older than @keep.
DELETE FROM webhook_deliveries d WHERE d.dead_at < now() - sqlc.arg(keep)::interval;

-- name: PauseGoneWebhook :exec
-- Pauses a webhook whose endpoint wants no more events, for the worker that delivers for it.
WITH paused AS (
    UPDATE webhooks w SET paused_at = now(), pause_reason = @reason::text FROM webhook_progress p
    WHERE w.id = @webhook AND w.paused_at IS NULL AND p.webhook = w.id AND p.worker = @worker AND p.epoch = @epoch RETURNING w.name
)
INSERT INTO events (kind, detail) SELECT 'webhook.paused', jsonb_build_object('webhook', n.name, 'reason', @reason::text) FROM paused n;

-- name: OpsCreateWebhook :one
SELECT ops.create_webhook(@name::text, @url::text, @kinds::text[])::uuid AS id;

-- name: OpsPauseWebhook :one
SELECT ops.pause_webhook(@name::text, @reason::text)::bool AS changed;

-- name: OpsResumeWebhook :one
SELECT ops.resume_webhook(@name::text)::bool AS changed;

-- name: OpsDeleteWebhook :one
SELECT ops.delete_webhook(@name::text)::bool AS changed;

-- name: OpsReplayWebhook :one
SELECT ops.replay_webhook(@name::text, sqlc.narg(event)::uuid)::int AS replayed;

-- name: OpsTestWebhook :one
SELECT ops.test_webhook(@name::text)::uuid AS event;

-- name: WrittenEvent :one
-- Returns the number of the transaction in the place of an event, of no region, that the present transaction wrote.
SELECT e.tx::xid8 AS tx FROM ops.events e WHERE e.region = '' AND e.at = now() AND e.id = @event::uuid;

-- name: OpsRecordEvents :one
SELECT ops.record_events(@noun::text, @keep::bool)::bool AS changed;
