-- A dashboard reads the first thousand rows of each view.
SELECT table_name::text AS view, format('SELECT * FROM ops.%I LIMIT 1000', table_name) AS statement
FROM information_schema.views WHERE table_schema = 'ops' ORDER BY table_name;
