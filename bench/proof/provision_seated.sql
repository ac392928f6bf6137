-- What became of the players of a pool.
SELECT (SELECT count(*) FROM seats WHERE region = 'bench')::int AS players,
       ((SELECT count(*) FROM deployments WHERE region = 'bench') + (SELECT count(*) FROM deployment_history WHERE region = 'bench'))::int AS servers,
       (SELECT coalesce(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM t.reserved_at - d.ready_at)), 'NaN')
        FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id JOIN deployments d ON d.region = s.region AND d.id::text = s.instance_id
        WHERE t.region = 'bench')::float8 AS wait_p99,
       (SELECT 1000 * extract(epoch FROM min(d.ready_at) - min(d.created_at)) FROM deployments d WHERE d.region = 'bench')::float8 AS deployed;
