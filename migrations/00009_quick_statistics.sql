-- Makes ANALYZE by workers cheaper. They run it whenever a table has grown by half, mainly for its size. It sampled up to 30,000
-- rows, which took a sixth of Postgres's CPU while many tickets were created; 3,000 rows are enough.

-- +goose Up
ALTER FUNCTION analyze_grown() SET default_statistics_target = 10;

-- +goose Down
ALTER FUNCTION analyze_grown() RESET default_statistics_target;
