-- How many sessions a run opened, how few would have held its players, and which share was full, including those that closed with its game servers. Sessions of one shape accept the
-- same players; one session of each shape that is not full was still being filled.
WITH rooms AS (
    SELECT region, mode, max_players, player_count FROM sessions WHERE starts_with(region, $1)
    UNION ALL
    SELECT region, mode, max_players, player_count FROM session_history WHERE starts_with(region, $1)
), shapes AS (
    SELECT count(*) AS opened, count(*) FILTER (WHERE player_count = max_players) AS filled,
           ceil(sum(player_count)::numeric / max_players) AS fewest
    FROM rooms GROUP BY region, mode, max_players
)
SELECT coalesce(sum(opened), 0)::float8 AS opened, coalesce(sum(fewest), 0)::float8 AS fewest,
       (sum(filled) / nullif(sum(opened - (opened > filled)::int), 0))::float8 AS "full"
FROM shapes;
