-- What autovacuum and the next checkpoint would do soon, in the middle of a measurement.

VACUUM (ANALYZE);

CHECKPOINT;
