-- A snapshot is taken by the first statement of a transaction, not by its BEGIN.
SELECT count(*) FROM fleet_clock
