-- name: SendNotification :exec
-- Alone in its transaction: those that notify commit one after the other.
SELECT pg_notify('director', @payload);
