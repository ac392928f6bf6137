-- A row when a worker has ended the sessions of an earlier arm, except for those that it ends in a moment.
SELECT true AS is_done FROM realtime_sessions HAVING count(*) <= 500;
