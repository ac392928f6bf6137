-- Does now what autovacuum and the next checkpoint would otherwise do during a measurement.

VACUUM (ANALYZE);

CHECKPOINT;
