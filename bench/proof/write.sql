-- A transaction has a number, which others see as in progress, from its first write on.
SELECT pg_current_xact_id()
