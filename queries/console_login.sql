-- Logins to the console.

-- name: EndLogin :exec
-- Logouts are few, so that each forgets those whose cookies count no more.
WITH forgotten AS (
    DELETE FROM console_logouts l WHERE l.until <= now() - interval '1 hour' -- the clocks of replicas may differ
)
INSERT INTO console_logouts (login, until) VALUES (@login, @until) ON CONFLICT DO NOTHING;

-- name: LoginHasEnded :one
SELECT EXISTS (SELECT FROM console_logouts WHERE login = @login);
