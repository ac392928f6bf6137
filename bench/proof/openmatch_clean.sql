-- Deletes the Open Match rows of a trial.

TRUNCATE tickets, settled_tickets, backfills, backfill_tickets;
