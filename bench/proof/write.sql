-- A transaction gets an id, which others see as in progress, with its first write.
SELECT pg_current_xact_id()::text AS id
