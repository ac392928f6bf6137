-- What became of the players of a pool: those with a seat, the servers that were started, the milliseconds from the moment when a server was ready until a
-- player had the seat, and those from the first demand until the first server was ready.
SELECT (SELECT count(*) FROM seats WHERE region = 'bench')::float8 AS players,
       ((SELECT count(*) FROM deployments WHERE region = 'bench') + (SELECT count(*) FROM deployment_history WHERE region = 'bench'))::float8 AS servers,
       (SELECT coalesce(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM t.reserved_at - d.ready_at)), 'NaN')
        FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id JOIN deployments d ON d.region = s.region AND d.id::text = s.instance_id
        WHERE t.region = 'bench')::float8 AS "wait p99",
       (SELECT 1000 * extract(epoch FROM min(d.ready_at) - min(d.created_at)) FROM deployments d WHERE d.region = 'bench')::float8 AS "first server";
