-- name: SendNotification :exec
-- Run it in a transaction of its own: transactions that notify commit one after the other.
SELECT pg_notify('director', @payload);
