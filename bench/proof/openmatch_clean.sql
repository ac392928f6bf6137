-- What a trial leaves behind of Open Match's.

TRUNCATE tickets, settled_tickets, backfills, backfill_tickets;
