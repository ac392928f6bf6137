-- The share of HOT updates, which stay on their page and write no index, between the first sample and the last; and how the sizes have grown since the second.
WITH samples AS (
    SELECT name, array_agg(updates ORDER BY number) AS updates, array_agg(hot ORDER BY number) AS hot, array_agg(bytes ORDER BY number)::float8[] AS bytes
    FROM bench_tables GROUP BY name
), tables AS (
    SELECT name, (hot[3] - hot[1])::float8 / nullif(updates[3] - updates[1], 0) AS hot, bytes[3] AS bytes, bytes[3] / bytes[2] AS growth FROM samples
)
SELECT l.hot AS "instance_leases hot", l.growth AS "instance_leases growth", l.bytes AS "instance_leases bytes",
       m.hot AS "instance_modes hot", m.growth AS "instance_modes growth", m.bytes AS "instance_modes bytes"
FROM tables l, tables m WHERE l.name = 'instance_leases' AND m.name = 'instance_modes';
