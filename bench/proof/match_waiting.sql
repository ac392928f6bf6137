-- A row when the worker has cancelled the tickets of a profile that an arm has retired.
SELECT true AS is_done WHERE NOT EXISTS (SELECT FROM tickets);
